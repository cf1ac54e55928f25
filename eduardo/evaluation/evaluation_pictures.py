"""The pictures of an evaluation, made from its report."""

from __future__ import annotations

from collections.abc import Sequence

from eduardo.evaluation import plots
from eduardo.evaluation.cells import cell, p_value, words
from eduardo.evaluation.comparison import Comparison
from eduardo.evaluation.plots import Effect, Interval, Place
from eduardo.evaluation.report import Evaluation, TutorReport
from eduardo.evaluation.statistics import Estimate


def pictures(evaluation: Evaluation) -> dict[str, str]:
    """Name → SVG: `forest_FIGURE` for every figure that was compared, and `tradeoff` of gain and leaks."""
    found = {f"forest_{figure}": picture for figure, picture in _forests(evaluation.comparisons).items()}
    tradeoff = _tradeoff(evaluation.tutors)
    return {**found, "tradeoff": tradeoff} if tradeoff else found


def _forests(comparisons: Sequence[Comparison]) -> dict[str, str]:
    """A picture for every figure that was compared, all tutors in it."""
    by_figure: dict[str, list[Effect]] = {}
    for one in comparisons:
        corrected = p_value(one.corrected_p_value)
        beside = f"p {corrected}" if corrected.startswith("<") else f"p = {corrected}"
        note = f"{cell(one.figure, one.difference.estimate)}, {beside}"
        effect = Effect(f"{one.second} − {one.first}", _interval(one.difference.estimate), note)
        by_figure.setdefault(one.figure, []).append(effect)
    return {figure: plots.forest(words(figure), effects) for figure, effects in by_figure.items()}


def _tradeoff(tutors: Sequence[TutorReport]) -> str:
    places = [
        Place(tutor.tutor, _interval(leaks), _interval(gain))
        for tutor in tutors
        if (leaks := tutor.figures.get("leak_rate")) and (gain := tutor.figures.get("gain_transfer"))
    ]
    return (
        plots.plane("share of dialogues that hand the solution over", "Δ transfer, ungated", places)
        if places
        else ""
    )


def _interval(estimate: Estimate) -> Interval:
    value = estimate.value
    return Interval(
        value,
        value if estimate.low is None else estimate.low,
        value if estimate.high is None else estimate.high,
    )
