"""From scored dialogues to figures: what counts as a dialogue, and when an evaluation cannot be trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eduardo.evaluate import load_settings
from eduardo.evaluation.summary import Row, summarize
from eduardo.types import EndReason

SETTINGS = load_settings([])
ROW = Row(
    pair_id="p",
    pre=0.25,
    post=0.5,
    gain_transfer=1 / 3,
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
