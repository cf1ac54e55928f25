"""Tutor × student: the figures of every pair, over all students, and what each student changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from eduardo.evaluation.cells import cell, p_value, words
from eduardo.evaluation.figures import FIGURES, RATES, by_problem, estimate
from eduardo.evaluation.paired import Difference, holm, paired_difference, paired_rate_difference
from eduardo.evaluation.parts import Part, PartTable
from eduardo.evaluation.statistics import Estimate
from eduardo.evaluation.summary import Summary

_SHOWN = ("gain_transfer", "gain_transfer_gated", "leak_rate", "teaching_reject_rate", "end_rate", "reward")
_COMPARED = ("gain_transfer_gated", "leak_rate")
ALL = "all students"

Pool = Mapping[str, Sequence[Summary]]
"""Student → the summaries of all tutors with it, the tutors in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a student changes for a tutor: its figure minus that with the first student of the pool."""

    tutor: str
    student: str
    figure: str
    difference: Difference
    corrected_p_value: float  # Holm, over all changes of the report


def students_part(pool: Pool, about: Mapping[str, str | int | float]) -> Part:
    """The matrix as a part of a report."""
    changes = changes_of(pool)
    first = next(iter(pool))
    made = ", ".join(f"{words(name)} {value}" for name, value in about.items() if name != "student")
    notes = [
        "Every tutor with every student on the same problems. A persona shapes the dialogue only: cold solve rates and "
        f"post-tests are those of the student without it. `{ALL}` pools the dialogues, clustered by problem. "
        "Mean [95 % interval]; rates with Wilson's interval.",
        f"How it was measured: {made}.",
        *_invalid(pool),
    ]
    tables = [_table(figure, pool) for figure in _SHOWN]
    if changes:
        tables.append(_changes(changes, first))
    data: dict[str, object] = {
        "students": list(pool),
        "figures": {figure: _estimates(figure, pool) for figure in FIGURES},
        "changes": [asdict(change) for change in changes],
    }
    return Part(title="A pool of students", notes=notes, tables=tables, data=data)


def changes_of(pool: Pool) -> list[Change]:
    """Every later student against the first one, tutor by tutor."""
    first, *others = pool
    found = [
        (before.tutor, student, figure, difference)
        for figure in _COMPARED
        for student in others
        for before, after in zip(pool[first], pool[student], strict=True)
        if (difference := _difference(figure, before, after)) is not None
    ]
    corrected = holm([difference.p_value for *_, difference in found])
    return [
        Change(tutor=tutor, student=student, figure=figure, difference=difference, corrected_p_value=p)
        for (tutor, student, figure, difference), p in zip(found, corrected, strict=True)
    ]


def _difference(figure: str, before: Summary, after: Summary) -> Difference | None:
    one, other = by_problem(figure, before.rows), by_problem(figure, after.rows)
    return paired_rate_difference(one, other) if figure in RATES else paired_difference(one, other)


def _estimates(figure: str, pool: Pool) -> dict[str, dict[str, Estimate | None]]:
    """Tutor → student (and all of them) → estimate."""
    found: dict[str, dict[str, Estimate | None]] = {}
    for per_student in zip(*pool.values(), strict=True):
        cells = {
            student: summary.figures.get(figure) for student, summary in zip(pool, per_student, strict=True)
        }
        rows = [row for summary in per_student for row in summary.rows]
        found[per_student[0].tutor] = {**cells, ALL: estimate(figure, rows)}
    return found


def _table(figure: str, pool: Pool) -> PartTable:
    """Students as rows: there are usually more of them than tutors."""
    found = _estimates(figure, pool)
    rows = [
        [words(student), *(cell(figure, cells[student]) for cells in found.values())]
        for student in (*pool, ALL)
    ]
    return PartTable(title=FIGURES[figure], head=["student", *found], rows=rows)


def _changes(changes: Sequence[Change], first: str) -> PartTable:
    return PartTable(
        title=f"What a student changes, against {words(first)}",
        head=["figure", "tutor", "student", "difference [95 % interval]", "p (Holm)"],
        rows=[
            [
                words(change.figure),
                change.tutor,
                words(change.student),
                cell(change.figure, change.difference.estimate),
                p_value(change.corrected_p_value),
            ]
            for change in changes
        ],
    )


def _invalid(pool: Pool) -> list[str]:
    return [
        f"**INVALID: {summary.tutor} with {words(student)}**: {'; '.join(summary.invalid_because)}."
        for student, summaries in pool.items()
        for summary in summaries
        if summary.invalid_because
    ]
