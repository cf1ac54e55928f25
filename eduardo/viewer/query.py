"""Questions to the index: filter, sort and page through dialogues; how they developed over steps."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from eduardo.viewer.columns import COLUMNS, INTEGERS, NUMBERS

MAX_PAGE = 500
_BOUND = re.compile(r"(?P<column>\w+)(?P<sign>>=|<=)(?P<number>-?\d+(\.\d+)?)")
_WORDS = re.compile(r'"([^"]*)"|(\S+)')
_SHOWN = (
    *(
        "key",
        "run",
        "grp",
        "step",
        "sample",
        "pair",
        "void",
        "detector",
        "leak",
        "teaching",
        "end_reason",
        "test",
    ),
    *NUMBERS,
)

Row = dict[str, Any]


class Filter(BaseModel):
    """What to show; an empty list or None means all. Refuses unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: list[int] = []
    grp: list[str] = []
    leak: list[str] = []
    teaching: list[str] = []
    end_reason: list[str] = []
    pair: str | None = None
    void: bool | None = None
    detector: bool | None = None
    bound: list[str] = []  # reward>=0.5, step<=100
    text: Annotated[str, Field(max_length=500)] = ""
    text_in: Literal["", "problem", "tutor", "student", "thinking", "judge"] = ""

    @field_validator("bound")
    @classmethod
    def _known(cls, bounds: list[str]) -> list[str]:
        for bound in bounds:
            match = _BOUND.fullmatch(bound)
            if match is None or match["column"] not in (*INTEGERS, *NUMBERS):
                raise ValueError(f"{bound!r} is no bound; write e.g. reward>=0.5")
        return bounds


class Page(Filter):
    """A stretch of the filtered dialogues in an order; those without a value come last."""

    sort: str = "newest"
    descending: bool = True
    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    with_steps: bool = True  # also counts and sums of all that the filter leaves

    @field_validator("sort")
    @classmethod
    def _sortable(cls, name: str) -> str:
        if name not in ("newest", *COLUMNS):
            raise ValueError(f"{name!r} cannot be sorted by")
        return name


class Selection:
    """The dialogues that a filter leaves. A text is searched once for all that is asked of them."""

    def __init__(self, connection: sqlite3.Connection, wanted: Filter) -> None:
        self._connection = connection
        clauses, self._values = _conditions(wanted)
        if match_text := to_match(wanted.text, wanted.text_in):
            connection.execute("CREATE TEMP TABLE hits (id INTEGER PRIMARY KEY)")
            found = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid"
            connection.execute(f"INSERT INTO hits {found}", (match_text,))
            clauses.append("id IN (SELECT id FROM hits)")
        self._and = "".join(f" AND {clause}" for clause in clauses)

    def page(self, page: Page) -> list[Row]:
        """One page of dialogues, with the text of their problems."""
        columns = ", ".join(f"d.{name}" for name in _SHOWN)
        # The plus keeps the planner from the index by step: it holds the columns of the sums only.
        found = self._connection.execute(
            f"SELECT {columns}, p.text AS problem FROM "
            f"(SELECT id FROM dialogues WHERE +twin = 0{self._and} ORDER BY {_order(page)} LIMIT ? OFFSET ?) f "
            "JOIN dialogues d ON d.id = f.id LEFT JOIN problems p ON p.run = d.run AND p.pair = d.pair "
            f"ORDER BY {_order(page, 'd.')}",
            (*self._values, page.limit, page.offset),
        )
        return [dict(row) for row in found]

    def over_steps(self) -> list[Row]:
        """Counts and sums per run, group and step, from which means over any of them follow.

        `num` counts all dialogues and `num_scored` those with a reward; gain and its count are of tested dialogues
        only.
        """
        found = self._connection.execute(
            "SELECT run, grp, step, count(*) AS num, count(reward) AS num_scored, sum(reward) AS sum_reward, "
            "count(post) AS num_tested, sum(CASE WHEN post IS NOT NULL THEN gain END) AS sum_gain, "
            "sum(leak = 'reject') AS num_leaks, sum(leak IN ('accept', 'reject')) AS num_judged "
            f"FROM dialogues WHERE twin = 0{self._and} GROUP BY run, grp, step ORDER BY run, grp, step",
            self._values,
        )
        return [dict(row) for row in found]


