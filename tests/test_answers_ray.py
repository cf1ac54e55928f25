"""Grading inside a Ray actor, where signals and `multiprocessing` children are not to be had."""

from __future__ import annotations

import pytest

from eduardo.answers import Grader
from eduardo.settings import GraderSettings
from eduardo.types import Grade, Outcome

SETTINGS = GraderSettings(timeout_s=1.0, num_workers=1, cache_size=100, max_answer_chars=1000)
PAIRS = (
    (r"\frac{1}{2}", r"\boxed{0.5}", Outcome.RIGHT),
    (r"\dfrac{3}{4}", r"\boxed{\frac{3}{4}}", Outcome.RIGHT),
    ("(1,2)", r"\boxed{(1, 2)}", Outcome.RIGHT),
    (r"\sqrt{8}", r"\boxed{2\sqrt2}", Outcome.RIGHT),
    (r"\sqrt{8}", r"\boxed{2\sqrt3}", Outcome.WRONG),
    (r"\sum_{k=1}^{3} k", r"\boxed{6}", Outcome.RIGHT),
    (r"\sum_{k=1}^{3} k", r"\boxed{\sum_{k=1}^{9999}\frac{1}{k^k}}", Outcome.WRONG),
)


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_grades_are_the_same_in_a_ray_actor() -> None:
    ray = pytest.importorskip("ray")

    class GradingActor:  # in here, so that it travels by value: Ray's workers cannot import this file
        """Grades blocking, and on the event loop as a rollout worker does."""

        def __init__(self, grader: Grader) -> None:
            self._grader = grader

        async def grade_async(self) -> list[Grade]:
            return [(await self._grader.grade_many_async(key, [attempt]))[0] for key, attempt, _ in PAIRS]

        async def grade(self) -> list[Grade]:
            return [self._grader.grade_many(key, [attempt])[0] for key, attempt, _ in PAIRS]

        async def close(self) -> None:
            self._grader.close()

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, address="local")
    try:
        actor = ray.remote(GradingActor).remote(Grader(SETTINGS))
        for grades in (ray.get(actor.grade_async.remote()), ray.get(actor.grade.remote())):
            assert [grade.outcome for grade in grades] == [outcome for *_, outcome in PAIRS]
            assert [grade.timed_out for grade in grades] == [False] * 6 + [True]
        ray.get(actor.close.remote())
    finally:
        ray.shutdown()
