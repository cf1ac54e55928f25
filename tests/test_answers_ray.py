"""Grading inside a Ray actor, where signals and `multiprocessing` children are not to be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eduardo.answers import Grader
from eduardo.settings import GraderSettings
from eduardo.types import Grade, Outcome

SETTINGS = GraderSettings(timeout_s=10.0, num_workers=1, cache_size=100, max_answer_chars=1000)
RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("data").joinpath("grading.jsonl").read_text().splitlines()
]
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
@pytest.mark.timeout(300)
def test_grades_are_the_same_in_a_ray_actor() -> None:
    ray = pytest.importorskip("ray")

    class GradingActor:  # in here, so that it travels by value: Ray's workers cannot import this file
        """Grades blocking, and on the event loop as a rollout worker does."""

        def __init__(self, grader: Grader) -> None:
            self._grader = grader

        async def grade_async(self, pairs: list[tuple[str, str]]) -> list[Grade]:
            return [(await self._grader.grade_many_async(key, [attempt]))[0] for key, attempt in pairs]

        async def grade(self, pairs: list[tuple[str, str]]) -> list[Grade]:
            return [self._grader.grade_many(key, [attempt])[0] for key, attempt in pairs]

        async def close(self) -> None:
            self._grader.close()

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, address="local")
    try:
        actor = ray.remote(GradingActor).remote(Grader(SETTINGS))
        recorded = [(row["answer_key"], row["attempt"]) for row in RECORDED]
        pairs = [(key, attempt) for key, attempt, _ in PAIRS]
        for ask in (actor.grade_async.remote, actor.grade.remote):
            right = [grade.outcome is Outcome.RIGHT for grade in ray.get(ask(recorded))]
            assert right == [row["correct"] for row in RECORDED]
            grades = ray.get(ask(pairs))
            assert [grade.outcome for grade in grades] == [outcome for *_, outcome in PAIRS]
            assert grades[-1].timed_out
        ray.get(actor.close.remote())
    finally:
        ray.shutdown()
