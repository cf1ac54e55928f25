"""Paired differences between two tutors on the same problems. Keys are problems, values those of their dialogues.

Sources: paired differences and their power, arXiv 2411.00640; interval of a difference from the intervals of its two
rates, Newcombe 1998 (method 10), Zou and Donner 2008; step-down correction, Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from eduardo.evaluation.statistics import (
    Estimate,
    Floats,
    Statistic,
    clustered_rate,
    resample,
    t_quantile,
)

_POWER = 0.8

Values = Mapping[Any, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Second minus first, over the problems that both were measured on."""

    estimate: Estimate
    bootstrap: Estimate  # the same difference with the interval of the paired cluster bootstrap
    p_value: float
    minimum_detectable: float | None  # smallest true difference found with 80 % power; None: no noise to tell


def paired_difference(first: Values, second: Values) -> Difference | None:
    """Mean over problems of the gap, with a t interval. None with fewer than two problems in common."""
    pairs = _Pairs.of(first, second)
    if pairs is None:
        return None
    mean, error = pairs.mean, pairs.error
    half = t_quantile(pairs.degrees) * error
    return Difference(
        estimate=pairs.estimate(mean, mean - half, mean + half),
        bootstrap=pairs.bootstrap(),
        p_value=_p_value(mean, error, pairs),
        minimum_detectable=_minimum_detectable(error, pairs.degrees),
    )


def paired_rate_difference(first: Values, second: Values) -> Difference | None:
    """Gap of two rates (values 0 or 1). Its interval comes from Wilson's intervals of both and their correlation.

    A t interval would have no width where every problem changes alike, e.g. from never to always.
    """
    pairs = _Pairs.of(first, second)
    if pairs is None:
        return None
    before, after = _rate_of(first, pairs.keys), _rate_of(second, pairs.keys)
    gap = after.value - before.value
    below = _reach(after.value - _low(after), _high(before) - before.value, pairs.correlation)
    above = _reach(_high(after) - after.value, before.value - _low(before), pairs.correlation)
    return Difference(
        estimate=pairs.estimate(gap, max(-1.0, gap - below), min(1.0, gap + above)),
        bootstrap=pairs.bootstrap(),
        p_value=_p_value(pairs.mean, pairs.error, pairs),
        minimum_detectable=_minimum_detectable(pairs.error, pairs.degrees),
    )


def paired_statistic_difference(
    first: Mapping[str, Values], second: Mapping[str, Values], statistic: Statistic
) -> Difference | None:
    """Gap of a statistic of column means: paired cluster bootstrap, p-value from its standard error.

    `first` and `second`: the same column names → problem → values.
    """
    names = list(first)
    shared = _shared(first[names[0]], second[names[0]])
    if len(shared) < 2:
        return None
    columns = {
        f"{side}{name}": [fmean(values[name][key]) for key in shared]
        for side, values in (("1", first), ("2", second))
        for name in names
    }

    def gap(means: Mapping[str, Floats]) -> Floats:
        one, other = ({name: means[f"{side}{name}"] for name in names} for side in "12")
        return statistic(other) - statistic(one)

    resampled = resample(columns, shared, gap)
    if resampled is None:
        return None
    estimate, error = resampled
    degrees = len(shared) - 1
    return Difference(
        estimate=estimate,
        bootstrap=estimate,
        p_value=float(2 * stats.t.sf(abs(estimate.value) / error, degrees))
        if error > 0
        else _sign_flip_p_value(estimate.value, len(shared)),
        minimum_detectable=_minimum_detectable(error, degrees),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for several comparisons, in the order given."""
    return [float(p) for p in multipletests(p_values, method="holm")[1]] if p_values else []


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Problem means of both tutors on the problems that they share."""

    keys: Sequence[Hashable]
    first: Floats
    second: Floats

    @classmethod
    def of(cls, first: Values, second: Values) -> _Pairs | None:
        shared = _shared(first, second)
        if len(shared) < 2:
            return None
        means = [np.array([fmean(values[key]) for key in shared]) for values in (first, second)]
        return cls(shared, *means)

    @property
    def mean(self) -> float:
        return float((self.second - self.first).mean())

    @property
    def error(self) -> float:
        return float((self.second - self.first).std(ddof=1) / math.sqrt(len(self.keys)))

    @property
    def degrees(self) -> int:
        return len(self.keys) - 1

    @property
    def correlation(self) -> float:
        if self.first.std() == 0 or self.second.std() == 0:
            return 0.0
        return float(np.corrcoef(self.first, self.second)[0, 1])

    def estimate(self, value: float, low: float, high: float) -> Estimate:
        number = len(self.keys)
        return Estimate(value=value, low=low, high=high, num_values=number, num_clusters=number)

    def bootstrap(self) -> Estimate:
        gaps = (self.second - self.first).tolist()
        resampled = resample({"gap": gaps}, range(len(gaps)), lambda means: means["gap"])
        if resampled is None:
            raise ValueError("no problem in common")
        return resampled[0]


def _shared(first: Values, second: Values) -> list[Hashable]:
    return [key for key in first if key in second and len(first[key]) and len(second[key])]


def _rate_of(values: Values, keys: Sequence[Hashable]) -> Estimate:
    hits = [(bool(value), key) for key in keys for value in values[key]]
    estimate = clustered_rate([hit for hit, _ in hits], [key for _, key in hits])
    if estimate is None:
        raise ValueError("no problem in common")
    return estimate


def _low(estimate: Estimate) -> float:
    return estimate.value if estimate.low is None else estimate.low


def _high(estimate: Estimate) -> float:
    return estimate.value if estimate.high is None else estimate.high


def _reach(own: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, own**2 - 2 * correlation * own * other + other**2))


def _p_value(mean: float, error: float, pairs: _Pairs) -> float:
    if error > 0:
        return float(2 * stats.t.sf(abs(mean) / error, pairs.degrees))
    return _sign_flip_p_value(mean, len(pairs.keys))


def _sign_flip_p_value(gap: float, number: int) -> float:
    """Exact where every problem shows the same gap: the chance that all signs agree."""
    return 1.0 if gap == 0 else 2.0 ** (1 - number)


def _minimum_detectable(error: float, degrees: int) -> float | None:
    return (t_quantile(degrees) + float(stats.t.ppf(_POWER, degrees))) * error if error > 0 else None
