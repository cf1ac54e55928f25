"""Means, rates and differences with intervals that respect clusters (several dialogues about one problem).

Sources: clustered standard errors and paired comparisons for evaluations, arXiv 2411.00640; Wilson's interval,
Wilson 1927; step-down correction, Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

LEVEL = 0.95
_POWER = 0.8

Floats = npt.NDArray[np.float64]


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
    half = float(stats.t.ppf((1 + LEVEL) / 2, num_clusters - 1)) * error
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
    columns: Mapping[str, Sequence[float]],
    clusters: Sequence[Hashable],
    statistic: Callable[[Mapping[str, Floats]], float],
    *,
    num_resamples: int = 2000,
    seed: int = 0,
) -> Estimate | None:
    """Percentile interval of a statistic of several columns, resampling whole clusters. None without values.

    `statistic` gets each column's mean over the (re)sample, as arrays over resamples.
    """
    names = list(columns)
    if not names or not len(columns[names[0]]):
        return None
    stacked = np.array([columns[name] for name in names], dtype=np.float64)
    groups = _columns(columns[names[0]], clusters)[1]
    num_clusters = int(groups.max()) + 1
    sums = np.array([np.bincount(groups, weights=row) for row in stacked])
    sizes = np.bincount(groups)
    value = float(statistic({name: stacked[i].mean(keepdims=True) for i, name in enumerate(names)}))
    if num_clusters < 2:
        return Estimate(
            value=value, low=None, high=None, num_values=stacked.shape[1], num_clusters=num_clusters
        )
    rng = np.random.default_rng(seed)
    draws = np.empty(num_resamples)
    for i in range(num_resamples):
        picked = rng.integers(num_clusters, size=num_clusters)
        means = sums[:, picked].sum(axis=1) / sizes[picked].sum()
        draws[i] = statistic({name: means[j : j + 1] for j, name in enumerate(names)})
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(
        value=value,
        low=float(low),
        high=float(high),
        num_values=stacked.shape[1],
        num_clusters=num_clusters,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Paired difference (second minus first) over the problems that both were measured on."""

    estimate: Estimate
    p_value: float
    minimum_detectable: float  # smallest true difference found with 80 % power at this size and noise


def paired_difference(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]
) -> Difference | None:
    """Compare two tutors problem by problem. Keys are clusters (problems); None with fewer than two in common."""
    shared = [key for key in first if key in second and len(first[key]) and len(second[key])]
    if len(shared) < 2:
        return None
    gaps = np.array([np.mean(second[key]) - np.mean(first[key]) for key in shared])
    mean, error = float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    dof = len(gaps) - 1
    half = float(stats.t.ppf((1 + LEVEL) / 2, dof)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, dof)) if error > 0 else float(mean == 0.0)
    estimate = Estimate(
        value=mean, low=mean - half, high=mean + half, num_values=len(shared), num_clusters=len(shared)
    )
    needed = float(stats.t.ppf((1 + LEVEL) / 2, dof) + stats.t.ppf(_POWER, dof)) * error
    return Difference(estimate=estimate, p_value=p_value, minimum_detectable=needed)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for several comparisons, in the order given."""
    return [float(p) for p in multipletests(p_values, method="holm")[1]] if p_values else []


def _columns(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[Floats, npt.NDArray[np.int64]]:
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values but {len(clusters)} cluster labels")
    y = np.asarray(values, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("a value is not finite: unmeasured values must be left out, not averaged")
    index = {label: i for i, label in enumerate(dict.fromkeys(clusters))}
    return y, np.array([index[label] for label in clusters], dtype=np.int64)
