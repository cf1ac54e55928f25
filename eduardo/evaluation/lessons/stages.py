"""Lessons of one tutor: held, then compared with the data set's own; two resumable stages with a file between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from eduardo.education_dialogue.conversation import Conversation
from eduardo.education_dialogue.lesson import LessonStudent, hold_lesson
from eduardo.education_dialogue.preference import PreferenceJudge
from eduardo.education_dialogue.rows import DATA_SOURCE, from_rl_row
from eduardo.education_dialogue.scoring import score_lesson
from eduardo.errors import UserError
from eduardo.evaluation.lessons.settings import LessonTestSettings
from eduardo.evaluation.resumable import Void, existing, key_of, missing_tasks, roll_out, run_all
from eduardo.evaluation.tutors import TutorFactory
from eduardo.llm import ChatClient
from eduardo.seeds import derive_seed
from eduardo.types import Message, ScoredDialogue, Transcript

Progress = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonTask:
    """One lesson to be held: a background, the tutor's prompt for it, and which sample of it this is."""

    conversation: Conversation
    prompt: list[Message]
    sample: int

    @property
    def key(self) -> tuple[str, int]:
        return self.conversation.id, self.sample

    def seed(self, run_seed: int) -> int:
        return derive_seed(run_seed, "evaluation", self.conversation.id, self.sample)


def read_lesson_tasks(settings: LessonTestSettings) -> list[LessonTask]:
    """One task per background and sample. Raises UserError when the file cannot be used."""
    path = Path(settings.data_file)
    todo = "write it with `python -m eduardo.process_dataset --dataset education_dialogue`"
    if not path.is_file():
        raise UserError(f"data_file={path}: no such file; {todo}")
    try:
        rows = pq.read_table(path).to_pylist()[: settings.num_backgrounds]
        foreign = sorted({str(row["data_source"]) for row in rows} - {DATA_SOURCE})
        read = [] if foreign else [(from_rl_row(row), list(row["prompt"])) for row in rows]
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise UserError(f"data_file={path}: not a file of lessons ({error}); {todo}") from error
    if foreign:
        raise UserError(f"data_file={path}: holds rows of {foreign[0]}, no lessons; {todo}")
    if not read:
        raise UserError(f"data_file={path}: holds no rows; {todo}")
    return [
        LessonTask(conversation=conversation, prompt=prompt, sample=sample)
        for conversation, prompt in read
        for sample in range(settings.num_samples)
    ]


async def hold_lessons(
    tasks: Sequence[LessonTask],
    make_tutor: TutorFactory,
    student: ChatClient,
    settings: LessonTestSettings,
    *,
    file: Path,
    progress: Progress,
) -> Counter[str]:
    """Hold every lesson that `file` does not hold yet; returns why others failed."""

    async def hold(task: LessonTask, *, seed: int) -> Transcript:
        limits, background = settings.recipe.dialogue, task.conversation.background
        return await hold_lesson(
            background,
            tutor=make_tutor(task.prompt, seed=seed),
            student=LessonStudent(student, limits, background),
            settings=limits,
            seed=seed,
        )

    return await roll_out(
        tasks,
        hold,
        seed=settings.seed,
        file=file,
        max_at_once=settings.max_dialogues_at_once,
        progress=progress,
    )


async def score_lessons(
    tasks: Sequence[LessonTask],
    judge: PreferenceJudge,
    settings: LessonTestSettings,
    *,
    rollouts: Path,
    file: Path,
    progress: Progress,
) -> Counter[str]:
    """Compare every held lesson that `file` does not hold yet. Voids are not written, so that a rerun tries again."""
    held = {key_of(dialogue): dialogue for dialogue in existing(rollouts)}

    async def measure(task: LessonTask) -> Iterable[ScoredDialogue]:
        scored = await score_lesson(
            task.conversation,
            held[task.key].transcript,
            judge=judge,
            recipe=settings.recipe,
            seed=task.seed(settings.seed),
            labels=held[task.key].labels,
        )
        if scored.void_reason is not None:
            raise Void(scored.void_reason)
        return (scored,)

    done = {key_of(dialogue) for dialogue in existing(file)}
    missing = missing_tasks([task for task in tasks if task.key in held], done, progress)
    return await run_all(
        missing, measure, file, max_at_once=settings.max_dialogues_at_once, progress=progress
    )
