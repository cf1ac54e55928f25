"""Progress of long work: live bars on a terminal, a line per tenth of the work elsewhere."""

from __future__ import annotations

import time
from typing import Any

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
        self._printed: dict[TaskID, int] = {}
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
        tenths = int(_LINES_PER_TASK * task.completed / task.total)
        if tenths > self._printed.get(task_id, -1):
            self._printed[task_id] = tenths
            seconds = time.monotonic() - self._started_s
            self.console.print(
                f"{task.description}: {task.completed:.0f}/{task.total:.0f} after {seconds:.0f} s",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
