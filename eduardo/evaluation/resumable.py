"""Stages that go on where their file ends: what is in it stays, what is missing or was void is done."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from eduardo.errors import EndpointUnavailable
from eduardo.evaluation.together import run_together
from eduardo.records import DialogueWriter, read_dialogues
from eduardo.types import ScoredDialogue, Transcript

AWAITS_SCORING = "awaits scoring"  # the void reason of a dialogue between the two stages
ROLLOUTS, SCORED = "rollouts.jsonl", "scored.jsonl"

Progress = Callable[[], None]


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


class Void(Exception):
    """The dialogue could not be held or measured; the text says why."""


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


def key_of(dialogue: ScoredDialogue) -> tuple[str, int]:
    """(pair id, sample): which task a recorded dialogue belongs to."""
    return dialogue.pair_id, int(dialogue.labels["sample"] or 0)


def _record(task: Keyed, transcript: Transcript) -> ScoredDialogue:
    pair_id, sample = task.key
    labels: dict[str, str | int | float | bool | None] = {"sample": sample}
    return ScoredDialogue(pair_id=pair_id, transcript=transcript, void_reason=AWAITS_SCORING, labels=labels)
