"""Intervals of one tutor's figures: textbook values and clusters. Their coverage: test_coverage.py."""

import math

import numpy as np
import pytest
from scipy import stats

from eduardo.evaluation.statistics import (
    cluster_bootstrap,
    clustered_mean,
    clustered_rate,
)


class TestClusteredMean:
    def test_equals_the_t_interval_when_every_value_is_its_own_cluster(self) -> None:
        values = [0.1, 0.4, 0.35, 0.8, -0.2]
        estimate = clustered_mean(values, range(5))
        low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
        assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))

    def test_repeating_every_value_within_its_cluster_adds_no_certainty(self) -> None:
        values = [0.1, 0.4, 0.35, 0.8, -0.2]
        once = clustered_mean(values, range(5))
        fourfold = clustered_mean(values * 4, list(range(5)) * 4)
        assert (fourfold.low, fourfold.high) == (pytest.approx(once.low), pytest.approx(once.high))

    def test_one_cluster_has_a_mean_but_no_interval_and_no_values_have_neither(self) -> None:
        assert clustered_mean([1.0, 2.0], ["a", "a"]).low is None
        assert clustered_mean([], []) is None

    def test_refuses_unmeasured_values(self) -> None:
        with pytest.raises(ValueError, match="unmeasured"):
            clustered_mean([0.1, math.nan], ["a", "b"])


class TestClusteredRate:
    def test_no_leak_in_494_is_not_zero_percent(self) -> None:
        estimate = clustered_rate([False] * 494, range(494))
        assert estimate.value == 0.0
        assert estimate.high == pytest.approx(0.0077, abs=2e-4)

    def test_matches_wilson_for_independent_values(self) -> None:
        estimate = clustered_rate([True] * 30 + [False] * 70, range(100))
        assert (estimate.low, estimate.high) == (
            pytest.approx(0.2189, abs=2e-3),
            pytest.approx(0.3958, abs=2e-3),
        )

    def test_identical_dialogues_of_one_problem_count_once(self) -> None:
        alone = clustered_rate([True] * 3 + [False] * 7, range(10))
        fivefold = clustered_rate(([True] * 3 + [False] * 7) * 5, list(range(10)) * 5)
        assert (fivefold.low, fivefold.high) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_bootstrap_of_a_mean_agrees_with_its_interval() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.3, 0.2, 200).tolist()
    boot = cluster_bootstrap({"y": values}, range(200), lambda means: means["y"])
    exact = clustered_mean(values, range(200))
    assert boot.value == pytest.approx(exact.value)
    assert (boot.low, boot.high) == (pytest.approx(exact.low, abs=0.01), pytest.approx(exact.high, abs=0.01))
