"""Which tutors are compared on which figures, and how surprising the differences are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eduardo.evaluation.figures import GAINS_OF_MEANS, RATES, by_problem, gain_of_means, rates_by_problem
from eduardo.evaluation.paired import (
    Difference,
    holm,
    paired_difference,
    paired_rate_difference,
    paired_statistic_difference,
)
from eduardo.evaluation.summary import Summary
from eduardo.evaluation.tutors import Control

_COMPARED = ("gain_transfer", "gain_of_means", "gain_source", "reward", "leak_rate")
_COMPARED_WITH_UNTAUGHT = ("gain_transfer", "gain_of_means")  # who says nothing has nothing else to compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`second` minus `first` on the problems that both were measured on."""

    figure: str
    first: str
    second: str
    difference: Difference
    corrected_p_value: float  # Holm, over all comparisons of the report


def compare(summaries: Sequence[Summary]) -> list[Comparison]:
    """Every later tutor against the first one, and every tutor against the control without tutoring."""
    found = [
        (figure, first.tutor, second.tutor, difference)
        for figure, first, second in _planned(summaries)
        if (difference := _difference(figure, first, second)) is not None
    ]
    corrected = holm([difference.p_value for *_, difference in found])
    return [
        Comparison(figure=figure, first=first, second=second, difference=difference, corrected_p_value=p)
        for (figure, first, second, difference), p in zip(found, corrected, strict=True)
    ]


def _planned(summaries: Sequence[Summary]) -> Iterator[tuple[str, Summary, Summary]]:
    taught = [summary for summary in summaries if summary.control is not Control.UNTAUGHT]
    untaught = [summary for summary in summaries if summary.control is Control.UNTAUGHT]
    for figure in _COMPARED:
        for other in taught[1:]:
            yield figure, taught[0], other
        if figure in _COMPARED_WITH_UNTAUGHT:
            for control in untaught:
                for tutor in taught:
                    yield figure, control, tutor


def _difference(figure: str, first: Summary, second: Summary) -> Difference | None:
    if figure in GAINS_OF_MEANS:
        before, after = rates_by_problem(figure, first.rows), rates_by_problem(figure, second.rows)
        return paired_statistic_difference(before, after, gain_of_means)
    one, other = by_problem(figure, first.rows), by_problem(figure, second.rows)
    return paired_rate_difference(one, other) if figure in RATES else paired_difference(one, other)
