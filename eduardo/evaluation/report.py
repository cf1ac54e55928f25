"""The report of an evaluation: the same figures as a terminal table, Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson
from rich.table import Table

from eduardo.evaluation.statistics import Difference, Estimate, holm, paired_difference
from eduardo.evaluation.summary import FIGURES, RATES, Row, Summary

# Figures that are compared between tutors: name → the value of one dialogue, None where not measured.
_COMPARED: dict[str, Callable[[Row], float | None]] = {
    "gain_transfer": lambda row: row.gain_transfer,
    "gain_source": lambda row: row.gain_source,
    "reward": lambda row: row.reward,
    "leak_rate": lambda row: None if row.leaked is None else float(row.leaked),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`second` minus `first` on the problems that both were measured on."""

    figure: str
    first: str
    second: str
    difference: Difference
    corrected_p_value: float  # Holm, over all comparisons of the report


def compare(summaries: Sequence[Summary]) -> list[Comparison]:
    """Every later tutor against the first one, on the figures that matter."""
    found: list[tuple[str, str, str, Difference]] = []
    for other in summaries[1:]:
        for figure in _COMPARED:
            difference = paired_difference(
                _by_problem(summaries[0].rows, figure), _by_problem(other.rows, figure)
            )
            if difference is not None:
                found.append((figure, summaries[0].tutor, other.tutor, difference))
    corrected = holm([difference.p_value for *_, difference in found])
    return [
        Comparison(figure=figure, first=first, second=second, difference=difference, corrected_p_value=p)
        for (figure, first, second, difference), p in zip(found, corrected, strict=True)
    ]


def figures_table(summaries: Sequence[Summary]) -> Table:
    """Tutors as columns, figures as rows, for the terminal."""
    table = Table(caption="mean [95 % interval], clustered by problem", caption_justify="left")
    table.add_column("figure", no_wrap=True)
    for summary in summaries:
        table.add_column(summary.tutor, justify="right")
    for name in FIGURES:
        table.add_row(name, *(_cell(name, summary.figures[name]) for summary in summaries))
    return table


def to_markdown(summaries: Sequence[Summary], comparisons: Sequence[Comparison]) -> str:
    """The whole report for people: figures, differences, end reasons, validity."""
    head = ["figure", *(summary.tutor for summary in summaries)]
    lines = ["# Evaluation", "", *_validity(summaries), *_row_of(head), _rule(len(head))]
    for name in FIGURES:
        lines += _row_of([name, *(_cell(name, summary.figures[name]) for summary in summaries)])
    lines += ["", "Mean [95 % interval], clustered by problem; rates with Wilson's interval.", ""]
    lines += [f"- `{name}`: {text}" for name, text in FIGURES.items()]
    if comparisons:
        lines += ["", "## Paired differences", ""]
        columns = [
            "figure",
            "difference",
            "value [95 % interval]",
            "p (Holm)",
            "smallest difference seen with 80 % power",
        ]
        lines += [*_row_of(columns), _rule(len(columns))]
        for c in comparisons:
            lines += _row_of(
                [
                    c.figure,
                    f"{c.second} − {c.first}",
                    _cell(c.figure, c.difference.estimate),
                    f"{c.corrected_p_value:.2g}",
                    f"{c.difference.minimum_detectable:.3f}",
                ]
            )
    lines += ["", "## How dialogues ended", ""]
    reasons = sorted({reason for summary in summaries for reason in summary.end_reasons})
    lines += [*_row_of(["tutor", *reasons]), _rule(1 + len(reasons))]
    for summary in summaries:
        lines += _row_of([summary.tutor, *(str(summary.end_reasons.get(reason, 0)) for reason in reasons)])
    return "\n".join(lines) + "\n"


def to_json(summaries: Sequence[Summary], comparisons: Sequence[Comparison]) -> bytes:
    """Figures, differences, end reasons and validity for programs; rows stay in the CSV."""
    tutors = [
        {
            "tutor": s.tutor,
            "num_planned": s.num_planned,
            "num_measured": len(s.rows),
            "figures": {
                name: estimate and dataclasses.asdict(estimate) for name, estimate in s.figures.items()
            },
            "end_reasons": s.end_reasons,
            "invalid_because": s.invalid_because,
        }
        for s in summaries
    ]
    report = {"tutors": tutors, "comparisons": [dataclasses.asdict(c) for c in comparisons]}
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def to_csv(summaries: Sequence[Summary]) -> str:
    """One line per dialogue with the numbers that all figures are made of."""
    out = io.StringIO()
    names = [field.name for field in dataclasses.fields(Row)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["tutor", *names])
    for summary in summaries:
        for row in summary.rows:
            writer.writerow([summary.tutor, *(getattr(row, name) for name in names)])
    return out.getvalue()


def _by_problem(rows: Sequence[Row], figure: str) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in rows:
        value = _COMPARED[figure](row)
        if value is not None:
            values.setdefault(row.pair_id, []).append(value)
    return values


def _validity(summaries: Sequence[Summary]) -> list[str]:
    lines = [
        f"**INVALID: {s.tutor}**: {'; '.join(s.invalid_because)}." for s in summaries if s.invalid_because
    ]
    return [*lines, ""] if lines else []


def _cell(name: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if name not in RATES or estimate.low is None or estimate.high is None:
        return str(estimate)
    return f"{estimate.value:.1%} [{estimate.low:.1%}, {estimate.high:.1%}]"


def _row_of(cells: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(cells) + " |"]


def _rule(num_columns: int) -> str:
    return "|" + "---|" * num_columns
