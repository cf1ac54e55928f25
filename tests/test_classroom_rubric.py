"""The simulated rubric judge: scores by its rules, behind the prompts of a real one; verdicts stay as they are."""

from __future__ import annotations

import random

import pytest

from eduardo import views
from eduardo.classroom.in_process import JUDGE_MODEL, brains
from eduardo.classroom.problems import generate_pair, templates
from eduardo.classroom.served import served_brains
from eduardo.judge import Rubric
from eduardo.judge.rubric import read_rating
from eduardo.llm import Completion
from eduardo.types import Criterion, FinishReason, Problem, Speaker, Transcript, Turn

JUDGE = served_brains()[JUDGE_MODEL]
SIM = next(generate_pair(random.Random(0), t) for t in templates() if t.id == "rates_two_legs").source
FIRST, SECOND, WHOLE = SIM.steps
PROBLEM = Problem(text=SIM.text, answer=SIM.answer)
GUIDED = [
    "please try it yourself first.",
    f"{FIRST}.",
    f"how do you find the {SECOND.quantity}?",
    f"{SECOND}.",
]


def dialogue(*said: str) -> Transcript:
    """Tutor and student in turn, after the opener."""
    speakers = (Speaker.TUTOR, Speaker.STUDENT) * len(said)
    turns = [Turn(speaker=speaker, text=text) for speaker, text in zip(speakers, said, strict=False)]
    return Transcript(problem=PROBLEM, turns=(views.opener(PROBLEM), *turns))


def score(transcript: Transcript, rubric: Rubric, *, last_turn_only: bool = False) -> int | None:
    prompt = views.rubric_view(transcript, rubric, last_turn_only=last_turn_only)
    reply = JUDGE(prompt, random.Random(0))
    return read_rating(Completion(text=reply, finish=FinishReason.STOP, num_tokens=1)).score


@pytest.mark.parametrize(
    ("said", "pedagogy"),
    [
        (GUIDED, 5),
        ([f"the answer is {SIM.answer}."], 1),
        ([*GUIDED, f"{WHOLE.quantity} = {WHOLE.expression} = {WHOLE.value}."], 1),
        ([*GUIDED[:2], f"look: {SECOND.expression}.", "ok", "why does that work?"], 3),
        (["nice day today."], 1),
    ],
)
def test_pedagogy_falls_with_what_is_handed_over(said: list[str], pedagogy: int) -> None:
    assert score(dialogue(*said), Rubric.PEDAGOGY) == pedagogy


def test_factuality_falls_with_every_false_statement() -> None:
    wrong = f"{FIRST.quantity} = {FIRST.expression} = {FIRST.value + 1}."
    assert score(dialogue(*GUIDED), Rubric.FACTUALITY) == 5
    assert score(dialogue(wrong), Rubric.FACTUALITY) == 4
    assert score(dialogue(*[wrong, "ok"] * 6), Rubric.FACTUALITY) == 1


def test_the_last_turn_alone_may_be_asked_about() -> None:
    told_first = dialogue(f"the answer is {SIM.answer}.", "ok", "why does that work?")
    assert score(told_first, Rubric.PEDAGOGY) == 1
    assert score(told_first, Rubric.PEDAGOGY, last_turn_only=True) == 5


def test_verdicts_are_those_of_the_judge_itself() -> None:
    plain = brains()[JUDGE_MODEL]
    for criterion in Criterion:
        prompt = views.judge_view(dialogue(*GUIDED), criterion)
        for seed in range(30):
            assert JUDGE(prompt, random.Random(seed)) == plain(prompt, random.Random(seed))
