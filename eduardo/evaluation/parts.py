"""Report parts: tables of one test, as Markdown, JSON and CSV in a folder, shown by the folder's HTML page.

A part is `NAME.part.json`. Several tests may leave theirs in one folder; the page shows them one after the other.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec

from eduardo.errors import UserError
from eduardo.files import write_whole

_SUFFIX = ".part.json"


class PartTable(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    head: list[str]
    rows: list[list[str]]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one test adds to a report. `data` holds the same figures for programs."""

    title: str
    notes: list[str]
    tables: list[PartTable]
    data: dict[str, object]


def write_part(folder: Path, name: str, part: Part) -> None:
    """`NAME.part.json`, `NAME.md`, and `NAME.csv` with the rows of all tables."""
    write_whole(folder / f"{name}{_SUFFIX}", msgspec.json.format(msgspec.json.encode(part)))
    write_whole(folder / f"{name}.md", _to_markdown(part).encode())
    write_whole(folder / f"{name}.csv", _to_csv(part).encode())


def read_parts(folder: Path) -> list[Part]:
    """The parts in a folder, by name. Raises UserError for a file that is none."""
    found = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Part))
        except msgspec.MsgspecError as error:
            raise UserError(
                f"{path}: no part of a report ({error}); run its test again or remove it"
            ) from error
    return found


def _to_markdown(part: Part) -> str:
    lines = [f"# {part.title}", ""]
    for note in part.notes:
        lines += [note, ""]
    for table in part.tables:
        lines += [f"## {table.title}", "", _line(table.head), "|" + "---|" * len(table.head)]
        lines += [*map(_line, table.rows), ""]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _to_csv(part: Part) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in part.tables:
        writer.writerow(["table", *table.head])
        writer.writerows([table.title, *row] for row in table.rows)
    return out.getvalue()
