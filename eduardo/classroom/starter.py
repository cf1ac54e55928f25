"""The starter problems: generated near-transfer pairs with solve rates measured as on a real data set."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from eduardo.answers import Grader
from eduardo.classroom import problems, process
from eduardo.classroom.in_process import STUDENT_MODEL
from eduardo.dataset.columns import published_columns
from eduardo.dataset.output_folder import output_folder
from eduardo.errors import UserError
from eduardo.llm import ChatClient
from eduardo.posttest import measure_solve_rate
from eduardo.resources import configs_dir
from eduardo.seeds import derive_seed
from eduardo.settings import (
    Count,
    EndpointSettings,
    GraderSettings,
    RecipeSettings,
    Settings,
    Temperature,
    read_yaml,
)
from eduardo.student import Student
from eduardo.types import ItemKind, Problem, SolveRate, TestItem

Split = Literal["train", "test"]
MAX_REDRAWS = 50


class SolveRateSettings(Settings):
    """How a cold solve rate is measured."""

    num_samples: Count
    min_graded: Count
    temperature: Temperature
    max_tokens: Count


class StarterSettings(Settings):
    """The starter set: how many pairs of each split are drawn, from which seed, and how they are measured."""

    num_train: Count
    num_test: Count
    seed: int
    solve_rate: SolveRateSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What it takes to measure solve rates."""

    solve_rate: SolveRateSettings
    endpoint: EndpointSettings
    grader: GraderSettings
    recipe: RecipeSettings


def starter_settings(**changes: int) -> StarterSettings:
    """The shipped ones, with other values for some keys."""
    return read_yaml(configs_dir() / "starter.yaml", StarterSettings).model_copy(update=changes)


def load_tools(base_url: str, solve_rate: SolveRateSettings) -> Tools:
    """Tools for the simulated student at `base_url`, from the shipped configuration."""
    configs = configs_dir()
    endpoint = read_yaml(configs / "endpoint" / "default.yaml", dict[str, Any])
    return Tools(
        solve_rate=solve_rate,
        endpoint=EndpointSettings(**{**endpoint, "base_url": base_url, "model": STUDENT_MODEL}),
        grader=read_yaml(configs / "grader" / "default.yaml", GraderSettings),
        recipe=read_yaml(configs / "recipe" / "embedded.yaml", RecipeSettings),
    )


def draw_pairs(split: Split, num_pairs: int, seed: int) -> list[problems.SimPair]:
    """`num_pairs` distinct pairs, templates in turn. Same arguments, same pairs."""
    templates = problems.templates(split)
    seen: set[str] = set()
    pairs: list[problems.SimPair] = []
    for index in range(num_pairs):
        template = templates[index % len(templates)]
        for attempt in range(MAX_REDRAWS):
            rng = random.Random(derive_seed(seed, "starter", split, index, attempt))
            pair = problems.generate_pair(rng, template)
            if not seen & {pair.source.text, pair.variant.text}:
                break
        else:
            raise UserError(
                f"--num-{split} {num_pairs}: template {template.id!r} has no new problem left; ask for fewer"
            )
        seen |= {pair.source.text, pair.variant.text}
        pairs.append(pair)
    return pairs


def write_starter(
    out_dir: Path, settings: StarterSettings, *, on_progress: Callable[[int], None]
) -> dict[Split, int]:
    """Write `train.jsonl` and `test.jsonl` and return their row counts. Same settings, same bytes.

    Starts a server of its own on a free port. `on_progress(done)` counts pairs.
    """
    pairs: dict[Split, list[problems.SimPair]] = {
        "train": draw_pairs("train", settings.num_train, settings.seed),
        "test": draw_pairs("test", settings.num_test, settings.seed),
    }
    with process.start() as server, output_folder(out_dir) as staging:
        flat = [pair for split in pairs.values() for pair in split]
        tools = load_tools(server.base_url, settings.solve_rate)
        rows = iter(asyncio.run(_measure(flat, tools, settings.seed, on_progress)))
        for split, members in pairs.items():
            lines = [orjson.dumps(next(rows)) + b"\n" for _ in members]
            staging.path(f"{split}.jsonl").write_bytes(b"".join(lines))
    return {split: len(members) for split, members in pairs.items()}


async def _measure(
    pairs: Sequence[problems.SimPair], tools: Tools, seed: int, on_progress: Callable[[int], None]
) -> list[dict[str, Any]]:
    num_done = 0

    async def row(pair: problems.SimPair, student: Student, grader: Grader) -> dict[str, Any]:
        nonlocal num_done
        rates = [
            await _solve_rate(p, student, grader, tools.solve_rate, seed) for p in (pair.source, pair.variant)
        ]
        num_done += 1
        on_progress(num_done)
        return _row(pair, *rates)

    with Grader(tools.grader) as grader:
        async with ChatClient(tools.endpoint) as client:
            student = Student(client, tools.recipe)
            return list(await asyncio.gather(*(row(pair, student, grader) for pair in pairs)))


async def _solve_rate(
    problem: problems.SimProblem, student: Student, grader: Grader, settings: SolveRateSettings, seed: int
) -> SolveRate:
    rate = await measure_solve_rate(
        Problem(text=problem.text, answer=problem.answer),
        student=student,
        grader=grader,
        num_samples=settings.num_samples,
        min_graded=settings.min_graded,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        seed=derive_seed(seed, "solve rate", problem.text),
    )
    if rate is None:
        raise UserError(f"the solve rate of {problem.text!r} could not be measured; run the command again")
    return rate


def _row(pair: problems.SimPair, source: SolveRate, variant: SolveRate) -> dict[str, Any]:
    """The published columns, the tutor's notes, and the template as the group that no split may cut."""
    return {
        **published_columns(
            _item(pair.source, source, ItemKind.SOURCE), _item(pair.variant, variant, ItemKind.TRANSFER)
        ),
        "notes": problems.notes(pair.source),
        "group": pair.template.id,
    }


def _item(problem: problems.SimProblem, rate: SolveRate, kind: ItemKind) -> TestItem:
    return TestItem(problem=Problem(text=problem.text, answer=problem.answer), baseline=rate, kind=kind)
