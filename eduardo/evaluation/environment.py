"""The environment test: roll dialogues out, then score them; two resumable stages with a file between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eduardo import views
from eduardo.answers import Grader
from eduardo.dialogue import Learner, run_dialogue
from eduardo.evaluation.tutors import TutorFactory
from eduardo.llm import Message
from eduardo.posttest import Solver
from eduardo.records import DialogueWriter, read_dialogues
from eduardo.scoring import VerdictGiver, score_dialogue
from eduardo.seeds import derive_seed
from eduardo.settings import RecipeSettings
from eduardo.types import EndReason, ItemKind, ScoredDialogue, Transcript, TransferPair, Verdict

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


async def roll_out(
    tasks: Sequence[Task],
    make_tutor: TutorFactory | None,
    student: Learner,
    *,
    recipe: RecipeSettings,
    seed: int,
    file: Path,
    max_at_once: int,
    progress: Progress,
) -> None:
    """Hold every dialogue that `file` does not hold yet. Failed ones are not written, so a rerun tries again.

    Without `make_tutor` nothing is said after the opener: the control without tutoring.
    """
    done = {key_of(d) for d in _existing(file)}

    async def hold(task: Task) -> ScoredDialogue | None:
        opener = views.opener(task.pair.source.problem)
        if make_tutor is None:
            untaught = Transcript(problem=task.pair.source.problem, turns=(opener,))
            return _record(task, untaught.ended(EndReason.TURN_LIMIT))
        transcript = await run_dialogue(
            task.pair.source.problem,
            opener=opener,
            tutor=make_tutor(task.prompt, seed=task.seed(seed)),
            student=student,
            settings=recipe.dialogue,
            seed=task.seed(seed),
        )
        failed = transcript.end_reason is None or transcript.end_reason.is_failure
        return None if failed else _record(task, transcript)

    missing = [task for task in tasks if task.key not in done]
    await _run_all(missing, hold, file, max_at_once=max_at_once, progress=progress)


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
) -> None:
    """Score every rolled-out dialogue that `file` does not hold yet, on the variant and on the source problem.

    Nothing is gated here: verdicts and both post-tests are measured for every dialogue, so that gated and ungated
    figures come from the same file. Voids are not written, so a rerun tries again.
    """
    ungated = recipe.model_copy(update={"reward": recipe.reward.model_copy(update={"gate": "off"})})
    on_source = ungated.model_copy(
        update={"post_test": recipe.post_test.model_copy(update={"item": ItemKind.SOURCE.value})}
    )
    held = {key_of(d): d for d in _existing(rollouts)}
    num_records = Counter(key_of(d) for d in _existing(file))
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
        return () if transfer.is_void or source.is_void else (transfer, source)

    missing = [task for task in tasks if task.key in held and task.key not in done]
    await _run_all(missing, measure, file, max_at_once=max_at_once, progress=progress)


def key_of(dialogue: ScoredDialogue) -> tuple[str, int]:
    """(pair id, sample): which task a recorded dialogue belongs to."""
    return dialogue.pair_id, int(dialogue.labels["sample"] or 0)


class _Known:
    """Verdicts that were given already; they do not depend on the post-test's problem."""

    def __init__(self, verdicts: tuple[Verdict, ...]) -> None:
        self._verdicts = verdicts

    async def judge(self, transcript: Transcript, *, seed: int) -> tuple[Verdict, ...]:
        return self._verdicts


def _record(task: Task, transcript: Transcript) -> ScoredDialogue:
    labels: Mapping[str, str | int] = {"sample": task.sample}
    return ScoredDialogue(
        pair_id=task.pair.id, transcript=transcript, void_reason=AWAITS_SCORING, labels=dict(labels)
    )


def _existing(file: Path) -> list[ScoredDialogue]:
    return list(read_dialogues(file)) if file.exists() else []


async def _run_all(
    tasks: Sequence[Task],
    work: Callable[[Task], Awaitable[ScoredDialogue | Iterable[ScoredDialogue] | None]],
    file: Path,
    *,
    max_at_once: int,
    progress: Progress,
) -> None:
    """Work on all tasks, `max_at_once` at a time; results are on disk before progress is told."""
    slots = asyncio.Semaphore(max_at_once)
    with DialogueWriter(file) as writer:

        async def one(task: Task) -> None:
            async with slots:
                result = await work(task)
            dialogues = (result,) if isinstance(result, ScoredDialogue) else result or ()
            for dialogue in dialogues:
                writer.write(dialogue)
            progress()

        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(one(task))
