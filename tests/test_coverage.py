"""Do 95 % intervals cover? 1,000 simulated evaluations with known true gains, clustered ones included.

Simulated as the environment test measures: a problem has a true cold rate, of which 16 samples were graded once; a
dialogue moves the chance of the post-test, of which 16 attempts are graded; dialogues about one problem are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from eduardo.evaluation.figures import gain_of_means
from eduardo.evaluation.paired import paired_difference, paired_rate_difference, paired_statistic_difference
from eduardo.evaluation.statistics import cluster_bootstrap, clustered_mean, clustered_rate

NUM_EVALUATIONS = 1000
NUM_PROBLEMS = 100
NUM_ATTEMPTS = 16
EXPECTED = (930, 970)

Floats = npt.NDArray[np.float64]


@dataclass
class Evaluation:
    """Measured rates, problems × samples, and the true post-test chances behind them."""

    pre: Floats
    post: Floats
    chance: Floats

    @property
    def gains(self) -> Floats:
        return gain_of_means({"pre": self.pre, "post": self.post})

    @property
    def clusters(self) -> list[int]:
        return np.repeat(np.arange(len(self.pre)), self.pre.shape[1]).tolist()


class World:
    """Problems and tutors with known effects. `skill`: mean share of the gap that a dialogue closes."""

    def __init__(self, seed: int, num_samples: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.num_samples = num_samples

    def problems(self, number: int = NUM_PROBLEMS) -> tuple[Floats, Floats, Floats]:
        """(true cold rate, measured cold rate, how well the problem suits tutoring), each problems × 1."""
        cold = self.rng.beta(2, 4, (number, 1))
        return (
            cold,
            self.rng.binomial(NUM_ATTEMPTS, cold) / NUM_ATTEMPTS,
            self.rng.normal(0, 0.15, (number, 1)),
        )

    def evaluate(self, problems: tuple[Floats, Floats, Floats], skill: float) -> Evaluation:
        cold, measured, suits = problems
        closed = skill + suits + self.rng.normal(0, 0.15, (len(cold), self.num_samples))
        chance = cold + (1 - cold) * np.clip(closed, 0, 1)
        post = self.rng.binomial(NUM_ATTEMPTS, chance) / NUM_ATTEMPTS
        return Evaluation(pre=np.broadcast_to(measured, post.shape), post=post, chance=chance)


def slow(test):
    """Thousands of bootstraps: about 10 s of CPU each."""
    return pytest.mark.slow(pytest.mark.timeout(600)(test))


def by_problem(values: Floats) -> dict[int, list[float]]:
    return dict(enumerate(values.tolist()))


def covered(estimates, truth: float) -> int:
    return sum(one.low <= truth <= one.high for one in estimates)


@pytest.fixture(scope="module", params=[1, 4], ids=["one dialogue a problem", "four dialogues a problem"])
def world(request) -> World:
    return World(0, request.param)


@pytest.fixture(scope="module")
def truth(world) -> tuple[Evaluation, Evaluation]:
    """Both tutors on so many problems that nothing is left to chance."""
    problems = world.problems(400_000)
    return world.evaluate(problems, 0.3), world.evaluate(problems, 0.5)


@pytest.fixture(scope="module")
def evaluations(world) -> list[tuple[Evaluation, Evaluation]]:
    drawn = [world.problems() for _ in range(NUM_EVALUATIONS)]
    return [(world.evaluate(problems, 0.3), world.evaluate(problems, 0.5)) for problems in drawn]


def test_mean_of_gains(evaluations, truth) -> None:
    estimates = [clustered_mean(one.gains.ravel().tolist(), one.clusters) for one, _ in evaluations]
    assert EXPECTED[0] <= covered(estimates, float(truth[0].gains.mean())) <= EXPECTED[1]


@slow
def test_gain_of_means(evaluations, truth) -> None:
    estimates = [
        cluster_bootstrap({"pre": one.pre.ravel(), "post": one.post.ravel()}, one.clusters, gain_of_means)
        for one, _ in evaluations
    ]
    assert EXPECTED[0] <= covered(estimates, overall_gain(truth[0])) <= EXPECTED[1]


@slow
def test_paired_difference_of_gains_and_its_bootstrap(evaluations, truth) -> None:
    differences = [
        paired_difference(by_problem(one.gains), by_problem(other.gains)) for one, other in evaluations
    ]
    true_difference = float(truth[1].gains.mean() - truth[0].gains.mean())
    for estimates in ([d.estimate for d in differences], [d.bootstrap for d in differences]):
        assert EXPECTED[0] <= covered(estimates, true_difference) <= EXPECTED[1]


@slow
def test_paired_difference_of_gains_of_means(evaluations, truth) -> None:
    differences = [
        paired_statistic_difference(rates(one), rates(other), gain_of_means) for one, other in evaluations
    ]
    true_difference = overall_gain(truth[1]) - overall_gain(truth[0])
    assert EXPECTED[0] <= covered([d.estimate for d in differences], true_difference) <= EXPECTED[1]


@slow
def test_leak_rate_and_its_paired_difference(world) -> None:
    """Counts are whole: of 100 independent dialogues Wilson's interval covers a rate of 20 % in 94.1 %, not 95 %."""
    world = World(1, world.num_samples)  # its own chance, whatever ran before
    before, gaps = [], []
    for _ in range(NUM_EVALUATIONS):
        prone = world.rng.beta(2, 8, (NUM_PROBLEMS, 1))  # how easily a problem is given away: 20 % on average
        one, other = (
            world.rng.random((NUM_PROBLEMS, world.num_samples)) < share * prone for share in (1, 0.5)
        )
        clusters = np.repeat(np.arange(NUM_PROBLEMS), world.num_samples).tolist()
        before.append(clustered_rate(one.ravel().tolist(), clusters))
        gaps.append(paired_rate_difference(by_problem(1.0 * one), by_problem(1.0 * other)).estimate)
    assert EXPECTED[0] <= covered(before, 0.2) <= EXPECTED[1]
    assert EXPECTED[0] <= covered(gaps, -0.1) <= EXPECTED[1]


@pytest.mark.parametrize("world", [4], ids=["four dialogues a problem"], indirect=True)
def test_ignoring_clusters_would_not_cover(evaluations, truth) -> None:
    """The check can fail: treated as independent, four dialogues a problem pass for four times the evidence."""
    independent = [
        clustered_mean(one.gains.ravel().tolist(), range(one.gains.size)) for one, _ in evaluations
    ]
    assert covered(independent, float(truth[0].gains.mean())) < 900


@slow
def test_no_true_difference_is_found_in_five_percent(world) -> None:
    world = World(1, world.num_samples)
    p_values = []
    for _ in range(NUM_EVALUATIONS):
        problems = world.problems()
        one, other = world.evaluate(problems, 0.4), world.evaluate(problems, 0.4)
        p_values.append(paired_difference(by_problem(one.gains), by_problem(other.gains)).p_value)
    assert 30 <= sum(p < 0.05 for p in p_values) <= 70


def overall_gain(evaluation: Evaluation) -> float:
    means = {"pre": evaluation.pre.mean(keepdims=True), "post": evaluation.chance.mean(keepdims=True)}
    return float(gain_of_means(means).item())


def rates(evaluation: Evaluation) -> dict[str, dict[int, list[float]]]:
    return {"pre": by_problem(evaluation.pre), "post": by_problem(evaluation.post)}
