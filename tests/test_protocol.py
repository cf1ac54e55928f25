"""What of a generated tutor turn others see, for every way in which its tags can be right or wrong."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.protocol import ThinkingMode, detect_thinking_mode, parse_tutor_turn, split_thinking
from eduardo.types import FinishReason, Speaker, Turn, TurnFault, TurnTokens

END = "<end_of_conversation>"
PREFILLED, OPTIONAL, NONE = ThinkingMode.PREFILLED, ThinkingMode.OPTIONAL, ThinkingMode.NONE
STOP, LENGTH = FinishReason.STOP, FinishReason.LENGTH
TRUNCATED = (TurnFault.THINKING_TRUNCATED, TurnFault.BLANK)
MALFORMED = (TurnFault.THINKING_MALFORMED,)


def parse(
    raw: str, mode: ThinkingMode = PREFILLED, *, may_end: bool = True, finish: FinishReason = STOP
) -> Turn:
    return parse_tutor_turn(
        raw,
        mode=mode,
        end_tag=END,
        may_end=may_end,
        finish=finish,
        count_tokens=lambda text: len(text.split()),
    )


# --- the mode comes from the rendered prompt ---


@pytest.mark.parametrize(
    ("tail", "mode"),
    [
        ("<|im_start|>assistant\n<think>\n", PREFILLED),
        ("<|im_start|>assistant\n<think>", PREFILLED),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", NONE),
        ("<|im_start|>assistant\n", OPTIONAL),
        ("", OPTIONAL),
    ],
)
def test_t01_the_end_of_the_rendered_prompt_decides_the_mode(tail: str, mode: ThinkingMode) -> None:
    assert detect_thinking_mode("<|im_start|>user\nHi<|im_end|>\n" + tail) is mode


def test_a_student_that_writes_tags_does_not_change_the_mode() -> None:
    prompt = "<|im_start|>user\nWhat does <think> do?<think>\n<|im_end|>\n<|im_start|>assistant\n"
    assert detect_thinking_mode(prompt) is OPTIONAL


# --- well-formed turns ---


@pytest.mark.parametrize(
    ("mode", "raw", "text", "thinking"),
    [
        (PREFILLED, "reason…</think>\n\nHi there", "Hi there", "reason…"),
        (PREFILLED, "reason</thi" + "nk>Hi", "Hi", "reason"),
        (PREFILLED, "</think>Hi", "Hi", ""),
        (PREFILLED, "reason</THINK>Hi", "Hi", "reason"),
        (PREFILLED, "reason< / think >Hi", "Hi", "reason"),
        (PREFILLED, "a tick ` here</think>and ` there", "and ` there", "a tick ` here"),
        (OPTIONAL, "<think>reason</think>Hi", "Hi", "reason"),
        (OPTIONAL, "\n <Think>\nreason\n</Think>\n Hi \n", "Hi", "reason"),
        (OPTIONAL, "<think></think>Hi", "Hi", ""),
        (OPTIONAL, "Hi", "Hi", ""),
        (NONE, "Hi", "Hi", ""),
        (NONE, "3 < 5 and 7 > 2", "3 < 5 and 7 > 2", ""),
    ],
)
def test_t01_well_formed_turns(mode: ThinkingMode, raw: str, text: str, thinking: str) -> None:
    turn = parse(raw, mode)
    assert (turn.text, turn.thinking, turn.faults) == (text, thinking, ())


# --- tags that do not pair up ---


@pytest.mark.parametrize(
    ("mode", "raw", "text", "thinking"),
    [
        pytest.param(OPTIONAL, "reason</think>Hi", "Hi", "reason", id="orphan close"),
        pytest.param(NONE, "reason</think>Hi", "Hi", "reason", id="orphan close after an empty block"),
        pytest.param(PREFILLED, "a</think>b</think>Hi", "Hi", "a b", id="second close"),
        pytest.param(
            OPTIONAL, "a<think>b</think>c</think>Hi", "Hi", "a b c", id="orphan close after a block"
        ),
        pytest.param(OPTIONAL, "Hi<think>reason", "Hi", "reason", id="orphan open"),
        pytest.param(PREFILLED, "a</think>Hi<think>b", "Hi", "a\nb", id="orphan open after a block"),
        pytest.param(PREFILLED, "a</think>Hi<think>b</think>there", "Hi there", "a\nb", id="several blocks"),
        pytest.param(OPTIONAL, "Hi <think>a</think> there", "Hi there", "a", id="block in the middle"),
        pytest.param(PREFILLED, "<think>a</think>Hi", "Hi", "a", id="open repeated after the prefill"),
        pytest.param(OPTIONAL, "<think>a<think>b</think>c</think>Hi", "Hi", "a b c", id="nested"),
        pytest.param(OPTIONAL, "<think>a<think>b</think>Hi", "Hi", "a b", id="nested, one close short"),
        pytest.param(NONE, "<think>a</think>Hi", "Hi", "a", id="thinking where there should be none"),
    ],
)
def test_unpaired_tags_hide_rather_than_show(mode: ThinkingMode, raw: str, text: str, thinking: str) -> None:
    turn = parse(raw, mode)
    assert (turn.text, turn.thinking, turn.faults) == (text, thinking, MALFORMED)


@pytest.mark.parametrize(
    ("mode", "raw"),
    [(PREFILLED, "half a plan"), (OPTIONAL, "<think>half a plan"), (PREFILLED, "<think>half a plan")],
)
def test_t02_a_turn_cut_off_inside_its_thinking_shows_nothing(mode: ThinkingMode, raw: str) -> None:
    turn = parse(raw, mode, finish=LENGTH)
    assert (turn.text, turn.thinking, turn.faults) == ("", "half a plan", TRUNCATED)


def test_thinking_that_stops_without_a_close_tag_shows_nothing_either() -> None:
    turn = parse("So the answer is 42.", PREFILLED, finish=STOP)
    assert (turn.text, turn.faults) == ("", (TurnFault.THINKING_MALFORMED, TurnFault.BLANK))


def test_a_reply_cut_off_is_shown_and_noted() -> None:
    turn = parse("reason</think>What is the", PREFILLED, finish=LENGTH)
    assert (turn.text, turn.faults) == ("What is the", (TurnFault.REPLY_TRUNCATED,))


@pytest.mark.parametrize("raw", ["reason</think>", "reason</think> \n\t", f"reason</think> {END} "])
def test_a_turn_without_visible_text_is_blank(raw: str) -> None:
    assert parse(raw).text == ""
    assert parse(raw).faults == (TurnFault.BLANK,)


# --- tags inside code ---


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Write `<think>` first.", "Write  first."),
        ("Write `a <think> b` first.", "Write `a  b` first."),
        ("Write\n```\n<think>\nplan\n</think>\n```\nfirst.", "Write\n```\n\nplan\n\n```\nfirst."),
    ],
)
def test_a_think_tag_inside_code_of_the_reply_vanishes_but_hides_nothing(raw: str, text: str) -> None:
    turn = parse("reason</think>" + raw)
    assert (turn.text, turn.faults) == (text, ())


def test_a_close_tag_inside_code_of_the_thinking_ends_the_thinking() -> None:
    assert parse("I write `</think>` now").text == "` now"


# --- the end tag ---


@pytest.mark.parametrize(
    "reply",
    [
        f"Bye! {END}",
        f"{END}Bye!",
        f"Bye!\n\n{END}\n",
        f"Bye! `{END}`",
        f"Bye! {END}{END}",
        "Bye! <END_of_Conversation>",
        "Bye! < end_of_conversation >",
    ],
)
def test_the_end_tag_in_the_reply_ends_the_dialogue_and_is_removed(reply: str) -> None:
    turn = parse("reason</think>" + reply)
    assert (turn.text, turn.ends_dialogue, turn.faults) == ("Bye!", True, ())


@pytest.mark.parametrize(
    "look_alike",
    [
        "</end_of_conversation>",
        "[end_of_conversation]",
        "<end of conversation>",
        "<end-of-conversation>",
        "<end_of_conversation",
        "end_of_conversation",
        "&lt;end_of_conversation&gt;",
        "<end_of_conversations>",
    ],
)
def test_look_alikes_of_the_end_tag_are_ordinary_text(look_alike: str) -> None:
    turn = parse(f"reason</think>Bye! {look_alike}")
    assert (turn.text, turn.ends_dialogue, turn.faults) == (f"Bye! {look_alike}", False, ())


def test_an_end_tag_in_the_thinking_does_not_count() -> None:
    turn = parse(f"I could write {END} now</think>Go on.")
    assert (turn.text, turn.ends_dialogue, turn.faults) == ("Go on.", False, ())


def test_an_early_end_tag_is_ignored_removed_and_noted() -> None:
    turn = parse(f"reason</think>Bye! {END}", may_end=False)
    assert (turn.text, turn.ends_dialogue, turn.faults) == ("Bye!", False, (TurnFault.EARLY_END_TAG,))


def test_an_end_tag_without_brackets_works_too() -> None:
    turn = parse_tutor_turn(
        "Bye. [DONE] (x)", mode=NONE, end_tag="[DONE]", may_end=True, finish=STOP, count_tokens=len
    )
    assert (turn.text, turn.ends_dialogue) == ("Bye.  (x)", True)


def test_removing_tags_forms_no_new_ones() -> None:
    turn = parse(f"x</think>Hi <end_of_{END}conversation> `<th`<think>`ink>`", OPTIONAL, may_end=False)
    assert "end_of_conversation>" not in turn.text
    assert "<think>" not in turn.text


# --- bookkeeping ---


def test_lengths_are_counted_on_both_parts() -> None:
    assert parse("one two three</think>four five").tokens == TurnTokens(visible=2, thinking=3)


def test_raw_is_kept_unless_it_equals_the_text() -> None:
    assert parse("a</think>Hi").raw == "a</think>Hi"
    assert parse("Hi", NONE).raw == ""


def test_a_turn_full_of_tags_is_parsed_quickly() -> None:
    start = time.perf_counter()
    for filler in ("<think>", "</think>", "`<think>` ", "<end_of_" * 20, "< ", "```"):
        parse(filler * (40_000 // len(filler)))
    assert time.perf_counter() - start < 5


def test_split_thinking_serves_students_that_think_aloud() -> None:
    assert split_thinking("<think>hm</think>It is 4.", OPTIONAL) == ("It is 4.", "hm")


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b",
        "\u00ad",
        "\u2060",
        "\ufeff",
        "\u202e",
        "\u200d",
        "".join(chr(0xE0000 + ord(c)) for c in "it is 42"),
    ],
)
def test_nothing_invisible_reaches_others(hidden: str) -> None:
    raw = f"</think>{hidden}It is 4{hidden}2.{hidden}"
    assert parse(raw).text == "It is 42."
    assert parse(raw).raw == raw
    assert split_thinking(f"4{hidden}2", OPTIONAL) == ("42", "")
    assert parse(f"</think>{hidden * 3}").faults == (TurnFault.BLANK,)


@pytest.mark.parametrize("text", ["می\u200cخواهم", "👩\u200d🏫", "क्\u200dष"])
def test_joiners_that_a_script_or_an_emoji_needs_stay(text: str) -> None:
    assert parse(f"</think>{text}").text == text


def test_an_end_tag_is_found_behind_invisible_characters() -> None:
    turn = parse("</think>Bye. <end_of_\u200bconversation>")
    assert (turn.text, turn.ends_dialogue) == ("Bye.", True)


# --- properties ---

_pieces = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<THINK>", "< /think>", END, "<END_OF_CONVERSATION>", "`", "```", "\n", " "]
    )
    | st.sampled_from(["<th", "ink>", "</th", "<end_of_", "conversation>", "secret"])
    | st.text(max_size=5),
    max_size=14,
)
# Neither tags nor characters that nobody can see.
_untagged = st.text(st.characters(exclude_characters="<", exclude_categories=("Cs", "Cf", "Cn")))
_raws = _pieces.map("".join)
_modes = st.sampled_from(ThinkingMode)


@given(raw=_raws, mode=_modes, may_end=st.booleans(), finish=st.sampled_from(FinishReason))
def test_no_tag_ever_shows_and_raw_is_kept(
    raw: str, mode: ThinkingMode, may_end: bool, finish: FinishReason
) -> None:
    turn = parse(raw, mode, may_end=may_end, finish=finish)
    for tag in ("<think>", "</think>", END):
        assert tag not in turn.text.casefold()
        assert tag not in turn.thinking.casefold() or tag == END
    assert (turn.raw or turn.text) == raw
    assert turn.speaker is Speaker.TUTOR
    assert (TurnFault.BLANK in turn.faults) == (turn.text == "")
    assert not (turn.ends_dialogue and not may_end)
    assert len(set(turn.faults)) == len(turn.faults)


@given(raw=_raws, mode=_modes)
def test_parsing_its_own_text_changes_nothing(raw: str, mode: ThinkingMode) -> None:
    text = parse(raw, mode).text
    again = parse(text, OPTIONAL)
    assert (again.text, again.thinking, again.ends_dialogue) == (text, "", False)


@given(thinking=_untagged, reply=_untagged)
def test_in_prefilled_mode_nothing_before_the_close_tag_shows(thinking: str, reply: str) -> None:
    turn = parse(f"{thinking}</think>{reply}")
    assert turn.text == reply.strip()
    assert turn.thinking == thinking.strip()


@given(raw=_untagged)
def test_untagged_text_is_unfinished_thinking_or_a_reply_by_mode_alone(raw: str) -> None:
    assert parse(raw, PREFILLED, finish=LENGTH).text == ""
    assert parse(raw, OPTIONAL).text == parse(raw, NONE).text == raw.strip()
