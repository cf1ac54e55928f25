"""How far the work is: rows, their rate, tokens and cost, and the time left."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from eduardo.llm import TokenUsage
from eduardo.progress import TaskProgress
from eduardo.transfer_generation.outcome import Row
from eduardo.transfer_generation.prices import Prices


class Tally:
    """Counts rows as they are finished and tells `progress`. Rows of earlier runs count as done."""

    def __init__(
        self, progress: TaskProgress, rows: Mapping[str, Row], chosen: Sequence[str], prices: Prices
    ) -> None:
        self._progress, self._prices = progress, prices
        self._rewriter, self._student = TokenUsage(), TokenUsage()
        self._num_kept = 0
        self._num_done = 0
        self._num_new = 0
        self._start_s = time.monotonic()
        for source_id in chosen:
            if source_id in rows:
                self._count(rows[source_id])
        self._task = progress.add_task(self._text(), total=len(chosen), completed=self._num_done)

    def add(self, row: Row) -> None:
        self._num_new += 1
        self._count(row)
        self._progress.update(self._task, completed=self._num_done, description=self._text())

    def _count(self, row: Row) -> None:
        self._num_done += 1
        self._num_kept += any(variant.kept for variant in row.variants)
        self._rewriter.add(row.rewriter_usage)
        self._student.add(row.student_usage)

    def _text(self) -> str:
        parts = ["problems"]
        if self._num_done:
            parts.append(f"{self._num_kept / self._num_done:.0%} with a variant")
        if self._num_new:
            minutes = (time.monotonic() - self._start_s) / 60
            parts.append(f"{self._num_new / minutes:.0f} per min")
        parts.append(f"tokens: rewriter {_thousands(self._rewriter)}, student {_thousands(self._student)}")
        cost = self._prices.cost(self._rewriter, self._student)
        if cost is not None:
            parts.append(f"cost {cost:.2f}")
        return ", ".join(parts)


def _thousands(usage: TokenUsage) -> str:
    return f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:.0f}k"
