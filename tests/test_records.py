"""Scored dialogues survive the way to disk and back, crashes included, and all report the same numbers."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eduardo.errors import UserError
from eduardo.records import VERSION, DialogueWriter, flat_metrics, from_json, read_dialogues, to_json
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
    ScoredDialogue,
    SolveRate,
    Speaker,
    TestItem,
    Transcript,
    Turn,
    TurnFault,
    TurnTokens,
    Verdict,
    Vote,
)

PROBLEM = Problem(text=r"What is $\frac{1}{2} + \frac{1}{2}$?", answer="1")
ITEM = TestItem(problem=PROBLEM, baseline=SolveRate(value=0.25, num_graded=16), kind=ItemKind.TRANSFER)
OPENER = Turn(speaker=Speaker.STUDENT, text="Help me?")
TUTOR = Turn(
    speaker=Speaker.TUTOR,
    text="What is a half?",
    raw="hm</think>What is a half?",
    thinking="hm",
    faults=(TurnFault.EARLY_END_TAG,),
    tokens=TurnTokens(visible=4, thinking=2),
)
TRANSCRIPT = Transcript(
    problem=PROBLEM,
    turns=(
        OPENER,
        TUTOR,
        Turn(speaker=Speaker.STUDENT, text="0.5 — é\u2028", tokens=TurnTokens(visible=9)),
        replace(
            TUTOR,
            faults=(TurnFault.BLANK, TurnFault.THINKING_TRUNCATED),
            tokens=TurnTokens(visible=0, thinking=8),
        ),
        Turn(speaker=Speaker.STUDENT, text=""),
    ),
    end_reason=EndReason.TURN_LIMIT,
)
VERDICTS = (
    Verdict(
        criterion=Criterion.NO_HANDOVER,
        decision=Decision.ACCEPT,
        votes=(
            Vote(decision=Decision.ACCEPT),
            Vote(decision=None, fault="empty"),
            Vote(decision=Decision.ACCEPT),
        ),
    ),
    Verdict(
        criterion=Criterion.FACTUAL, decision=Decision.REJECT, votes=(Vote(decision=Decision.REJECT),) * 2
    ),
)
RIGHT, WRONG = Grade(outcome=Outcome.RIGHT, answer="1"), Grade(outcome=Outcome.WRONG, answer=None)
POST_TEST = PostTest(
    item=ITEM,
    masked=True,
    attempts=(
        Attempt(text="1", grade=RIGHT),
        Attempt(text="1.0", grade=replace(RIGHT, stages_disagree=True)),
        Attempt(text="?", grade=WRONG),
        Attempt(text="9^9^9", grade=Grade(outcome=Outcome.WRONG, answer="9^9^9", timed_out=True)),
        Attempt(text="", grade=None, fault="time-out"),
    ),
)
SCORED = ScoredDialogue(
    pair_id="p1",
    transcript=TRANSCRIPT,
    verdicts=VERDICTS,
    post_test=POST_TEST,
    reward=RewardBreakdown(
        gain=1 / 3, length_decay=-0.1, pre=0.25, post=0.5, decay_visible=0.7, gate=-0.75, gated=True
    ),
    detector=("turn 2: answer",),
    labels={"split": "train", "step": 3, "share": 0.5, "last": True, "note": None},
)
VOID = ScoredDialogue(
    pair_id="p2", transcript=replace(TRANSCRIPT, end_reason=None), void_reason="judge: down"
)
GATED = replace(SCORED, post_test=None, reward=RewardBreakdown(gate=-0.2, gated=True))


# --- there and back ---

st.register_type_strategy(float, st.floats(-1e9, 1e9))
st.register_type_strategy(
    SolveRate, st.builds(SolveRate, value=st.floats(0, 1), num_graded=st.none() | st.integers(1, 10**6))
)
_labels = st.text() | st.integers() | st.booleans() | st.none() | st.floats(0, 1)
_parts = st.fixed_dictionaries(
    {
        "pair_id": st.text(),
        "transcript": st.from_type(Transcript),
        "verdicts": st.lists(st.from_type(Verdict), max_size=2).map(tuple),
        "post_test": st.none() | st.from_type(PostTest),
        "detector": st.lists(st.text(), max_size=2).map(tuple),
        "labels": st.dictionaries(
            st.text(), st.text() | st.integers() | st.booleans() | st.none() | st.floats(0, 1)
        ),
    }
)
_endings = st.builds(lambda reward: {"reward": reward}, st.from_type(RewardBreakdown)) | st.builds(
    lambda reason: {"void_reason": reason}, st.text()
)


@settings(max_examples=40)
@given(parts=_parts, ending=_endings)
def test_any_dialogue_reads_back_as_it_was(parts: dict[str, object], ending: dict[str, object]) -> None:
    dialogue = ScoredDialogue(**parts, **ending)  # type: ignore[arg-type]
    line = to_json(dialogue)
    assert b"\n" not in line
    assert from_json(line) == dialogue


@pytest.mark.parametrize("dialogue", [SCORED, VOID, GATED])
def test_labels_keep_their_types(dialogue: ScoredDialogue) -> None:
    again = from_json(to_json(dialogue))
    assert again == dialogue
    assert {k: type(v) for k, v in again.labels.items()} == {k: type(v) for k, v in dialogue.labels.items()}


def test_a_line_states_its_version() -> None:
    assert json.loads(to_json(SCORED))["version"] == VERSION == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_by_name(value: float, tmp_path: Path) -> None:
    bad = replace(SCORED, reward=replace(SCORED.reward, gain=value))  # type: ignore[type-var]
    with (
        DialogueWriter(tmp_path / "d.jsonl") as writer,
        pytest.raises(ValueError, match=r"dialogue\.reward\.gain"),
    ):
        writer.write(bad)
    assert (tmp_path / "d.jsonl").read_bytes() == b""


# --- files ---


def test_what_was_written_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "dialogues.jsonl"
    with DialogueWriter(path) as writer:
        writer.write(SCORED)
        assert list(read_dialogues(path)) == [SCORED]  # on disk before the next one
        writer.write(VOID)
    with DialogueWriter(path) as writer:
        writer.write(GATED)
    assert list(read_dialogues(path)) == [SCORED, VOID, GATED]


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "dialogues.jsonl"
    dialogues = [replace(SCORED, pair_id=f"p{i}") for i in range(40)]
    with DialogueWriter(path) as one, DialogueWriter(path) as two, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda d: (one if d.pair_id < "p2" else two).write(d), dialogues))
    assert {d.pair_id for d in read_dialogues(path)} == {d.pair_id for d in dialogues}


@pytest.mark.parametrize("num_bytes_lost", [1, 40, 400])
def test_a_cut_last_line_is_skipped_and_then_replaced(
    num_bytes_lost: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "dialogues.jsonl"
    torn = to_json(VOID)[:-num_bytes_lost]
    path.write_bytes(to_json(SCORED) + b"\n" + torn)
    with caplog.at_level(logging.WARNING):
        assert list(read_dialogues(path)) == [SCORED]
    assert f"{path}, line 2: skipped" in caplog.text
    with DialogueWriter(path) as writer:
        writer.write(GATED)
    assert list(read_dialogues(path)) == [SCORED, GATED]


def test_a_whole_last_line_without_its_line_break_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "dialogues.jsonl"
    path.write_bytes(to_json(SCORED))
    assert list(read_dialogues(path)) == [SCORED]
    with DialogueWriter(path) as writer:
        writer.write(VOID)
    assert list(read_dialogues(path)) == [SCORED, VOID]


_FILL_UP = """
import resource, signal, sys
from pathlib import Path
from eduardo.records import DialogueWriter, read_dialogues
path = Path(sys.argv[1])
[dialogue] = read_dialogues(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100,) * 2)
with DialogueWriter(path) as writer:
    try:
        writer.write(dialogue)
    except OSError as error:
        print("OSError", error)
