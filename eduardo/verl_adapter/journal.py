"""`metrics.jsonl`: one JSON object per step, `step` and numbers. Written by the trainer, read by everybody else."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eduardo.files import replace_file

METRICS_FILE = "metrics.jsonl"


class MetricsJournal:
    """verl's tracking with the journal beside it. Steps that a resumed run takes again are forgotten first."""

    def __init__(self, tracking: Any, path: Path, *, resumed_step: int) -> None:
        self._tracking = tracking
        self._path = path
        drop_steps_after(path, resumed_step)

    def log(self, data: Mapping[str, Any], step: int) -> None:
        numbers = finite_numbers(data)
        append_line(self._path, step, numbers)
        self._tracking.log(data=numbers, step=step)

    def finish(self, exit_code: int = 0) -> None:
        self._tracking.finish(exit_code=exit_code)


class JournalReader:
    """Yields each finished line of a file of JSON objects once, as the file grows."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self._path = path
        self._offset = path.stat().st_size if from_end and path.exists() else 0

    def new_lines(self) -> Iterator[dict[str, Any]]:
        if not self._path.exists():
            return
        if self._path.stat().st_size < self._offset:
            self._offset = self._path.stat().st_size  # shortened when a run was resumed
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield json.loads(line)


def read_journal(path: Path) -> list[dict[str, float]]:
    """All finished lines in order; none when there is no file."""
    return list(JournalReader(path).new_lines())


def append_line(path: Path, step: int, numbers: Mapping[str, float]) -> None:
    """The line is on the disk when this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, **numbers}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def finite_numbers(data: Mapping[str, Any]) -> dict[str, float]:
    """What of `data` can be written down as a number."""
    return {key: float(value) for key, value in data.items() if _is_finite(value)}


def drop_steps_after(path: Path, step: int) -> None:
    """Forget the lines of later steps."""
    if not path.is_file():
        return
    kept = [line for line in read_journal(path) if line["step"] <= step]
    replace_file(path, "".join(json.dumps(line) + "\n" for line in kept).encode())


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False
