"""Progress of long work: live bars on a terminal, a line per tenth of the work and per minute elsewhere."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_LINES_PER_TASK = 10
_SILENCE_S = 60.0  # the longest without a line while something is being done


class _Line(NamedTuple):
    tenths: int
    completed: float
    time_s: float


class TaskProgress(Progress):
    """rich's Progress, which by itself shows nothing in a log file until the work is over.

    It writes to stderr, so that results can be piped.
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._first_lines: dict[TaskID, _Line] = {}
        self._last_lines: dict[TaskID, _Line] = {}
        self._started_s = time.monotonic()

    def update(self, task_id: TaskID, **fields: Any) -> None:
        super().update(task_id, **fields)
        self._print(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self._print(task_id)

    def _print(self, task_id: TaskID) -> None:
        task = self.tasks[self.task_ids.index(task_id)]
        if not self.disable or not task.total:
            return
        now_s = time.monotonic()
        tenths = int(_LINES_PER_TASK * task.completed / task.total)
        last = self._last_lines.get(task_id)
        if last is not None and tenths <= last.tenths and now_s - last.time_s < _SILENCE_S:
            return
        first = self._first_lines.setdefault(task_id, _Line(tenths, task.completed, now_s))
        self._last_lines[task_id] = _Line(tenths, task.completed, now_s)
        self.console.print(
            f"{task.description}: {task.completed:.0f}/{task.total:.0f} after {now_s - self._started_s:.0f} s"
            + _time_left(first, task.completed, task.total, now_s),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _time_left(first: _Line, completed: float, total: float, now_s: float) -> str:
    """Judged by what was done since the first line, since work before it may have been done in an earlier run."""
    if completed <= first.completed or completed >= total:
        return ""
    seconds = (now_s - first.time_s) / (completed - first.completed) * (total - completed)
    return f", about {timedelta(seconds=round(seconds))} left"
