"""Differences between two tutors: pairing, rates at the edge, power, several comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from eduardo.evaluation.figures import gain_of_means
from eduardo.evaluation.paired import (
    holm,
    paired_difference,
    paired_rate_difference,
    paired_statistic_difference,
)


def by_number(values):
    return {i: [value] for i, value in enumerate(values)}


class TestMeans:
    def test_pairing_removes_the_spread_between_problems(self) -> None:
        first = by_number([i / 10 for i in range(10)])
        second = by_number([i / 10 + 0.05 + 0.001 * (i % 2) for i in range(10)])
        difference = paired_difference(first, second)
        assert difference.estimate.value == pytest.approx(0.0505)
        assert difference.p_value < 1e-6
        assert 0 < difference.minimum_detectable < 0.01

    def test_interval_and_p_value_are_those_of_the_paired_t_test(self) -> None:
        rng = np.random.default_rng(0)
        first, second = rng.normal(0, 1, 30), rng.normal(0.3, 1, 30)
        difference = paired_difference(by_number(first), by_number(second))
        reference = stats.ttest_rel(second, first)
        low, high = reference.confidence_interval(0.95)
        assert difference.p_value == pytest.approx(reference.pvalue)
        assert (difference.estimate.low, difference.estimate.high) == pytest.approx((low, high))

    def test_the_bootstrap_agrees(self) -> None:
        rng = np.random.default_rng(0)
        gaps = rng.normal(0.1, 0.5, 200)
        difference = paired_difference(by_number(np.zeros(200)), by_number(gaps))
        assert difference.bootstrap.low == pytest.approx(difference.estimate.low, abs=0.01)
        assert difference.bootstrap.high == pytest.approx(difference.estimate.high, abs=0.01)

    def test_several_dialogues_about_a_problem_count_as_their_mean(self) -> None:
        first, second = {1: [0.0, 0.2], 2: [0.4]}, {1: [0.3], 2: [0.4, 0.6]}
        assert paired_difference(first, second).estimate.value == pytest.approx((0.2 + 0.1) / 2)

    def test_only_problems_measured_for_both_take_part(self) -> None:
        difference = paired_difference({1: [0.0], 2: [0.2], 3: [0.9]}, {1: [0.1], 2: [0.4], 4: [0.0]})
        assert difference.estimate.num_clusters == 2
        assert paired_difference({1: [0.0]}, {2: [0.0]}) is None

    def test_the_same_gap_everywhere_is_as_surprising_as_agreeing_signs(self) -> None:
        difference = paired_difference(by_number([0.0] * 10), by_number([0.5] * 10))
        assert difference.p_value == pytest.approx(2 * 0.5**10)
        assert difference.minimum_detectable is None
        assert paired_difference(by_number([0.5] * 10), by_number([0.5] * 10)).p_value == 1.0


class TestRates:
    def test_from_never_to_always_is_not_certain(self) -> None:
        difference = paired_rate_difference(by_number([0.0] * 50), by_number([1.0] * 50))
        assert difference.estimate.value == 1.0
        assert difference.estimate.high == 1.0
        assert 0.85 < difference.estimate.low < 0.95
        assert difference.p_value < 1e-10

    def test_nothing_seen_in_either_leaves_room_for_a_difference(self) -> None:
        difference = paired_rate_difference(by_number([0.0] * 50), by_number([0.0] * 50))
        assert difference.estimate.value == 0.0
        assert difference.estimate.high == pytest.approx(-difference.estimate.low)
        assert 0.05 < difference.estimate.high < 0.1

    def test_matches_the_published_example_of_newcombe(self) -> None:
        """Newcombe 1998, paired case (b): of 50 pairs 36 both, 12 and 2 discordant: 0.20 [0.0569, 0.3404].

        His method 10 shrinks the correlation a little further, so that the ends agree to about 0.01.
        """
        second = [1.0] * 36 + [1.0] * 12 + [0.0] * 2
        first = [1.0] * 36 + [0.0] * 12 + [1.0] * 2
        difference = paired_rate_difference(by_number(first), by_number(second))
        assert difference.estimate.value == pytest.approx(0.2)
        assert difference.estimate.low == pytest.approx(0.0569, abs=0.015)
        assert difference.estimate.high == pytest.approx(0.3404, abs=0.015)


class TestGainsOfMeans:
    def test_the_difference_is_that_of_the_two_gains(self) -> None:
        rng = np.random.default_rng(0)
        pre = rng.uniform(0, 0.5, 40)
        rates = [{"pre": by_number(pre), "post": by_number(pre + move * (1 - pre))} for move in (0.2, 0.5)]
        difference = paired_statistic_difference(*rates, gain_of_means)
        assert difference.estimate.value == pytest.approx(0.3)
        assert difference.estimate.low <= 0.3 <= difference.estimate.high
        assert difference.p_value < 1e-6


def test_holm_steps_down() -> None:
    assert holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([]) == []
