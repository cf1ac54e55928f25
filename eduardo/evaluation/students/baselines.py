"""Cold solve rates of another student model: the data file's belong to the student that it was made with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from eduardo.answers import Grader
from eduardo.errors import EndpointUnavailable
from eduardo.evaluation.environment.tasks import Task
from eduardo.evaluation.jsonl import append_lines, read_lines
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.together import run_together
from eduardo.llm import close_shared_clients, shared_client
from eduardo.posttest import measure_solve_rate
from eduardo.seeds import derive_seed
from eduardo.settings import EndpointSettings
from eduardo.student import Student
from eduardo.types import ItemKind, SolveRate, TestItem, TransferPair


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    pair_id: str
    kind: ItemKind
    value: float
    num_graded: int


def with_own_baselines(
    tasks: Sequence[Task],
    endpoint: EndpointSettings,
    settings: EvaluationSettings,
    *,
    file: Path,
    progress: Callable[[], None],
) -> list[Task]:
    """The tasks with the cold solve rates of the model behind `endpoint`, measured as the post-test is.

    `file` keeps them. Problems whose rates could not be measured are left out.
    """
    pairs = {task.pair.id: task.pair for task in tasks}
    asyncio.run(_measure_missing(list(pairs.values()), endpoint, settings, file, progress))
    rates = {
        (one.pair_id, one.kind): SolveRate(value=one.value, num_graded=one.num_graded)
        for one in read_lines(file, Baseline)
    }
    found = {name: rated for name, pair in pairs.items() if (rated := _rated(pair, rates)) is not None}
    return [replace(task, pair=found[task.pair.id]) for task in tasks if task.pair.id in found]


async def _measure_missing(
    pairs: Sequence[TransferPair],
    endpoint: EndpointSettings,
    settings: EvaluationSettings,
    file: Path,
    progress: Callable[[], None],
) -> None:
    done = {(one.pair_id, one.kind) for one in read_lines(file, Baseline)}
    test = settings.recipe.post_test
    slots = asyncio.Semaphore(settings.max_dialogues_at_once)
    try:
        await shared_client(endpoint).check(config_key="--student")
        student = Student(shared_client(endpoint), settings.recipe)
        with Grader(settings.grader) as grader, append_lines(file, Baseline) as writer:

            async def measure(pair: TransferPair, item: TestItem) -> None:
                async with slots:
                    try:
                        rate = await measure_solve_rate(
                            item.problem,
                            student=student,
                            grader=grader,
                            num_samples=test.attempts,
                            min_graded=test.min_graded,
                            max_tokens=test.max_tokens,
                            temperature=test.temperature,
                            seed=derive_seed(settings.seed, "baseline", pair.id, item.kind),
                        )
                    except EndpointUnavailable:
                        return  # left out now, and tried again by the next run
                if rate is not None and rate.num_graded is not None:
                    line = Baseline(
                        pair_id=pair.id, kind=item.kind, value=rate.value, num_graded=rate.num_graded
                    )
                    writer.write(msgspec.json.encode(line))
                progress()

            await run_together(
                measure(pair, item)
                for pair in pairs
                for item in _items(pair)
                if (pair.id, item.kind) not in done
            )
    finally:
        await close_shared_clients()


def _items(pair: TransferPair) -> list[TestItem]:
    return [pair.source] if pair.variant is None else [pair.source, pair.variant]


def _rated(pair: TransferPair, rates: dict[tuple[str, ItemKind], SolveRate]) -> TransferPair | None:
    measured = [replace(item, baseline=rates.get((pair.id, item.kind))) for item in _items(pair)]
    if any(item.baseline is None for item in measured):
        return None
    source, *variant = measured
    return replace(pair, source=source, variant=variant[0] if variant else None)
