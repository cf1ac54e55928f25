"""Which dialogues are to be held, and by whom the student is taught in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from eduardo import views
from eduardo.dataset import from_row
from eduardo.dialogue import Learner, run_dialogue
from eduardo.errors import UserError
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.tutors import TutorFactory
from eduardo.seeds import derive_seed
from eduardo.settings import RecipeSettings
from eduardo.types import Message, Transcript, TransferPair


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


def read_tasks(settings: EvaluationSettings) -> list[Task]:
    """One task per problem and sample. Raises UserError when the file cannot be used."""
    path = Path(settings.data_file)
    if not path.is_file():
        raise UserError(f"data_file={path}: no such file; `python -m eduardo.process_dataset` writes it")
    try:
        rows = pq.read_table(path).to_pylist()
        pairs = [(from_row(row), list(row["prompt"])) for row in rows[: settings.num_problems]]
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"data_file={path}: not a parquet file of near-transfer rows ({error}); "
            "write it with `python -m eduardo.process_dataset`"
        ) from error
    usable = [
        (pair, prompt)
        for pair, prompt in pairs
        if pair.variant and pair.variant.baseline and pair.source.baseline
    ]
    if not usable:
        raise UserError(f"data_file={path}: no row has a variant and both cold solve rates")
    return [
        Task(pair=pair, prompt=prompt, sample=sample)
        for pair, prompt in usable
        for sample in range(settings.num_samples)
    ]


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
