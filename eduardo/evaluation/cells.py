"""Figures as people read them: value, interval, p-value."""

from __future__ import annotations

from eduardo.evaluation.figures import RATES
from eduardo.evaluation.statistics import Estimate

NOT_MEASURED = "–"


def cell(figure: str, estimate: Estimate | None, *, digits: int = 2) -> str:
    """A figure of the environment test, by its name: rates are shares."""
    return shown(estimate, share=figure in RATES, digits=digits)


def shown(estimate: Estimate | None, *, share: bool = False, digits: int = 3) -> str:
    """`value [low, high]`, a share in percent, all else with `digits` decimals; a dash where nothing was measured."""
    if estimate is None:
        return NOT_MEASURED
    ends = () if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
    value, *interval = [written(number, share=share, digits=digits) for number in (estimate.value, *ends)]
    return f"{value} [{', '.join(interval)}]" if interval else value


def p_value(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 else "< 0.0001"


def detectable(figure: str, value: float | None) -> str:
    """The smallest difference that the size at hand would show."""
    return NOT_MEASURED if value is None else written(value, share=figure in RATES, digits=3)


def words(name: str) -> str:
    return name.replace("_", " ")


def written(number: float, *, share: bool, digits: int) -> str:
    """A share in percent, all else with `digits` decimals; a true minus, and none before zero."""
    text = f"{number:.1%}" if share else f"{number:.{digits}f}"
    return text.replace("-", "−") if text.strip("-0.%") else text.removeprefix("-")
