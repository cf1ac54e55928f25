"""Metrics of a step: means over its dialogues, and the journal that keeps one line per step."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

METRICS_FILE = "metrics.jsonl"
VOID = "void"
REWARD = "reward_total"
LOST_VOTES = "num_lost_votes"

DialogueNumbers = Mapping[str, float | None]  # of `eduardo.records.flat_metrics`; None: not measured


def is_void(numbers: DialogueNumbers) -> bool:
    return bool(numbers[VOID])


def step_metrics(dialogues: Sequence[DialogueNumbers], *, num_expected: int, prefix: str) -> dict[str, float]:
    """Mean of every number over the valid dialogues where it was measured, and counts of what was not.

    `dialogues` are those that came back, void ones included; those of `num_expected` that did not are void too.
    """
    valid = [numbers for numbers in dialogues if not is_void(numbers)]
    columns = {key: [v for d in valid if (v := d[key]) is not None] for key in (valid[0] if valid else {})}
    measured = {key: values for key, values in columns.items() if key != VOID and values}
    means = {f"{prefix}/{key}": statistics.fmean(values) for key, values in measured.items()}
    if len(rewards := measured.get(REWARD, [])) > 1:
        means[f"{prefix}/reward_std"] = statistics.stdev(rewards)
    num_void = num_expected - len(valid)
    return {
        **means,
        f"{prefix}/num_dialogues": float(num_expected),
        f"{prefix}/num_void": float(num_void),
        f"{prefix}/void_share": num_void / num_expected,
        f"{prefix}/sum_lost_votes": sum(d.get(LOST_VOTES) or 0.0 for d in dialogues),
    }


def logprob_gap(trainer: Any, rollout: Any, mask: Any) -> dict[str, float]:
    """Mean and largest |trainer − rollout| log-prob difference over sampled tokens. Tensors (dialogues, tokens)."""
    gap = (trainer - rollout).abs() * mask
    num_tokens = mask.sum()
    if num_tokens == 0:
        return {}
    return {
        "logprob/abs_diff_mean": float(gap.sum() / num_tokens),
        "logprob/abs_diff_max": float(gap.max()),
    }


class MetricsJournal:
    """verl's tracking with a line per step in `metrics.jsonl` beside it, kept over resumes."""

    def __init__(self, tracking: Any, run_dir: Path, *, resumed_step: int) -> None:
        self._tracking = tracking
        self._path = run_dir / METRICS_FILE
        drop_steps_after(self._path, resumed_step)

    def log(self, data: Mapping[str, Any], step: int) -> None:
        numbers = {key: float(value) for key, value in data.items() if _is_finite(value)}
        line = json.dumps({"step": step, **numbers}) + "\n"
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._tracking.log(data=numbers, step=step)

    def finish(self, exit_code: int = 0) -> None:
        self._tracking.finish(exit_code=exit_code)


def read_metrics(path: Path) -> list[dict[str, float]]:
    """The lines of a journal in order; an unfinished last line is left out."""
    if not path.is_file():
        return []
    return [
        json.loads(line)
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]


def drop_steps_after(path: Path, step: int) -> None:
    """Forget the lines of steps that a resumed run is about to take again."""
    lines = read_metrics(path)
    if not path.is_file():
        return
    tmp = path.with_suffix(".tmp")
    tmp.write_text(
        "".join(json.dumps(line) + "\n" for line in lines if line["step"] <= step), encoding="utf-8"
    )
    tmp.replace(path)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False
