"""What a run shows: a line per step where there is no terminal, a bar where there is one."""

import io

import pytest
from rich.console import Console

from eduardo.train.progress import RunProgress, duration, step_summary

STEP = {
    "step": 2.0,
    "dialogue/reward_total": -0.05,
    "dialogue/delta": 0.21,
    "dialogue/rejected_no_handover": 0.125,
    "dialogue/void_share": 0.0,
    "timing_s/step": 12.0,
}


def shown(*lines, terminal=False):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=160)
    with RunProgress(console, total_steps=10, first_step=0) as progress:
        for line in lines:
            progress.show(line)
    return out.getvalue()


def test_a_step_is_one_plain_line_without_a_terminal():
    text = shown(STEP)
    assert "step 2/10  reward -0.05  Δ +0.21  leaks 12%  void 0%  12 s/step, 1 min 36 s left" in text
    assert "\x1b" not in text


def test_a_terminal_gets_a_bar_with_the_same_numbers():
    text = shown(STEP, terminal=True)
    assert "\x1b" in text
    assert "2/10" in text
    assert "reward -0.05" in text


def test_validation_is_shown_with_its_step():
    text = shown({"step": 0, "val/reward_total": 0.5, "val/void_share": 0.25})
    assert "validation after step 0: reward +0.50" in text
    assert "void 25%" in text


def test_a_step_of_too_many_voids_is_shown_and_not_counted_as_done():
    text = shown(STEP, {"step": 3.0, "dialogue/void_share": 0.9})
    assert "step 3 was not learned from: reward" in text and "void 90%" in text
    assert "step 3/10" not in text
    assert "step 1 was not learned from" in shown({"step": 1.0, "dialogue/void_share": 0.9}, terminal=True)


def test_a_number_that_was_not_measured_is_a_dash_not_a_zero():
    assert step_summary({"dialogue/void_share": 1.0}).split() == [
        *("reward", "–"),
        *("Δ", "–"),
        *("leaks", "–"),
        *("void", "100%"),
    ]


@pytest.mark.parametrize(("seconds", "text"), [(9.6, "10 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")])
def test_durations_are_for_people(seconds, text):
    assert duration(seconds) == text
