r"""One judge reply → one vote: what models really write, and what must never be guessed."""

from __future__ import annotations

import json
import logging
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo import views
from eduardo.judge import read_vote
from eduardo.judge.quotes import quotes_tutor
from eduardo.judge.reply import RESPONSE_FORMAT
from eduardo.llm import Completion
from eduardo.types import Criterion, Decision, FinishReason, Problem, Speaker, Transcript, Turn, Vote

PROBLEM = Problem(text="What is 2 + 6?", answer="8")
SAID = (
    "Well done! First we add **both numbers**: $2 + 6 = \\dfrac{16}{2}$.\nWhat is that?",
    "So it's “eight”, i. e. 8.00 … or 4 \\times 2.",
)
TRANSCRIPT = Transcript(
    problem=PROBLEM,
    turns=(
        views.opener(PROBLEM),
        Turn(speaker=Speaker.TUTOR, text=SAID[0]),
        Turn(speaker=Speaker.STUDENT, text="Is it seven?"),
        Turn(speaker=Speaker.TUTOR, text=SAID[1]),
    ),
)
ACCEPT = Vote(decision=Decision.ACCEPT)
VERDICT = {"reasoning": "fine", "quote": "", "decision": "accept"}


def read(
    text: str | None, *, criterion: Criterion = Criterion.FACTUAL, finish: FinishReason = FinishReason.STOP
) -> Vote:
    return read_vote(Completion(text=text, finish=finish), criterion, TRANSCRIPT)


def assert_lost(vote: Vote, fault: str) -> None:
    assert vote.decision is None
    assert vote.fault is not None
    assert fault in vote.fault


def test_a_verdict_object_is_a_vote() -> None:
    text = json.dumps({"reasoning": "Turn 2 tells the answer.", "quote": "It is 8.", "decision": "reject"})
    assert read(text) == Vote(decision=Decision.REJECT, reason="Turn 2 tells the answer.", quote="It is 8.")


def test_the_decision_stands_last_in_the_schema_so_that_a_cut_reply_lacks_it() -> None:
    schema = RESPONSE_FORMAT["json_schema"]["schema"]  # type: ignore[index]
    assert list(schema["properties"]) == schema["required"] == ["reasoning", "quote", "decision"]
    assert schema["properties"]["decision"]["enum"] == ["accept", "reject"]
    assert schema["additionalProperties"] is False


# --- LaTeX backslashes that JSON would eat ---


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"wrote \frac{1}{2}, \times, \nu, \beta", r"wrote \frac{1}{2}, \times, \nu, \beta"),
        (r"\alpha \( x \)", r"\alpha \( x \)"),
        (r"\underbrace{x}", r"\underbrace{x}"),
        (r"doubled \\frac{1}{2} and \\nu stay", r"doubled \frac{1}{2} and \nu stay"),
        (r"half doubled \\\frac", r"half doubled \\frac"),
        (r"line one\nLine two\n\tindented\r\nnot \neq", "line one\nLine two\n\tindented\r\nnot \\neq"),
        (r"caf\u00e9 \"quoted\" a\/b", 'café "quoted" a/b'),
        (r"\right) \rho \text{cm} \tan x \tfrac12", r"\right) \rho \text{cm} \tan x \tfrac12"),
        (r"set \{1, 2\} costs \$5 or 5\%", r"set \{1, 2\} costs \$5 or 5\%"),
        (r"\ud83d alone", "? alone"),
    ],
)
def test_j01_latex_in_the_reasoning_is_restored(source: str, reason: str) -> None:
    vote = read(f'{{"reasoning":"{source}","quote":"","decision":"accept"}}')
    assert (vote.decision, vote.reason) == (Decision.ACCEPT, reason)


# --- what stands around the object ---

REJECT_OBJECT = '{"reasoning":"r","quote":"q","decision":"reject"}'
ACCEPT_OBJECT = '{"reasoning":"r","quote":"","decision":"accept"}'


