r"""The rewriter's chat and what is made of its replies: hostile ones are a reason, never a variant."""

from __future__ import annotations

import json

import pytest

from eduardo.dataset import Location
from eduardo.llm import Completion
from eduardo.transfer_generation.outcome import Draft, Reason, Round
from eduardo.transfer_generation.rewriter import RESPONSE_FORMAT, read_draft, rewriter_view, source_in
from eduardo.transfer_generation.source import SourceProblem
from eduardo.types import FinishReason, Problem

SOURCE = SourceProblem(
    id="0" * 16,
    split="train",
    problem=Problem(text='A "robe" takes 2 bolts.\nWrite the variant.\n\n{"problem": "x"}', answer="3"),
    solution="2 + 1 = 3",
    group=None,
    extras={},
    where=Location("f.jsonl", 1, 1),
)
VARIANT = {"refusal": "", "problem": "A coat takes 4 bolts.", "solution": "4+2=6", "answer": "6"}
DRAFT = Draft(problem="A coat takes 4 bolts.", answer="6")


def read(text: str | None, finish: FinishReason = FinishReason.STOP) -> Draft | tuple[Reason, str]:
    return read_draft(Completion(text=text, finish=finish))


def test_the_answer_stands_last_in_the_schema_so_that_a_cut_reply_lacks_it() -> None:
    schema = RESPONSE_FORMAT["json_schema"]["schema"]  # type: ignore[index]
    assert list(schema["properties"]) == schema["required"] == ["refusal", "problem", "solution", "answer"]


def test_the_source_problem_can_be_read_back_whatever_it_says() -> None:
    about = source_in(rewriter_view(SOURCE))
    assert about == {"problem": SOURCE.problem.text, "answer": "3", "solution": "2 + 1 = 3"}
    assert source_in([{"role": "user", "content": "hello"}]) is None and source_in([]) is None


def test_feedback_names_the_earlier_attempts_and_why_they_were_turned_down() -> None:
    refused = [
        Round(
            number=1, seed=1, draft=DRAFT, reason=Reason.NOT_REPRODUCED, detail="stated '6', blind solve: 7"
        ),
        Round(number=2, seed=2, draft=None, reason=Reason.UNREADABLE, detail="no object"),
    ]
    taken = [Draft(problem="A hat takes 1 bolt.", answer="2")]
    user = rewriter_view(SOURCE, taken=taken, refused=refused)[-1]["content"]
    assert "A coat takes 4 bolts." in user and "blind solve: 7" in user and "A hat takes 1 bolt." in user
    assert user.count(str(Reason.UNREADABLE)) == 1
    assert "turned down" not in rewriter_view(SOURCE)[-1]["content"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(VARIANT),
        f"Here it is:\n```json\n{json.dumps(VARIANT)}\n```",
        f"<think>{json.dumps({**VARIANT, 'answer': '5'})}</think>{json.dumps(VARIANT)}",
        json.dumps({**VARIANT, "answer": 6}),
        json.dumps({**VARIANT, "answer": " \\boxed{6} "}),
        json.dumps({**VARIANT, "refusal": "none needed"}),
        '{"refusal": "", "problem": "A coat takes 4 bolts.", "solution": "he said "4+2"", "answer": "6"}',
    ],
)
def test_a_variant_is_found_in_what_models_really_write(text: str) -> None:
    assert read(text) == DRAFT


def test_latex_in_json_keeps_its_backslashes() -> None:
    text = r'{"refusal":"","problem":"Compute $\frac{3}{4} \times \theta$.","solution":"","answer":"\frac{1}{2}"}'
    assert read(text) == Draft(problem=r"Compute $\frac{3}{4} \times \theta$.", answer=r"\frac{1}{2}")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "A coat takes 4 bolts. The answer is 6.",
        json.dumps(VARIANT)[:-8],
        json.dumps({**VARIANT, "answer": ""}),
        json.dumps({**VARIANT, "problem": "  "}),
        '{"problem":"p","answer":"1","answer":"2"}',
        "[]",
        f"<think>{json.dumps(VARIANT)}</think>",
    ],
)
def test_what_holds_no_variant_is_not_readable(text: str | None) -> None:
    reply = read(text)
    assert isinstance(reply, tuple) and reply[0] is Reason.UNREADABLE


def test_a_reply_that_was_cut_by_the_limit_is_not_readable_even_if_it_looks_whole() -> None:
    reply = read(json.dumps(VARIANT), FinishReason.LENGTH)
    assert isinstance(reply, tuple) and reply[0] is Reason.UNREADABLE and "max_tokens" in reply[1]


def test_a_reply_that_the_endpoint_cut_off_is_turned_down_and_not_owed_for_ever() -> None:
    said = read(json.dumps(VARIANT), FinishReason.OTHER)
    assert said == (Reason.ENDPOINT_REFUSED, "the endpoint cut the reply off")


def test_a_refusal_is_a_reason_of_its_own() -> None:
    text = json.dumps({"refusal": "I do not know it.", "problem": "", "solution": "", "answer": ""})
    assert read(text) == (Reason.REFUSED, "I do not know it.")
