"""Means, rates and other statistics with intervals that respect clusters (several dialogues about one problem).

Sources: clustered standard errors for evaluations, arXiv 2411.00640; Wilson's interval, Wilson 1927; cluster bootstrap,
Field and Welsh 2007.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

LEVEL = 0.95
_NUM_RESAMPLES = 4000
_BOOTSTRAP_SEED = 0  # the same numbers give the same interval

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Mapping[str, Floats]], Floats]
"""Means of named columns, one entry per (re)sample → one value per (re)sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its interval. All are NaN-free; `low` and `high` are None where one cluster leaves no interval."""

    value: float
    low: float | None
    high: float | None
    num_values: int
    num_clusters: int

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> Estimate | None:
    """Mean with a cluster-robust t interval (Liang-Zeger with the G/(G-1) correction). None without values."""
    if not values:
        return None
    y, groups = _columns(values, clusters)
    mean = float(y.mean())
    num_clusters = int(groups.max()) + 1
    if num_clusters < 2:
        return Estimate(value=mean, low=None, high=None, num_values=len(y), num_clusters=num_clusters)
    sums = np.bincount(groups, weights=y - mean)
    error = math.sqrt(float(sums @ sums) * num_clusters / (num_clusters - 1)) / len(y)
    half = t_quantile(num_clusters - 1) * error
    return Estimate(
        value=mean, low=mean - half, high=mean + half, num_values=len(y), num_clusters=num_clusters
    )


def clustered_rate(hits: Sequence[bool], clusters: Sequence[Hashable]) -> Estimate | None:
    """Share of hits with Wilson's interval at the effective sample size, so that 0 hits is not 0 %. None if empty.

    The design effect (clustered variance over binomial variance, at least 1) shrinks the sample size; where all
    values agree it cannot be estimated and the number of clusters is used.
    """
    if not hits:
        return None
    y, groups = _columns([float(h) for h in hits], clusters)
    n, num_clusters, share = len(y), int(groups.max()) + 1, float(y.mean())
    effective = float(num_clusters)
    if 0.0 < share < 1.0 and num_clusters > 1:
        sums = np.bincount(groups, weights=y - share)
        clustered = float(sums @ sums) * num_clusters / (num_clusters - 1) / n**2
        effective = min(float(n), share * (1 - share) / clustered) if clustered > 0 else float(n)
    low, high = proportion_confint(share * effective, effective, alpha=1 - LEVEL, method="wilson")
    return Estimate(value=share, low=float(low), high=float(high), num_values=n, num_clusters=num_clusters)


def rate(hits: Sequence[bool]) -> Estimate | None:
    """Share of independent hits with Wilson's interval, so that 0 hits is not 0 %. None if empty."""
    if not hits:
        return None
    low, high = proportion_confint(sum(hits), len(hits), alpha=1 - LEVEL, method="wilson")
    return Estimate(
        value=sum(hits) / len(hits),
        low=float(low),
        high=float(high),
        num_values=len(hits),
        num_clusters=len(hits),
    )


def cluster_bootstrap(
    columns: Mapping[str, Sequence[float]], clusters: Sequence[Hashable], statistic: Statistic
) -> Estimate | None:
    """Percentile interval of a statistic of several columns, resampling whole clusters. None without values."""
    resampled = resample(columns, clusters, statistic)
    return None if resampled is None else resampled[0]


def resample(
    columns: Mapping[str, Sequence[float]], clusters: Sequence[Hashable], statistic: Statistic
) -> tuple[Estimate, float] | None:
    """`cluster_bootstrap` with its standard error beside it; the error is 0 where one cluster leaves no interval."""
    names = list(columns)
    if not names or not len(columns[names[0]]):
        return None
    groups = _columns(columns[names[0]], clusters)[1]
    stacked = np.array([_columns(columns[name], clusters)[0] for name in names])
    num_values, num_clusters = stacked.shape[1], int(groups.max()) + 1
    value = float(statistic({name: stacked[i].mean(keepdims=True) for i, name in enumerate(names)})[0])
    if num_clusters < 2:
        alone = Estimate(value=value, low=None, high=None, num_values=num_values, num_clusters=num_clusters)
        return alone, 0.0
    sums = np.array([np.bincount(groups, weights=row) for row in stacked])
    weights = _resampling_weights(num_clusters)
    means = (weights @ sums.T) / (weights @ np.bincount(groups))[:, None]
    draws = statistic({name: means[:, i] for i, name in enumerate(names)})
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    estimate = Estimate(
        value=value, low=float(low), high=float(high), num_values=num_values, num_clusters=num_clusters
    )
    return estimate, float(draws.std(ddof=1))


@lru_cache(maxsize=64)
def t_quantile(degrees: int) -> float:
    """Two-sided at `LEVEL`."""
    return float(stats.t.ppf((1 + LEVEL) / 2, degrees))


@lru_cache(maxsize=8)
def _resampling_weights(num_clusters: int) -> Floats:
    """How often each cluster is drawn: one row per resample."""
    rng = np.random.default_rng(_BOOTSTRAP_SEED)
    shares = np.full(num_clusters, 1 / num_clusters)
    return rng.multinomial(num_clusters, shares, size=_NUM_RESAMPLES).astype(np.float64)


def _columns(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[Floats, npt.NDArray[np.int64]]:
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values but {len(clusters)} cluster labels")
    y = np.asarray(values, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("a value is not finite: unmeasured values must be left out, not averaged")
    index = {label: i for i, label in enumerate(dict.fromkeys(clusters))}
    return y, np.array([index[label] for label in clusters], dtype=np.int64)