def facets(connection: sqlite3.Connection) -> list[Row]:
    """Which values there are to filter by, with how many dialogues have them, per run."""
    names = ("grp", "end_reason", "leak", "teaching")
    together = ", ".join(names)
    counts: Counter[tuple[int, str, str]] = Counter()
    for row in connection.execute(
        f"SELECT run, {together}, count(*) AS num FROM dialogues WHERE twin = 0 GROUP BY run, {together}"
    ):
        counts.update({(row["run"], name, row[name]): row["num"] for name in names})
    return [
        {"run": run, "name": name, "value": value, "num": num} for (run, name, value), num in counts.items()
    ]


def row_of(connection: sqlite3.Connection, key: str) -> Row:
    """Run, group and step of a dialogue; empty when the index does not hold it."""
    found = connection.execute(
        "SELECT run, grp, step, sample FROM dialogues WHERE key = ?", (key,)
    ).fetchone()
    return dict(found) if found else {}


def twin_key(connection: sqlite3.Connection, key: str) -> str | None:
    """The other record of an evaluated dialogue: its post-test on the other problem."""
    row = connection.execute(
        "SELECT b.key FROM dialogues a JOIN dialogues b ON b.pair = a.pair AND b.run = a.run AND b.grp = a.grp "
        "AND b.step IS a.step AND b.sample IS a.sample AND b.twin != a.twin WHERE a.key = ?",
        (key,),
    ).fetchone()
    return row["key"] if row else None


def bad_lines(connection: sqlite3.Connection) -> list[Row]:
    """Files with lines that hold no dialogue record."""
    found = connection.execute(
        "SELECT run, path, num_bad, first_bad FROM files WHERE num_bad > 0 ORDER BY path"
    )
    return [dict(row) for row in found]


def to_match(text: str, column: str = "") -> str | None:
    """A full-text expression: every word, and every "quoted phrase"; the last word may be the beginning of one.

    None when there is nothing to look for: marks alone are not indexed.
    """
    terms = [m[1] if m[1] is not None else m[2] for m in _WORDS.finditer(text)]
    terms = [term.replace('"', " ") for term in terms if any(char.isalnum() for char in term)]
    if not terms:
        return None
    quoted = [f'"{term}"' for term in terms]
    if not text.endswith(('"', " ")):
        quoted[-1] += "*"
    words = " AND ".join(quoted)
    return f"{{{column}}} : ({words})" if column else words


def _conditions(wanted: Filter) -> tuple[list[str], list[str | int | float]]:
    clauses, values = list[str](), list[str | int | float]()
    for name in ("run", "grp", "leak", "teaching", "end_reason"):
        if chosen := getattr(wanted, name):
            clauses.append(f"{name} IN ({', '.join('?' * len(chosen))})")
            values += chosen
    for name in ("pair", "void", "detector"):
        if (value := getattr(wanted, name)) is not None:
            clauses.append(f"{name} = ?")
            values.append(value)
    for bound in wanted.bound:
        match = _BOUND.fullmatch(bound)
        assert match is not None, "checked by Filter"
        clauses.append(f"{match['column']} {match['sign']} ?")
        values.append(float(match["number"]))
    return clauses, values


def _order(page: Page, prefix: str = "") -> str:
    direction = "DESC" if page.descending else "ASC"
    if page.sort == "newest":
        return f"{prefix}step {direction} NULLS LAST, {prefix}id {direction}"
    return f"{prefix}{page.sort} {direction} NULLS LAST, {prefix}id {direction}"
