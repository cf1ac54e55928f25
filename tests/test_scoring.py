"""The scorer: gates before the post-test, voids instead of numbers, attempts collected and counted honestly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from eduardo.answers import Grader
from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.llm import Completion
from eduardo.posttest import measure_solve_rate
from eduardo.scoring import choose_item, score_dialogue
from eduardo.settings import GraderSettings, RecipeSettings
from eduardo.types import (
    Criterion,
    Decision,
    EndReason,
    FinishReason,
    ItemKind,
    Problem,
    ScoredDialogue,
    SolveRate,
    Speaker,
    TestItem,
    Transcript,
    TransferPair,
    Turn,
    TurnTokens,
    Verdict,
)

PAPER = yaml.safe_load((Path(__file__).parents[1] / "configs" / "recipe" / "paper.yaml").read_text())
SOURCE = TestItem(
    problem=Problem(text="2 + 2?", answer="4"), baseline=SolveRate(value=0.5), kind=ItemKind.SOURCE
)
VARIANT = TestItem(
    problem=Problem(text="3 + 4?", answer="7"), baseline=SolveRate(value=0.25), kind=ItemKind.TRANSFER
)
PAIR = TransferPair(id="p1", source=SOURCE, variant=VARIANT)
RIGHT, WRONG = "so \\boxed{7}", "so \\boxed{8}"


def recipe(**changes: object) -> RecipeSettings:
    """The paper recipe with dotted leaves changed, e.g. `reward__gate="off"`."""
    values = {section: dict(leaves) for section, leaves in PAPER.items()}
    for key, value in changes.items():
        section, leaf = key.split("__")
        values[section][leaf] = value
    return RecipeSettings.model_validate(values)


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    settings = GraderSettings(timeout_s=3.0, num_workers=1, cache_size=100, max_answer_chars=2000)
    with Grader(settings) as grader:
        yield grader


class ScriptedSolver:
    """Answers test requests from a script: one list of texts (or an error) per request."""

    def __init__(self, *requests: list[str] | Exception) -> None:
        self._requests = list(requests)
        self.asked: list[int] = []

    async def attempt(self, messages, *, n, max_tokens, temperature, seed) -> tuple[Completion, ...]:
        self.asked.append(n)
        request = self._requests.pop(0) if self._requests else EndpointUnavailable("student is down")
        if isinstance(request, Exception):
            raise request
        return tuple(
            Completion(text=t, finish=FinishReason.STOP, reasoning=None, num_tokens=None) for t in request
        )


class ScriptedJudge:
    def __init__(self, *decisions: Decision | Exception | None) -> None:
        self._decisions = decisions

    async def judge(self, transcript: Transcript, *, seed: int) -> tuple[Verdict, ...]:
        if isinstance(self._decisions[0], Exception):
            raise self._decisions[0]
        criteria = (Criterion.NO_HANDOVER, Criterion.FACTUAL)
        return tuple(
            Verdict(criterion=c, decision=d, votes=()) for c, d in zip(criteria, self._decisions, strict=True)
        )


ACCEPTS = ScriptedJudge(Decision.ACCEPT, Decision.ACCEPT)
REJECTS = ScriptedJudge(Decision.REJECT, Decision.ACCEPT)


def dialogue(end: EndReason | None = EndReason.TUTOR_ENDED, error: str | None = None) -> Transcript:
    turns = (
        Turn(speaker=Speaker.STUDENT, text="I need help with 2 + 2?"),
        Turn(speaker=Speaker.TUTOR, text="What have you tried?", tokens=TurnTokens(visible=4)),
        Turn(speaker=Speaker.STUDENT, text="I counted."),
    )
    return Transcript(problem=SOURCE.problem, turns=turns, end_reason=end, error=error)


@pytest.fixture
def score(grader: Grader):
    async def run(solver=None, judge=ACCEPTS, *, transcript=None, pair=PAIR, **changes) -> ScoredDialogue:
        return await score_dialogue(
            pair,
            transcript or dialogue(),
            student=solver or ScriptedSolver([RIGHT] * 16),
            judge=judge,
            grader=grader,
            recipe=recipe(**changes),
            seed=7,
        )

    return run


class TestReward:
    async def test_sixteen_attempts_are_one_request_and_their_share_is_the_post_rate(self, score) -> None:
        solver = ScriptedSolver([RIGHT] * 12 + [WRONG] * 4)
        scored = await score(solver)
        assert solver.asked == [16]
        assert scored.reward.post == 0.75
        assert scored.reward.total == pytest.approx((0.75 - 0.25) / 0.75, abs=1e-9)

    async def test_a_rejected_dialogue_takes_no_post_test_under_the_hard_gate(self, score) -> None:
        solver = ScriptedSolver([RIGHT] * 16)
        scored = await score(solver, REJECTS)
        assert scored.reward.total == pytest.approx(-0.2)
        assert scored.post_test is None
        assert solver.asked == []

    async def test_with_the_gate_off_the_judge_is_logged_and_changes_nothing(self, score) -> None:
        scored = await score(judge=REJECTS, reward__gate="off")
        assert scored.reward.total == pytest.approx(1.0)
        assert scored.verdicts[0].decision is Decision.REJECT

    async def test_soft_gate_measures_and_subtracts(self, score) -> None:
        scored = await score(judge=REJECTS, reward__gate="soft")
        assert scored.reward.total == pytest.approx(1.0 - 0.75)

    async def test_the_source_problem_is_posed_where_there_is_no_variant_or_the_ablation_asks(
        self, score
    ) -> None:
        without = TransferPair(id="p", source=SOURCE, variant=None)
        assert choose_item(without, "transfer") is SOURCE
        scored = await score(ScriptedSolver(["\\boxed{4}"] * 16), post_test__item="source")
        assert scored.post_test.item is SOURCE
        assert scored.reward.total == pytest.approx(1.0)


class TestVoid:
    @pytest.mark.parametrize("end", [EndReason.STUDENT_FAILED, EndReason.TUTOR_FAILED, None])
    async def test_a_dialogue_that_infrastructure_ended_is_void(self, score, end) -> None:
        scored = await score(transcript=dialogue(end, "connection refused"))
        assert scored.is_void
        assert "connection refused" in scored.void_reason

    async def test_a_dead_judge_voids_under_a_gate(self, score) -> None:
        down = ScriptedJudge(EndpointUnavailable("judge is down"))
        for gate in ("hard", "soft"):
            scored = await score(judge=down, reward__gate=gate)
            assert scored.void_reason == "judge: judge is down"

    async def test_a_dead_judge_costs_nothing_when_it_is_only_logged(self, score) -> None:
        scored = await score(judge=ScriptedJudge(EndpointUnavailable("judge is down")), reward__gate="off")
        assert scored.reward.total == pytest.approx(1.0)
        assert scored.verdicts == ()

    async def test_an_undecided_verdict_voids_and_names_the_criterion(self, score) -> None:
        scored = await score(judge=ScriptedJudge(None, Decision.REJECT))
        assert scored.is_void
        assert "no_handover" in scored.void_reason

    async def test_a_dead_student_in_the_post_test_voids(self, score) -> None:
        scored = await score(ScriptedSolver())
        assert scored.is_void
        assert "student is down" in scored.void_reason
        assert len(scored.post_test.attempts) == 16

    async def test_twelve_graded_attempts_are_enough_and_eleven_are_not(self, score) -> None:
        enough = await score(ScriptedSolver([RIGHT] * 12))
        too_few = await score(ScriptedSolver([RIGHT] * 11))
        assert enough.reward.post == 1.0
        assert too_few.is_void
        assert "11 of 16" in too_few.void_reason

    async def test_an_ungradable_key_voids(self, score) -> None:
        variant = TestItem(
            problem=Problem(text="?", answer=""), baseline=SolveRate(value=0.1), kind=ItemKind.TRANSFER
        )
        scored = await score(pair=TransferPair(id="p", source=SOURCE, variant=variant))
        assert scored.is_void
        assert "ungradable" in scored.void_reason

    async def test_a_missing_baseline_voids(self, score) -> None:
        variant = TestItem(problem=VARIANT.problem, baseline=None, kind=ItemKind.TRANSFER)
        scored = await score(pair=TransferPair(id="p", source=SOURCE, variant=variant))
        assert "no cold solve rate" in scored.void_reason

    @pytest.mark.parametrize("gate", ["hard", "soft", "off"])
    async def test_a_permanent_refusal_stops_the_run_instead_of_voiding(self, score, gate) -> None:
        with pytest.raises(EndpointRejected):
            await score(ScriptedSolver(EndpointRejected("no such model")), reward__gate=gate)


class TestAttempts:
    async def test_missing_attempts_are_asked_for_again(self, score) -> None:
        solver = ScriptedSolver([RIGHT] * 10, [WRONG] * 4, [RIGHT] * 2)
        scored = await score(solver)
        assert solver.asked == [16, 6, 2]
        assert scored.reward.post == 0.75

    async def test_a_server_that_ignores_n_still_gets_all_attempts(self, score) -> None:
        solver = ScriptedSolver(*[[RIGHT]] * 16)
        scored = await score(solver)
        assert scored.post_test.num_graded == 16

    async def test_an_attempt_without_an_answer_is_wrong_not_lost(self, score) -> None:
        scored = await score(ScriptedSolver(["I do not know"] * 8 + [""] * 8))
        assert scored.post_test.num_graded == 16
        assert scored.reward.total == pytest.approx(-0.25)


class TestSolveRate:
    async def measure(self, grader: Grader, solver: ScriptedSolver) -> SolveRate | None:
        return await measure_solve_rate(
            VARIANT.problem,
            student=solver,
            grader=grader,
            num_samples=4,
            min_graded=3,
            max_tokens=100,
            temperature=0.6,
            seed=1,
        )

    async def test_is_the_share_of_right_attempts(self, grader) -> None:
        rate = await self.measure(grader, ScriptedSolver([RIGHT, WRONG, WRONG, WRONG]))
        assert rate == SolveRate(value=0.25, num_graded=4)

    async def test_is_unmeasured_and_never_zero_when_the_student_is_down(self, grader) -> None:
        assert await self.measure(grader, ScriptedSolver()) is None
        assert await self.measure(grader, ScriptedSolver([WRONG, WRONG])) is None
