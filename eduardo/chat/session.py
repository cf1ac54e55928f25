"""One dialogue with a person in it: held by the common loop, scored by the common scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from eduardo import views
from eduardo.answers import Grader
from eduardo.chat.people import PersonAsStudent, PersonAsTutor, Stage
from eduardo.chat.show import result, view
from eduardo.chat.terminal import Ended, Terminal
from eduardo.config import ClassroomSettings
from eduardo.dialogue import Learner, Tutor, run_dialogue
from eduardo.errors import EndpointError
from eduardo.evaluation.environment.tasks import Task
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.tutors import TutorFactory
from eduardo.judge import Judge
from eduardo.llm import close_shared_clients, shared_client
from eduardo.posttest import Solver
from eduardo.records import DialogueWriter
from eduardo.scoring import choose_item, score_dialogue
from eduardo.settings import RecipeSettings
from eduardo.student import Student
from eduardo.types import EndReason, ScoredDialogue, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    task: Task
    settings: EvaluationSettings
    classroom: ClassroomSettings
    make_tutor: TutorFactory | None  # None: the person is the tutor
    seed: int
    save_to: Path | None

    @property
    def person_is_student(self) -> bool:
        return self.make_tutor is not None

    @property
    def recipe(self) -> RecipeSettings:
        """A person takes the post-test once."""
        recipe = self.settings.recipe
        if not self.person_is_student:
            return recipe
        once = recipe.post_test.model_copy(update={"attempts": 1, "min_graded": 1})
        return recipe.model_copy(update={"post_test": once})


async def hold(chat: Chat) -> ScoredDialogue:
    """Raises Quit when the person leaves, EndpointError when tutor, student or judge cannot be reached."""
    pair, recipe = chat.task.pair, chat.recipe
    item = choose_item(pair, recipe.post_test.item)
    stage = Stage(views.opener(pair.source.problem), pair.source.problem)
    shown = partial(view, prompt=chat.task.prompt, item=item, recipe=recipe)
    terminal = Terminal(lambda name: shown(name, stage.transcript))
    try:
        await _check(chat)
        frozen = Student(shared_client(chat.classroom.student), recipe)
        if chat.make_tutor is not None:
            person = PersonAsStudent(terminal, stage, item.problem)
            tutor: Tutor = chat.make_tutor(chat.task.prompt, seed=chat.seed)
            learner: Learner = person
            solver: Solver = person
        else:
            tutor = PersonAsTutor(terminal, stage, end_tag=recipe.dialogue.end_tag)
            learner, solver = frozen, frozen
        transcript = await _dialogue(chat, tutor, learner, stage, terminal)
        return await _scored(chat, transcript, solver, terminal.say)
    finally:
        await close_shared_clients()


async def _check(chat: Chat) -> None:
    """Whoever is needed answers, before the person has typed anything."""
    await shared_client(chat.classroom.judge).check(config_key="classroom.judge")
    if not chat.person_is_student:
        await shared_client(chat.classroom.student).check(config_key="classroom.student")


async def _dialogue(
    chat: Chat, tutor: Tutor, learner: Learner, stage: Stage, terminal: Terminal
) -> Transcript:
    try:
        transcript = await run_dialogue(
            chat.task.pair.source.problem,
            opener=views.opener(chat.task.pair.source.problem),
            tutor=tutor,
            student=learner,
            settings=chat.recipe.dialogue,
            seed=chat.seed,
        )
    except Ended:
        return stage.transcript.ended(EndReason.STUDENT_ENDED)
    if transcript.end_reason is not None and transcript.end_reason.is_failure:
        raise EndpointError(f"{transcript.end_reason}: {transcript.error}")
    stage.show(transcript, terminal)
    return transcript


async def _scored(
    chat: Chat, transcript: Transcript, solver: Solver, say: Callable[[str], None]
) -> ScoredDialogue:
    judge = Judge(shared_client(chat.classroom.judge), chat.recipe.judge)
    say("the judge reads the dialogue ...")
    with Grader(chat.settings.grader) as grader:
        dialogue = await score_dialogue(
            chat.task.pair,
            transcript,
            student=solver,
            judge=judge,
            grader=grader,
            recipe=chat.recipe,
            seed=chat.seed,
            labels={"split": "chat", "person": "student" if chat.person_is_student else "tutor", "sample": 0},
        )
    say(result(dialogue, person_is_student=chat.person_is_student))
    if chat.save_to is not None:
        chat.save_to.parent.mkdir(parents=True, exist_ok=True)
        with DialogueWriter(chat.save_to) as writer:
            writer.write(dialogue)
        say(f"saved to {chat.save_to}; `python -m eduardo.view {chat.save_to}` shows it")
    return dialogue
