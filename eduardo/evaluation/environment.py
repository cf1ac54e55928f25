"""The environment test: roll dialogues out, then score them; two resumable stages with a file between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from eduardo import views
from eduardo.answers import Grader
from eduardo.dialogue import Learner, run_dialogue
from eduardo.errors import EndpointUnavailable
from eduardo.evaluation.together import run_together
from eduardo.evaluation.tutors import TutorFactory
from eduardo.posttest import Solver
from eduardo.records import DialogueWriter, read_dialogues
from eduardo.scoring import VerdictGiver, score_dialogue
from eduardo.seeds import derive_seed
from eduardo.settings import RecipeSettings
from eduardo.types import Criterion, ItemKind, Message, ScoredDialogue, Transcript, TransferPair, Verdict

AWAITS_SCORING = "awaits scoring"  # the void reason of a dialogue between the two stages

Progress = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One dialogue to be held: a problem, the tutor's prompt for it, and which sample of it this is."""

    pair: TransferPair
    prompt: list[Message]
    sample: int

    @property
    def key(self) -> tuple[str, int]:
        return self.pair.id, self.sample

    def seed(self, run_seed: int) -> int:
        return derive_seed(run_seed, "evaluation", self.pair.id, self.sample)


class Keyed(Protocol):
    """A dialogue to be held, whatever it is about."""

    @property
    def key(self) -> tuple[str, int]: ...

    def seed(self, run_seed: int) -> int: ...


K = TypeVar("K", bound=Keyed)
K_contra = TypeVar("K_contra", bound=Keyed, contravariant=True)


class Holds(Protocol[K_contra]):
    """Holds the dialogue of a task. Raises EndpointError."""

    async def __call__(self, task: K_contra, /, *, seed: int) -> Transcript: ...


class Hold(Protocol):
    """The same about a problem: a tutor with the student, or a control."""

    async def __call__(self, task: Task, /, *, seed: int) -> Transcript: ...


def taught_by(make_tutor: TutorFactory, student: Learner, recipe: RecipeSettings) -> Hold:
    """Dialogues of a tutor with the student, by the one turn loop."""

    async def hold(task: Task, *, seed: int) -> Transcript:
        return await run_dialogue(
            task.pair.source.problem,
            opener=views.opener(task.pair.source.problem),
            tutor=make_tutor(task.prompt, seed=seed),
            student=student,
            settings=recipe.dialogue,
            seed=seed,
        )

    return hold


async def roll_out(
    tasks: Sequence[K], hold: Holds[K], *, seed: int, file: Path, max_at_once: int, progress: Progress
) -> Counter[str]:
    """Hold every dialogue that `file` does not hold yet.

    Failed ones are not written, so that a rerun tries again; returns why they failed.
    """
    done = {key_of(d) for d in existing(file)}

    async def work(task: K) -> Iterable[ScoredDialogue]:
        try:
            transcript = await hold(task, seed=task.seed(seed))
        except EndpointUnavailable as error:
            raise Void(str(error)) from error
        if transcript.end_reason is None or transcript.end_reason.is_failure:
            raise Void(f"{transcript.end_reason or 'unfinished'}: {transcript.error or 'no detail'}")
        return (_record(task, transcript),)

    missing = missing_tasks(tasks, done, progress)
    return await run_all(missing, work, file, max_at_once=max_at_once, progress=progress)


