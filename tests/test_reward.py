"""The reward formula: hand-computed values, properties, and the worked example of docs/reward.md."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.reward import compute_reward, normalized_gain, overlength_decay
from eduardo.settings import RewardSettings
from eduardo.types import (
    Attempt,
    Criterion,
    Decision,
    EndReason,
    Grade,
    ItemKind,
    Outcome,
    PostTest,
    Problem,
    RewardBreakdown,
    SolveRate,
    Speaker,
    TestItem,
    Transcript,
    Turn,
    TurnFault,
    TurnTokens,
    Verdict,
)

PAPER = RewardSettings(
    gate="hard",
    hard_reject_reward=-0.2,
    soft_reject_penalty=-0.75,
    length_decay=True,
    length_unit="tokens",
    visible_target_tokens=150,
    thinking_target_tokens=512,
    end_bonus=0.0,
    end_penalty=0.0,
    thinking_bonus=0.0,
)
PROBLEM = Problem(text="What is 2 + 2?", answer="4")
rates = st.floats(0, 1)


def settings(**changes: object) -> RewardSettings:
    return PAPER.model_copy(update=changes)


def tutor_turn(visible: int, thinking: int = 0, faults: tuple[TurnFault, ...] = ()) -> Turn:
    tokens = TurnTokens(visible=visible, thinking=thinking)
    return Turn(
        speaker=Speaker.TUTOR, text="x" * visible, thinking="t" * thinking, tokens=tokens, faults=faults
    )


def dialogue(*turns: Turn, end: EndReason = EndReason.TUTOR_ENDED) -> Transcript:
    opener = Turn(speaker=Speaker.STUDENT, text="Help me.")
    return Transcript(problem=PROBLEM, turns=(opener, *turns), end_reason=end)


def post_test(num_right: int, num_graded: int = 16, *, pre: float = 0.25, num_lost: int = 0) -> PostTest:
    right = Attempt(text="", grade=Grade(outcome=Outcome.RIGHT, answer="4"))
    wrong = Attempt(text="", grade=Grade(outcome=Outcome.WRONG, answer="5"))
    lost = Attempt(text="", grade=None, fault="time-out")
    item = TestItem(problem=PROBLEM, baseline=SolveRate(value=pre, num_graded=16), kind=ItemKind.TRANSFER)
    attempts = (right,) * num_right + (wrong,) * (num_graded - num_right) + (lost,) * num_lost
    return PostTest(item=item, masked=True, attempts=attempts)


def verdicts(handover: Decision | None = Decision.ACCEPT, factual: Decision | None = Decision.ACCEPT):
    return (
        Verdict(criterion=Criterion.NO_HANDOVER, decision=handover, votes=()),
        Verdict(criterion=Criterion.FACTUAL, decision=factual, votes=()),
    )


EXAMPLE = dialogue(tutor_turn(60, 100), tutor_turn(300, 200), tutor_turn(140, 50))


class TestNormalizedGain:
    @pytest.mark.parametrize(
        ("pre", "post", "gain"),
        [
            (0.0, 0.0, 0.0),
            (0.0, 1.0, 1.0),
            (0.25, 0.25, 0.0),
            (0.25, 0.8125, 0.75),
            (0.5, 0.75, 0.5),
            (0.6, 0.2, -0.4),
            (1.0, 1.0, 0.0),
            (1.0, 0.6, -0.4),
            (0.9999, 1.0, 1.0),
        ],
    )
    def test_matches_hand_computed_values(self, pre: float, post: float, gain: float) -> None:
        assert normalized_gain(pre, post) == pytest.approx(gain, abs=1e-9)

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.2])
    def test_refuses_what_is_no_rate(self, bad: float) -> None:
        with pytest.raises(ValueError, match="solve rate"):
            normalized_gain(bad, 0.5)
        with pytest.raises(ValueError, match="solve rate"):
            normalized_gain(0.5, bad)

    @given(pre=rates, post=rates)
    def test_is_bounded_and_has_the_sign_of_the_change(self, pre: float, post: float) -> None:
        gain = normalized_gain(pre, post)
        assert -1.0 <= gain <= 1.0
        assert (gain > 0) == (post > pre)

    @given(pre=rates, low=rates, high=rates)
    def test_never_falls_when_the_post_test_rises(self, pre: float, low: float, high: float) -> None:
        low, high = sorted((low, high))
        assert normalized_gain(pre, low) <= normalized_gain(pre, high)


class TestOverlengthDecay:
    def test_is_one_up_to_the_target_and_when_nothing_was_said(self) -> None:
        assert overlength_decay([150, 10, 0], 150) == 1.0
        assert overlength_decay([], 150) == 1.0
        assert overlength_decay([0, 0], 150) == 1.0

    def test_weights_turns_by_their_length(self) -> None:
        assert overlength_decay([60, 300, 140], 150) == pytest.approx(0.7, abs=1e-9)
        assert overlength_decay([600], 150) == pytest.approx(0.1, abs=1e-9)

    @given(st.lists(st.integers(0, 5000), max_size=11), st.integers(1, 600))
    def test_stays_in_the_unit_interval(self, lengths: list[int], target: int) -> None:
        assert 0.0 < overlength_decay(lengths, target) <= 1.0


class TestComputeReward:
    def test_worked_example(self) -> None:
        reward = compute_reward(EXAMPLE, verdicts(), post_test(13), PAPER)
        assert reward.parts["gain"] == pytest.approx(0.75, abs=1e-9)
        assert reward.parts["length_decay"] == pytest.approx(-0.225, abs=1e-9)
        assert reward.decay_visible == pytest.approx(0.7, abs=1e-9)
        assert reward.decay_thinking == 1.0
        assert reward.total == pytest.approx(0.525, abs=1e-9)

    def test_the_page_states_the_values_that_the_code_computes(self) -> None:
        page = (Path(__file__).parents[1] / "docs" / "reward.md").read_text()
        total = compute_reward(EXAMPLE, verdicts(), post_test(13), PAPER).total
        assert re.search(r"\*\*total\*\* \|[^|]*\| \*\*([\d.]+)\*\*", page)[1] == f"{total:.3f}"
        soft = compute_reward(EXAMPLE, verdicts(Decision.REJECT), post_test(13), settings(gate="soft")).total
        assert f"= −{-soft:.3f} under the soft gate" in page
        loss = compute_reward(EXAMPLE, verdicts(), post_test(3), PAPER).total
        assert f"total −{-loss:.4f}" in page

    @pytest.mark.parametrize("rejected", [{"handover": Decision.REJECT}, {"factual": Decision.REJECT}])
    def test_hard_gate_pays_exactly_its_penalty(self, rejected: dict[str, Decision]) -> None:
        reward = compute_reward(EXAMPLE, verdicts(**rejected), None, settings(end_penalty=0.1))
        assert reward == RewardBreakdown(gate=-0.2, gated=True)
        assert reward.total == pytest.approx(-0.2, abs=1e-9)

    def test_soft_gate_subtracts_and_still_measures(self) -> None:
        reward = compute_reward(EXAMPLE, verdicts(Decision.REJECT), post_test(13), settings(gate="soft"))
        assert reward.total == pytest.approx(0.525 - 0.75, abs=1e-9)

    def test_gate_off_ignores_the_verdicts(self) -> None:
        off = settings(gate="off")
        assert compute_reward(
            EXAMPLE, verdicts(Decision.REJECT, None), post_test(13), off
        ).total == pytest.approx(0.525)

    def test_detector_gates_beside_the_judge_when_asked(self) -> None:
        assert compute_reward(EXAMPLE, verdicts(), None, PAPER, detector_rejects=True).total == pytest.approx(
            -0.2
        )

    def test_a_loss_is_not_shrunk_by_length(self) -> None:
        reward = compute_reward(EXAMPLE, verdicts(), post_test(3), PAPER)
        assert reward.total == pytest.approx(-0.0625, abs=1e-9)
        assert reward.length_decay == 0.0

    def test_end_bonus_needs_an_ending_and_a_gain(self) -> None:
        bonus = settings(end_bonus=0.1)
        cut = dialogue(tutor_turn(10), end=EndReason.TURN_LIMIT)
        ended = dialogue(tutor_turn(10))
        assert compute_reward(ended, verdicts(), post_test(13), bonus).end_bonus == 0.1
        assert compute_reward(ended, verdicts(), post_test(4), bonus).end_bonus == 0.0
        assert compute_reward(cut, verdicts(), post_test(13), bonus).end_bonus == 0.0

    def test_end_penalty_falls_on_dialogues_that_the_tutor_did_not_end(self) -> None:
        penalty = settings(end_penalty=0.1)
        cut = dialogue(tutor_turn(10), end=EndReason.TURN_LIMIT)
        assert compute_reward(cut, verdicts(), post_test(13), penalty).total == pytest.approx(0.65, abs=1e-9)
        assert compute_reward(dialogue(tutor_turn(10)), verdicts(), post_test(13), penalty).end_penalty == 0.0

    def test_thinking_bonus_counts_well_formed_thinking_only(self) -> None:
        turns = (tutor_turn(10, 5), tutor_turn(10), tutor_turn(10, 5, (TurnFault.THINKING_MALFORMED,)))
        reward = compute_reward(dialogue(*turns), verdicts(), post_test(4), settings(thinking_bonus=0.3))
        assert reward.thinking_bonus == pytest.approx(0.1, abs=1e-9)

    def test_published_length_unit_counts_characters_over_four(self) -> None:
        reward = compute_reward(
            dialogue(tutor_turn(1200)), verdicts(), post_test(13), settings(length_unit="characters_over_4")
        )
        assert reward.decay_visible == pytest.approx(0.5, abs=1e-9)  # 300 "tokens" against 150

    def test_lost_attempts_count_neither_way(self) -> None:
        with_lost = compute_reward(EXAMPLE, verdicts(), post_test(9, 12, num_lost=4), PAPER)
        assert with_lost.post == pytest.approx(0.75, abs=1e-9)

    def test_refuses_to_invent_a_number(self) -> None:
        with pytest.raises(ValueError, match="undecided"):
            compute_reward(EXAMPLE, verdicts(None), post_test(13), PAPER)
        with pytest.raises(ValueError, match="post-test"):
            compute_reward(EXAMPLE, verdicts(), None, PAPER)

    @given(
        right=st.integers(0, 16),
        pre=rates,
        lengths=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 700)), min_size=1, max_size=11),
        gate=st.sampled_from(["hard", "soft", "off"]),
        rejected=st.booleans(),
        end=st.sampled_from([EndReason.TUTOR_ENDED, EndReason.TURN_LIMIT, EndReason.TOKEN_BUDGET]),
    )
    def test_parts_add_up_and_stay_bounded(self, right, pre, lengths, gate, rejected, end) -> None:
        chosen = settings(gate=gate, end_bonus=0.1, end_penalty=0.1, thinking_bonus=0.05)
        turns = [tutor_turn(v, t) for v, t in lengths]
        decision = Decision.REJECT if rejected else Decision.ACCEPT
        reward = compute_reward(
            dialogue(*turns, end=end), verdicts(decision), post_test(right, pre=pre), chosen
        )
        assert reward.total == pytest.approx(math.fsum(reward.parts.values()), abs=1e-12)
        assert -2.0 <= reward.total <= 1.15
        if reward.gain > 0:
            assert 0.0 <= reward.gain + reward.length_decay <= reward.gain
