"""Where a record was read from, so that every complaint can point at it."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """`row` counts records from 1; `line` counts lines from 1 and is None for files that have none."""

    file: str
    row: int
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file} row {self.row}" if self.line is None else f"{self.file} line {self.line}"


class Record(NamedTuple):
    """One element of a data file as decoded, not checked yet."""

    value: object
    where: Location
