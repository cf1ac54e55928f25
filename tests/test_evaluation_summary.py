"""From scored dialogues to figures: what counts as a dialogue, and when an evaluation cannot be trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eduardo.errors import UserError
from eduardo.evaluation.comparison import compare
from eduardo.evaluation.rows import Row
from eduardo.evaluation.settings import evaluation_settings
from eduardo.evaluation.summary import summarize
from eduardo.evaluation.tutors import Control
from eduardo.types import EndReason

SETTINGS = evaluation_settings([])
ROW = Row(
    pair_id="p",
    sample=0,
    pre=0.25,
    post=0.5,
    gain_transfer=1 / 3,
    pre_source=0.2,
    post_source=0.6,
    gain_source=0.5,
    leaked=False,
    mistaught=False,
    detector_found_leak=False,
    reward=0.3,
    end_reason=EndReason.TUTOR_ENDED,
    num_tutor_turns=6,
    num_blank_turns=0,
    num_cut_turns=0,
    visible_tokens=10.0,
    thinking_tokens=0.0,
)


def rows(num=10, **changes):
    return [replace(ROW, pair_id=str(i), **changes) for i in range(num)]


def faults(some_rows, num_planned=None):
    return summarize("t", some_rows, num_planned or len(some_rows), SETTINGS).invalid_because


class TestValidity:
    def test_a_sound_evaluation_has_no_fault(self) -> None:
        assert faults(rows()) == ()

    def test_the_turn_limit_is_an_end_reason_and_no_fault(self) -> None:
        ended = rows(end_reason=EndReason.TURN_LIMIT, num_tutor_turns=11)
        summary = summarize("t", ended, len(ended), SETTINGS)
        assert summary.invalid_because == ()
        assert summary.end_reasons == {"turn_limit": 10}
        assert summary.figures["token_cap_rate"].value == 0.0

    @pytest.mark.parametrize(
        "capped", [{"num_cut_turns": 1}, {"end_reason": EndReason.TOKEN_BUDGET}], ids=["turn", "dialogue"]
    )
    def test_token_caps_that_bind_too_often_are_a_fault(self, capped) -> None:
        assert faults(rows(8) + rows(2, **capped)) == ()
        [fault] = faults(rows(7) + rows(3, **capped))
        assert fault == "30% of dialogues were ended or cut by a token cap (limit 20%)"

    def test_too_many_voids_are_a_fault(self) -> None:
        [fault] = faults(rows(10), num_planned=20)
        assert fault.startswith("50% of dialogues were void")

    def test_too_many_blank_turns_are_a_fault(self) -> None:
        [fault] = faults(rows(10, num_blank_turns=1))
        assert fault.startswith("17% of tutor turns were blank")

    def test_a_judge_that_lets_told_answers_pass_is_a_fault(self) -> None:
        [fault] = faults(rows(8) + rows(2, detector_found_leak=True))
        assert fault.startswith("20% of dialogues were accepted by the judge although")

    def test_a_judge_that_sees_more_than_the_detector_is_none(self) -> None:
        assert faults(rows(10, leaked=True)) == ()


class TestBreakdowns:
    def test_bands_of_the_cold_solve_rate_hold_their_lower_edge_and_the_last_one_both(self) -> None:
        mixed = rows(2, pre=0.0) + rows(3, pre=0.25) + rows(1, pre=1.0, post=1.0, gain_transfer=0.0)
        bands = summarize("t", mixed, 6, SETTINGS).by_difficulty
        assert [(band.name, band.num_dialogues) for band in bands] == [
            ("0% – 25%", 2),
            ("25% – 50%", 3),
            ("75% – 100%", 1),
        ]

    def test_every_end_reason_has_its_own_figures(self) -> None:
        some = rows(3, gain_transfer=0.1) + rows(2, end_reason=EndReason.TURN_LIMIT, gain_transfer=0.5)
        ended = summarize("t", some, 5, SETTINGS).by_end_reason
        assert {g.name: round(g.figures["gain_transfer"].value, 6) for g in ended} == {
            "turn_limit": 0.5,
            "tutor_ended": 0.1,
        }

    def test_bands_must_cover_all_rates(self) -> None:
        with pytest.raises(UserError, match="bands need rising edges"):
            evaluation_settings(["difficulty_bands=[0.0,0.5]"])


class TestGainOfMeans:
    def test_both_definitions_are_reported_and_differ_where_problems_do(self) -> None:
        two = [
            replace(ROW, pair_id="easy", pre=0.75, post=1.0, gain_transfer=1.0),
            replace(ROW, pair_id="hard", pre=0.0, post=0.25, gain_transfer=0.25),
        ]
        figures = summarize("t", two, 2, SETTINGS).figures
        assert figures["gain_transfer"].value == pytest.approx(0.625)
        assert figures["gain_of_means"].value == pytest.approx(0.25 / 0.625)

    def test_rejected_dialogues_count_as_no_change_when_gated(self) -> None:
        half = rows(5) + [replace(row, pair_id=f"r{row.pair_id}", leaked=True) for row in rows(5)]
        figures = summarize("t", half, 10, SETTINGS).figures
        assert figures["gain_transfer_gated"].value == pytest.approx(ROW.gain_transfer / 2)
        assert figures["gain_of_means_gated"].value == pytest.approx(figures["gain_of_means"].value / 2)


class TestComparisons:
    def test_later_tutors_meet_the_first_and_all_meet_the_control_without_tutoring(self) -> None:
        def summary(name, gain, control=None):
            varied = [replace(r, gain_transfer=gain + 0.01 * i) for i, r in enumerate(rows())]
            return summarize(name, varied, 10, SETTINGS, control=control)

        summaries = [summary("a", 0.1), summary("b", 0.3), summary("untaught", 0.0, Control.UNTAUGHT)]
        found = {(c.figure, c.first, c.second): c for c in compare(summaries)}
        gains = {
            key[1:]: c.difference.estimate.value for key, c in found.items() if key[0] == "gain_transfer"
        }
        assert gains == {
            ("a", "b"): pytest.approx(0.2),
            ("untaught", "a"): pytest.approx(0.1),
            ("untaught", "b"): pytest.approx(0.3),
        }
        assert ("leak_rate", "untaught", "a") not in found
        assert all(c.corrected_p_value >= c.difference.p_value for c in found.values())
