"""Two controls that bracket what any tutor can reach: nothing taught, and everything disclosed.

`untaught` is the floor: the student takes the post-test after its own opener. `disclosed` is the ceiling of what a
masked dialogue can carry: the student itself writes a right and whole solution of the source problem and says why it
works, so that nothing of it is hidden in the post-test. How much that helps on the variant is the student's matter.
"""

from __future__ import annotations

from typing import Protocol

from eduardo import views
from eduardo.answers import Grader
from eduardo.control_tokens import broken_up
from eduardo.dialogue import Learner
from eduardo.evaluation.environment.tasks import Hold, Task
from eduardo.evaluation.tutors import estimate_tokens
from eduardo.posttest import Solver
from eduardo.seeds import derive_seed
from eduardo.settings import RecipeSettings
from eduardo.templates import render
from eduardo.types import (
    EndReason,
    FinishReason,
    Outcome,
    Speaker,
    Transcript,
    TransferPair,
    Turn,
    TurnTokens,
)

_ASK_SOLUTION = "Please write down your whole solution, step by step."
_ASK_WHY = "Why does that work?"
_GOODBYE = "Thank you, goodbye."


class ControlStudent(Learner, Solver, Protocol):
    """`eduardo.student.Student` in practice: talks and takes tests."""


def untaught() -> Hold:
    """Nothing is said after the opener."""

    async def hold(task: Task, *, seed: int) -> Transcript:
        problem = task.pair.source.problem
        return Transcript(problem=problem, turns=(views.opener(problem),)).ended(EndReason.TURN_LIMIT)

    return hold


def disclosed(student: ControlStudent, grader: Grader, recipe: RecipeSettings) -> Hold:
    """The student writes a right solution of the source problem, then says why it works.

    The solution is the pair's worked solution where the data has one. Otherwise the student is told the answer and
    asked, away from the dialogue, how to get there; its first right attempt is taken. Where none is right, the answer
    alone stands in the dialogue.
    """

    async def hold(task: Task, *, seed: int) -> Transcript:
        problem = task.pair.source.problem
        solution = task.pair.notes or await _own_solution(task.pair, student, grader, recipe, seed)
        transcript = Transcript(problem=problem, turns=(views.opener(problem),))
        transcript = transcript.with_turn(_tutor(_ASK_SOLUTION))
        transcript = transcript.with_turn(Turn(speaker=Speaker.STUDENT, text=solution))
        transcript = transcript.with_turn(_tutor(_ASK_WHY))
        transcript = transcript.with_turn(
            await student.reply(transcript, seed=derive_seed(seed, "student", 0))
        )
        return transcript.with_turn(_tutor(_GOODBYE, ends=True)).ended(EndReason.TUTOR_ENDED)

    return hold


async def _own_solution(
    pair: TransferPair, student: Solver, grader: Grader, recipe: RecipeSettings, seed: int
) -> str:
    """The student's first right attempt when it knows the answer; the bare answer when it has none."""
    problem, settings = pair.source.problem, recipe.post_test
    completions = await student.attempt(
        broken_up(
            [{"role": "user", "content": render("told_answer", problem=problem.text, answer=problem.answer)}]
        ),
        n=settings.attempts,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        seed=derive_seed(seed, "told answer"),
    )
    texts = [one.text or "" for one in completions if one.finish is not FinishReason.OTHER]
    grades = await grader.grade_many_async(problem.answer, texts)
    graded = zip(texts, grades, strict=True)
    right = [text for text, grade in graded if grade is not None and grade.outcome is Outcome.RIGHT]
    return right[0] if right else f"The answer is \\boxed{{{problem.answer}}}."


def _tutor(text: str, *, ends: bool = False) -> Turn:
    tokens = TurnTokens(visible=estimate_tokens(text))
    return Turn(speaker=Speaker.TUTOR, text=text, ends_dialogue=ends, tokens=tokens)
