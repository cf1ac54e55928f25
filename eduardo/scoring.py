"""One scorer for training and evaluation: verdicts, post-test and reward of a finished dialogue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from eduardo.answers import Grader
from eduardo.errors import EndpointUnavailable
from eduardo.leak_detector import find_leaks
from eduardo.posttest import Solver, run_post_test
from eduardo.reward import compute_reward
from eduardo.seeds import derive_seed
from eduardo.settings import RecipeSettings
from eduardo.types import Decision, PostTest, ScoredDialogue, TestItem, Transcript, TransferPair, Verdict

Labels = Mapping[str, str | int | float | bool | None]


class VerdictGiver(Protocol):
    """Who judges: `eduardo.judge.Judge` in practice."""

    async def judge(self, transcript: Transcript, *, seed: int) -> tuple[Verdict, ...]: ...


class _NotMeasured(Exception):
    """The reward cannot be known; the text says why."""


def choose_item(pair: TransferPair, item: str) -> TestItem:
    """The post-test problem: the variant when asked for and there is one, else the source problem."""
    return pair.variant if item == "transfer" and pair.variant is not None else pair.source


async def score_dialogue(
    pair: TransferPair,
    transcript: Transcript,
    *,
    student: Solver,
    judge: VerdictGiver,
    grader: Grader,
    recipe: RecipeSettings,
    seed: int,
    labels: Labels | None = None,
) -> ScoredDialogue:
    """Measure a finished dialogue. What could not be measured makes it void, never a number.

    Under the hard gate a rejected dialogue gets no post-test. With the gate off the judge is only logged, so a
    missing verdict does not void the dialogue. Raises EndpointRejected when an endpoint refuses for good.
    """
    measured = _Measurement(pair, transcript, recipe, student, judge, grader, seed)
    reason: str | None = None
    try:
        await measured.run()
    except _NotMeasured as error:
        reason = str(error)
    return ScoredDialogue(
        pair_id=pair.id,
        transcript=transcript,
        verdicts=measured.verdicts,
        post_test=measured.post_test,
        reward=None
        if reason
        else compute_reward(
            transcript,
            measured.verdicts,
            measured.post_test,
            recipe.reward,
            detector_rejects=measured.detector_rejects,
        ),
        void_reason=reason,
        detector=measured.leaks,
        labels=dict(labels or {}),
    )


class _Measurement:
    """What is known so far about one dialogue, so that a void keeps what was measured before it."""

    def __init__(
        self,
        pair: TransferPair,
        transcript: Transcript,
        recipe: RecipeSettings,
        student: Solver,
        judge: VerdictGiver,
        grader: Grader,
        seed: int,
    ) -> None:
        self._transcript, self._recipe, self._seed = transcript, recipe, seed
        self._student, self._judge, self._grader = student, judge, grader
        self._item = choose_item(pair, recipe.post_test.item)
        self.leaks = find_leaks(transcript)
        self.detector_rejects = bool(recipe.judge.detector_gate and self.leaks)
        self.verdicts: tuple[Verdict, ...] = ()
        self.post_test: PostTest | None = None

    async def run(self) -> None:
        end_reason = self._transcript.end_reason
        if end_reason is None or end_reason.is_failure:
            raise _NotMeasured(
                f"{end_reason or 'unfinished dialogue'}: {self._transcript.error or 'no detail'}"
            )
        if self._item.baseline is None:
            raise _NotMeasured(f"the {self._item.kind} problem has no cold solve rate")
        if self._recipe.reward.gate == "hard":
            await self._ask_judge()
            if not self.rejected:
                await self._pose_post_test()
            return
        judged, posed = await asyncio.gather(
            self._ask_judge(), self._pose_post_test(), return_exceptions=True
        )
        for result in (judged, posed):
            if isinstance(result, BaseException):
                raise result

    @property
    def rejected(self) -> bool:
        return self.detector_rejects or any(v.decision is Decision.REJECT for v in self.verdicts)

    async def _ask_judge(self) -> None:
        gate_is_off = self._recipe.reward.gate == "off"
        try:
            self.verdicts = await self._judge.judge(self._transcript, seed=derive_seed(self._seed, "judge"))
        except EndpointUnavailable as error:
            if not gate_is_off:
                raise _NotMeasured(f"judge: {error}") from error
        undecided = [v.criterion for v in self.verdicts if v.decision is None]
        if undecided and not gate_is_off:
            raise _NotMeasured(f"judge: too few valid votes on {', '.join(undecided)}")

    async def _pose_post_test(self) -> None:
        settings = self._recipe.post_test
        self.post_test = await run_post_test(
            self._transcript,
            self._item,
            student=self._student,
            grader=self._grader,
            settings=settings,
            seed=derive_seed(self._seed, "post-test"),
        )
        if self.post_test.num_graded < settings.min_graded:
            faults = {a.fault for a in self.post_test.attempts if a.fault}
            raise _NotMeasured(
                f"post-test: {self.post_test.num_graded} of {settings.attempts} attempts graded, "
                f"{settings.min_graded} needed ({'; '.join(sorted(faults)) or 'the answer key is ungradable'})"
            )