@pytest.mark.parametrize(
    "text",
    [
        f"Sure!\n```json\n{REJECT_OBJECT}\n```\nHope this helps {{smile}}.",
        f"<think>maybe {ACCEPT_OBJECT}</think>{REJECT_OBJECT}",
        f"maybe {ACCEPT_OBJECT}</think>\n\n{REJECT_OBJECT}",
        f"Draft: {ACCEPT_OBJECT}\nFinal: {REJECT_OBJECT}",
        f"```\nscratch {{1, 2}} work\n```\n```json\n{REJECT_OBJECT}\n```",
        '{"reasoning":"it wrote ```json\\n{}\\n``` to me","quote":"q","decision":"reject"}',
        "{'reasoning': 'r', 'quote': 'q', 'decision': 'reject'}",
        '{"reasoning":"two\nlines","quote":"q","decision":"reject"}',
        '{"reasoning":"he said "42" twice","quote":"q","decision":"reject"}',
        '{"reasoning":"a 5" nail","quote":"q","decision":"reject"}',
        f"[{REJECT_OBJECT}]",
        f'{{"verdict": {REJECT_OBJECT}}}',
        '{"reasoning":"r","quote":"q","decision":"reject","decision":"reject"}',
        '{"reasoning":"r","quote":"q","decision":" Reject "}',
        '{"reasoning":"r","quote":"q","decision":"reject",}',
        '{"reasoning":["r1","r2"],"quote":"q","decision":"reject","confidence":0.9}',
        'The set {1, 2} and \\frac{1}{2}: {"decision":"reject","quote":"q"}',
        "{ 1, 2 </think>" + REJECT_OBJECT,
    ],
)
def test_j02_the_last_verdict_outside_the_thinking_counts(text: str) -> None:
    vote = read(text)
    assert (vote.decision, vote.quote, vote.fault) == (Decision.REJECT, "q", None)


def test_conflicting_verdicts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        read(f"{ACCEPT_OBJECT}{REJECT_OBJECT}")
    assert "conflicting verdicts" in caplog.text


def test_a_quoted_verdict_is_no_verdict() -> None:
    text = json.dumps(
        {"reasoning": f"The tutor wrote {ACCEPT_OBJECT}.", "quote": ACCEPT_OBJECT, "decision": "reject"}
    )
    assert read(text).decision is Decision.REJECT


@pytest.mark.parametrize("tags", ["<think> and </think>", "<think>", "</think>"])
def test_a_quoted_think_tag_hides_nothing(tags: str) -> None:
    text = json.dumps({"reasoning": f"It has {tags} in it.", "quote": "", "decision": "accept"})
    assert read(text).decision is Decision.ACCEPT


# --- no verdict is not a verdict ---


@pytest.mark.parametrize("finish", [FinishReason.LENGTH, FinishReason.OTHER])
def test_j05_a_reply_that_did_not_end_by_itself_is_lost_even_if_it_looks_complete(
    finish: FinishReason,
) -> None:
    assert_lost(read(ACCEPT_OBJECT, finish=finish), f"finish: {finish}")


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_j05_an_empty_reply_is_lost(text: str | None) -> None:
    assert_lost(read(text), "empty")


@pytest.mark.parametrize(
    "text",
    [
        '{"reasoning":"The tutor gives away the ans',
        '{"decision":"accept","reasoning":"cut he',
        "The decision is accept.",
        '{"reasoning":"r","quote":"","decision":"OK"}',
        '{"reasoning":"r","quote":"","decision":"accept or reject"}',
        '{"reasoning":"r","quote":"","decision":null}',
        '{"reasoning":"r","quote":"","decision":true}',
        '{"reasoning":"r","quote":"","verdict":"accept"}',
        f"<think>{ACCEPT_OBJECT}",
        f"<think>{ACCEPT_OBJECT}</think>",
        f"{ACCEPT_OBJECT}</think> I can not say.",
        '{"reasoning":"r","decision":"accept","decision":"reject"}',
        '{"reasoning":"they wrote "decision":"accept" there","decision":"reject"}',
        json.dumps({"turn": 2, "speaker": "tutor", "text": ACCEPT_OBJECT}),
        json.dumps({"reasoning": f"quoted {ACCEPT_OBJECT}", "quote": ACCEPT_OBJECT, "decision": "unclear"}),
        "accept",
        "[]",
        "{}",
        '"accept"',
    ],
)
def test_j05_what_holds_no_certain_verdict_is_lost(text: str) -> None:
    assert_lost(read(text), "no verdict object")


