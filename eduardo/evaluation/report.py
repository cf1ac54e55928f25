"""The report of an evaluation as data: what report.json holds, and what all its written forms are made from."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.table import Table

from eduardo.errors import UserError
from eduardo.evaluation.cells import cell
from eduardo.evaluation.comparison import Comparison
from eduardo.evaluation.figures import FIGURES
from eduardo.evaluation.rows import Row
from eduardo.evaluation.statistics import Estimate
from eduardo.evaluation.summary import Group, Summary
from eduardo.evaluation.tutors import Control

REPORT_JSON = "report.json"


class TutorReport(msgspec.Struct, frozen=True, kw_only=True):
    tutor: str
    control: Control | None
    num_planned: int
    num_measured: int
    figures: dict[str, Estimate | None]
    by_difficulty: list[Group]
    by_end_reason: list[Group]
    end_reasons: dict[str, int]
    invalid_because: list[str]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """`report.json`. `about` says how it was made."""

    about: dict[str, str | int | float]
    tutors: list[TutorReport]
    comparisons: list[Comparison]


def to_evaluation(
    summaries: Sequence[Summary], comparisons: Sequence[Comparison], about: Mapping[str, str | int | float]
) -> Evaluation:
    tutors = [
        TutorReport(
            tutor=summary.tutor,
            control=summary.control,
            num_planned=summary.num_planned,
            num_measured=len(summary.rows),
            figures=dict(summary.figures),
            by_difficulty=list(summary.by_difficulty),
            by_end_reason=list(summary.by_end_reason),
            end_reasons=dict(summary.end_reasons),
            invalid_because=list(summary.invalid_because),
        )
        for summary in summaries
    ]
    return Evaluation(about=dict(about), tutors=tutors, comparisons=list(comparisons))


def to_json(evaluation: Evaluation) -> bytes:
    return msgspec.json.format(msgspec.json.encode(evaluation), indent=2) + b"\n"


def read_evaluation(folder: Path) -> Evaluation:
    """What `report.json` in a folder holds. Raises UserError when it is none of ours."""
    path = folder / REPORT_JSON
    try:
        return msgspec.json.decode(path.read_bytes(), type=Evaluation)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); give the folder of an evaluation"
        ) from error
    except msgspec.MsgspecError as error:
        raise UserError(f"{path}: no report of an evaluation ({error}); run the evaluation again") from error


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


def figures_table(evaluation: Evaluation) -> Table:
    """Tutors as columns, figures as rows, for the terminal."""
    table = Table(caption="mean [95 % interval], clustered by problem", caption_justify="left")
    table.add_column("figure", no_wrap=True)
    for tutor in evaluation.tutors:
        table.add_column(tutor.tutor, justify="right")
    for name in FIGURES:
        table.add_row(name, *(cell(name, tutor.figures.get(name)) for tutor in evaluation.tutors))
    return table
