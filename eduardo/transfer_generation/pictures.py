"""The pictures of a report, as PNG files: the same figures give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from eduardo.transfer_generation.figures import ACCEPTED, Figures
from eduardo.transfer_generation.settings import SolveRateSettings

_SIZE_INCHES = (7.0, 3.6)
_DPI = 110


def acceptance(figures: Figures) -> bytes:
    """One bar for each round: how many drafts were accepted, and why the others were not."""
    figure, axes = _canvas("What became of the drafts", "round", "drafts")
    outcomes = [ACCEPTED, *figures.reasons]
    bottom = dict.fromkeys(figures.rounds, 0)
    for outcome in outcomes:
        heights = [by_outcome.get(outcome, 0) for by_outcome in figures.rounds.values()]
        axes.bar(
            list(map(str, figures.rounds)), heights, bottom=list(bottom.values()), label=outcome, width=0.6
        )
        bottom = {number: low + height for (number, low), height in zip(bottom.items(), heights, strict=True)}
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    return _png(figure)


def gaps(figures: Figures, limits: SolveRateSettings) -> bytes:
    """How much easier or harder the kept variants are than their sources."""
    figure, axes = _canvas("Solve rate of the variant minus that of its source", "difference", "variants")
    axes.hist(figures.gaps, bins=_bins(-1.0, limits.num_samples), color="tab:blue")
    for limit in (-limits.max_rate_gap, limits.max_rate_gap):
        axes.axvline(limit, color="tab:red", linestyle="--", linewidth=1)
    return _png(figure)


def solve_rates(figures: Figures, limits: SolveRateSettings) -> bytes:
    """The student's cold solve rates on sources and kept variants."""
    figure, axes = _canvas("Cold solve rates of the student", "solve rate", "problems")
    bins = _bins(0.0, limits.num_samples)
    axes.hist(figures.source_rates, bins=bins, alpha=0.55, label="source problems")
    axes.hist(figures.variant_rates, bins=bins, alpha=0.55, label="variants that were kept")
    axes.axvline(
        limits.max_variant_rate, color="tab:red", linestyle="--", linewidth=1, label="highest for a variant"
    )
    axes.legend(fontsize=8, frameon=False)
    return _png(figure)


def _bins(low: float, num_samples: int) -> Sequence[float]:
    """One bin, centred, for each rate that `num_samples` attempts can give."""
    step = 1.0 / num_samples
    count = round((1.0 - low) / step) + 1
    return [low + (index - 0.5) * step for index in range(count + 1)]


def _canvas(title: str, x_label: str, y_label: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # no pyplot: it would look for a display
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()
