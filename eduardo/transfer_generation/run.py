"""Work on all rows that the journal does not hold yet, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from eduardo.errors import EndpointError
from eduardo.transfer_generation.journal import Journal
from eduardo.transfer_generation.outcome import NotMeasured, Row
from eduardo.transfer_generation.source import SourceProblem

Work = Callable[[SourceProblem], Awaitable[Row]]


@dataclass(frozen=True, slots=True)
class OpenRow:
    """A problem that the endpoints failed on. It is neither kept nor rejected: the next run tries it again."""

    source: SourceProblem
    fault: str


async def run_rows(
    sources: Sequence[SourceProblem],
    work: Work,
    journal: Journal,
    *,
    max_at_once: int,
    max_open_in_a_row: int,
    on_row: Callable[[Row], None],
) -> list[OpenRow]:
    """Finish what can be finished and return what stays open, rows that were not begun excluded.

    No further row is begun once `max_open_in_a_row` rows one after the other stayed open. `on_row` is told of a row
    when it is on disk. A row that an endpoint refused is finished only where another one got through, in this run or
    an earlier one: an endpoint that refuses every row is set up wrongly, and says nothing about any of them.
    """
    todo = iter([source for source in sources if source.id not in journal.rows])
    run = _Run(todo, work, journal, max_open_in_a_row, on_row)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max_at_once):
                group.create_task(run.work_through())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return run.open + [OpenRow(source, _fault(row)) for source, row in run.held]


class _Run:
    def __init__(
        self,
        todo: Iterator[SourceProblem],
        work: Work,
        journal: Journal,
        max_open_in_a_row: int,
        on_row: Callable[[Row], None],
    ) -> None:
        self._todo, self._work, self._journal, self._on_row = todo, work, journal, on_row
        self._max_open_in_a_row = max_open_in_a_row
        self._num_open_in_a_row = 0
        self._answered = any(row.refusal is None for row in journal.rows.values())
        self.open: list[OpenRow] = []
        self.held: list[tuple[SourceProblem, Row]] = []  # refused, while no row got through

    async def work_through(self) -> None:
        for source in self._todo:
            if self._num_open_in_a_row >= self._max_open_in_a_row:
                return
            try:
                row = await self._work(source)
            except (EndpointError, NotMeasured) as error:
                self._num_open_in_a_row += 1
                self.open.append(OpenRow(source, str(error)))
                continue
            if row.refusal is not None and not self._answered:
                self._num_open_in_a_row += 1
                self.held.append((source, row))
                continue
            self._num_open_in_a_row = 0
            self._answered = True
            self._finish(row)
            while self.held:
                self._finish(self.held.pop()[1])

    def _finish(self, row: Row) -> None:
        self._journal.write(row)
        self._on_row(row)


def _fault(row: Row) -> str:
    return row.refusal.detail if row.refusal else ""