async def score(
    tasks: Sequence[Task],
    student: Solver,
    judge: VerdictGiver,
    grader: Grader,
    *,
    recipe: RecipeSettings,
    seed: int,
    rollouts: Path,
    file: Path,
    max_at_once: int,
    progress: Progress,
) -> Counter[str]:
    """Score every rolled-out dialogue that `file` does not hold yet, on the variant and on the source problem.

    Nothing is gated here: verdicts and both post-tests are measured for every dialogue, so that gated and ungated
    figures come from the same file. A dialogue without one of them is void: it is not written, so that a rerun tries
    again. Returns why dialogues were void.
    """
    ungated = recipe.model_copy(update={"reward": recipe.reward.model_copy(update={"gate": "off"})})
    on_source = ungated.model_copy(
        update={"post_test": recipe.post_test.model_copy(update={"item": ItemKind.SOURCE.value})}
    )
    held = {key_of(d): d for d in existing(rollouts)}
    num_records = Counter(key_of(d) for d in existing(file))
    done = {key for key, number in num_records.items() if number >= len(ItemKind)}

    async def measure(task: Task) -> Iterable[ScoredDialogue]:
        held_dialogue, task_seed = held[task.key], task.seed(seed)
        transfer = await score_dialogue(
            task.pair,
            held_dialogue.transcript,
            student=student,
            judge=judge,
            grader=grader,
            recipe=ungated,
            seed=task_seed,
            labels={**held_dialogue.labels, "post_test": ItemKind.TRANSFER.value},
        )
        source = await score_dialogue(
            task.pair,
            held_dialogue.transcript,
            student=student,
            judge=_Known(transfer.verdicts),
            grader=grader,
            recipe=on_source,
            seed=task_seed,
            labels={**held_dialogue.labels, "post_test": ItemKind.SOURCE.value},
        )
        _require(transfer, source)
        return (transfer, source)

    missing = missing_tasks([task for task in tasks if task.key in held], done, progress)
    return await run_all(missing, measure, file, max_at_once=max_at_once, progress=progress)


def key_of(dialogue: ScoredDialogue) -> tuple[str, int]:
    """(pair id, sample): which task a recorded dialogue belongs to."""
    return dialogue.pair_id, int(dialogue.labels["sample"] or 0)


class _Known:
    """Verdicts that were given already; they do not depend on the post-test's problem."""

    def __init__(self, verdicts: tuple[Verdict, ...]) -> None:
        self._verdicts = verdicts

    async def judge(self, transcript: Transcript, *, seed: int) -> tuple[Verdict, ...]:
        return self._verdicts


class Void(Exception):
    """The dialogue could not be held or measured; the text says why."""


def _require(*scored: ScoredDialogue) -> None:
    """Raises Void unless all were measured: the scorer lets a missing verdict pass where nothing is gated."""
    for dialogue in scored:
        if dialogue.void_reason is not None:
            raise Void(dialogue.void_reason)
    decided = {verdict.criterion for verdict in scored[0].verdicts if verdict.decision is not None}
    undecided = [criterion for criterion in Criterion if criterion not in decided]
    if undecided:
        faults = {vote.fault for verdict in scored[0].verdicts for vote in verdict.votes if vote.fault}
        detail = "; ".join(sorted(faults)) or "no verdict came back"
        raise Void(f"judge: too few valid votes on {', '.join(undecided)} ({detail})")


def _record(task: Keyed, transcript: Transcript) -> ScoredDialogue:
    pair_id, sample = task.key
    labels: dict[str, str | int | float | bool | None] = {"sample": sample}
    return ScoredDialogue(pair_id=pair_id, transcript=transcript, void_reason=AWAITS_SCORING, labels=labels)


def existing(file: Path) -> list[ScoredDialogue]:
    """The dialogues in a file, none where there is no file."""
    return list(read_dialogues(file)) if file.exists() else []


def missing_tasks(tasks: Sequence[K], done: Container[tuple[str, int]], progress: Progress) -> list[K]:
    """The tasks that are not done; the others count as progress at once."""
    missing = [task for task in tasks if task.key not in done]
    for _ in range(len(tasks) - len(missing)):
        progress()
    return missing


async def run_all(
    tasks: Sequence[K],
    work: Callable[[K], Awaitable[Iterable[ScoredDialogue]]],
    file: Path,
    *,
    max_at_once: int,
    progress: Progress,
) -> Counter[str]:
    """Work on all tasks, `max_at_once` at a time; results are on disk before progress is told.

    Returns the reasons of those that were void.
    """
    slots = asyncio.Semaphore(max_at_once)
    reasons: Counter[str] = Counter()
    with DialogueWriter(file) as writer:

        async def one(task: K) -> None:
            async with slots:
                try:
                    dialogues = await work(task)
                except Void as void:
                    reasons[str(void)] += 1
                    return
            for dialogue in dialogues:
                writer.write(dialogue)
            progress()

        await run_together(one(task) for task in tasks)
    return reasons