"""


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "dialogues.jsonl"
    path.write_bytes(to_json(SCORED) + b"\n")
    size = path.stat().st_size
    result = subprocess.run(
        [sys.executable, "-c", _FILL_UP, str(path)], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("OSError")
    assert path.stat().st_size == size


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"version":2,"dialogue":{"new":1}}', r"version 2, but this program reads version 1"),
        (b'{"version":1,"dialogue":{"pair_id":"p"}}', r"not a dialogue record \(.*transcript"),
        (b'{"dialogue":{}}', r"not a dialogue record \(.*version"),
        (b"not json", r"not a dialogue record"),
        (b"[]", r"not a dialogue record"),
        (to_json(SCORED).replace(b'"value":0.25', b'"value":1.25'), r"solve rate must lie in \[0, 1\]"),
        (to_json(SCORED).replace(b'"turn_limit"', b'"boredom"'), r"boredom"),
        (to_json(SCORED).replace(b'"pair_id":"p1"', b'"pair_id":1'), r"pair_id"),
        (b"\xff\xfe", r"not a dialogue record"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(line: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "dialogues.jsonl"
    path.write_bytes(to_json(SCORED) + b"\n\n" + line + b"\n" + to_json(SCORED) + b"\n")
    with pytest.raises(UserError, match=message) as caught:
        list(read_dialogues(path))
    assert str(caught.value).startswith(f"{path}, line 3: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.jsonl: can not be read"):
        list(read_dialogues(tmp_path / "nowhere.jsonl"))


def test_an_empty_file_holds_no_dialogue(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert list(read_dialogues(tmp_path / "empty.jsonl")) == []


# --- the numbers of a dialogue ---


@settings(max_examples=20)
@given(parts=_parts, ending=_endings)
def test_every_dialogue_reports_the_same_keys(parts: dict[str, object], ending: dict[str, object]) -> None:
    metrics = flat_metrics(ScoredDialogue(**parts, **ending))  # type: ignore[arg-type]
    assert list(metrics) == list(flat_metrics(VOID))
    assert all(value is None or type(value) is float for value in metrics.values())


def test_the_numbers_of_a_scored_dialogue() -> None:
    metrics = flat_metrics(SCORED)
    assert {key: value for key, value in metrics.items() if value} == {
        "reward": pytest.approx(1 / 3 - 0.1 - 0.75),
        "reward_gain": 1 / 3,
        "reward_length_decay": -0.1,
        "reward_gate": -0.75,
        "delta": 1 / 3,
        "pre": 0.25,
        "post": 0.5,
        "decay_visible": 0.7,
        "decay_thinking": 1.0,
        "gated": 1.0,
        "rejected_factual_correctness": 1.0,
        "num_votes": 5.0,
        "num_lost_votes": 1.0,
        "detector_leak": 1.0,
        "num_tutor_turns": 2.0,
        "num_student_turns": 2.0,
        "tutor_visible_tokens": 2.0,
        "tutor_thinking_tokens": 5.0,
        "student_tokens": 9.0,
        "num_blank_student_turns": 1.0,
        "num_blank": 1.0,
        "num_thinking_truncated": 1.0,
        "num_early_end_tag": 1.0,
        "ended_turn_limit": 1.0,
        "num_graded": 4.0,
        "num_right": 2.0,
        "num_ungraded": 1.0,
        "num_without_answer": 1.0,
        "num_grader_timeouts": 1.0,
        "num_grader_disagreements": 1.0,
    }
    assert metrics["rejected_no_handover"] == metrics["detector_agrees"] == metrics["void"] == 0.0


def test_the_parts_add_up_to_the_reward() -> None:
    metrics = flat_metrics(SCORED)
    parts = [value for key, value in metrics.items() if key.startswith("reward_") and value is not None]
    assert math.fsum(parts) == metrics["reward"]


def test_what_a_gated_dialogue_did_not_measure_is_missing_not_zero() -> None:
    metrics = flat_metrics(GATED)
    assert (metrics["reward"], metrics["gated"], metrics["void"]) == (-0.2, 1.0, 0.0)
    assert metrics["delta"] is metrics["post"] is metrics["pre"] is metrics["num_graded"] is None


def test_what_a_void_dialogue_did_not_measure_is_missing_not_zero() -> None:
    metrics = flat_metrics(VOID)
    assert metrics["void"] == 1.0
    unknown = {key for key, value in metrics.items() if value is None}
    assert {"reward", "reward_gain", "delta", "gated", "rejected_no_handover", "ended_turn_limit"} <= unknown