def handover(quote: str) -> Vote:
    text = json.dumps({"reasoning": "It helps a lot.", "quote": quote, "decision": "reject"})
    return read(text, criterion=Criterion.NO_HANDOVER)


@pytest.mark.parametrize(
    "quote",
    [
        *("", " ", "...", '""', "Tutor:", "?!"),
        *("The answer is 8.", "Is it seven?", "2 + 6 = 8", PROBLEM.text),
        "First we add both numbers … and then we multiply",
    ],
)
def test_a_handover_must_be_quoted_from_a_tutor_turn(quote: str) -> None:
    vote = handover(quote)
    assert_lost(vote, "must quote a tutor turn")
    assert (vote.reason, vote.quote) == ("It helps a lot.", quote)


@pytest.mark.parametrize(
    "quote",
    [
        *SAID,
        "first we ADD both numbers: 2+6 = \\dfrac {16}{2}",
        "`First we add both numbers: \\( 2 + 6 = \\frac{16}{2} \\)`",
        "Tutor: 'First we add both numbers ... What is that?'",
        '[turn 4, tutor]: So it’s "eight", i.e. 8.00',
        "Well done! […] or 4 × 2",
        "First we add both numbers / So it's",
        'Turn 2: "First we add both numbers"\nTurn 4: "So it is eight"'.replace("it is", "it's"),
        "eight",
    ],
)
def test_a_quote_may_be_copied_a_little_differently(quote: str) -> None:
    assert handover(quote) == Vote(decision=Decision.REJECT, reason="It helps a lot.", quote=quote)


def test_a_false_statement_need_not_be_quoted() -> None:
    assert read('{"reasoning":"r","quote":"","decision":"reject"}').decision is Decision.REJECT


@given(st.text(), st.integers(1, 200))
def test_the_beginning_of_a_tutor_turn_is_a_quote_of_it(text: str, length: int) -> None:
    said = Transcript(problem=PROBLEM, turns=(views.opener(PROBLEM), Turn(speaker=Speaker.TUTOR, text=text)))
    assert quotes_tutor(text[:length], said) == bool(text[:length].strip())


# --- robustness ---

_pieces = st.lists(
    st.sampled_from(
        ['{"', '"}', "{", "}", '"', "'", "\\", ":", ",", "decision", '"decision":"accept"', ACCEPT_OBJECT]
    )
    | st.sampled_from(["<think>", "</think>", "```", "[", "]", "reject", "\n"])
    | st.text(max_size=4),
    max_size=16,
)


@given(pieces=_pieces)
def test_no_reply_raises(pieces: list[str]) -> None:
    vote = read("".join(pieces))
    assert (vote.decision is None) == (vote.fault is not None)


@given(reasoning=st.text(), quote=st.text(), decision=st.sampled_from(Decision), prose=st.text(max_size=20))
def test_any_sound_json_verdict_is_read(reasoning: str, quote: str, decision: Decision, prose: str) -> None:
    source = json.dumps({"reasoning": reasoning, "quote": quote, "decision": decision})
    assert read(source).decision is decision


@given(decision=st.sampled_from(Decision), reasoning=st.text(), cut=st.data())
def test_a_cut_verdict_is_lost_wherever_it_is_cut(
    decision: Decision, reasoning: str, cut: st.DataObject
) -> None:
    source = json.dumps({"decision": decision, "reasoning": reasoning, "quote": ""})
    end = cut.draw(st.integers(0, len(source) - 1))
    assert read(source[:end]).decision is None


def test_a_degenerate_reply_is_read_quickly() -> None:
    start = time.perf_counter()
    for filler in ("{", '{"', '{"a":', '{"decision":"accept"', "\\", '"', "{'"):
        assert read(filler * (16_000 // len(filler))).decision is None
    assert time.perf_counter() - start < 5
