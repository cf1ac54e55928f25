"""One record of the published columns becomes a pair, or one reason why it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from eduardo.dataset.columns import check_columns, parse_record
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.location import Location, Record
from eduardo.errors import UserError
from eduardo.types import SolveRate

HERE = Location("train.jsonl", 3, 4)
GOOD: dict[str, Any] = {
    "problem": "What is 2 + 3?",
    "answer": "5",
    "transfer_problem": "What is 4 + 5?",
    "transfer_answer": "9",
    "pre_solve_rate": 0.25,
    "pre_solve_rate_transfer_problem": 0.5,
    "pre_solve_rate_n_scored": 16,
    "pre_solve_rate_transfer_n_scored": 15.0,
    "llama8b_solve_rate": 0.4,
}


def check_key(key: str) -> str | None:
    return "nothing to compare with" if key == "???" else None


def parse(**changes: Any) -> Any:
    return parse_record(Record(GOOD | changes, HERE), check_key)


def test_a_full_record_becomes_a_pair_with_both_baselines():
    sourced = parse()
    assert sourced.pair.source.problem.text == "What is 2 + 3?"
    assert sourced.pair.source.baseline == SolveRate(value=0.25, num_graded=16)
    assert sourced.pair.variant.problem.answer == "9"
    assert sourced.pair.variant.baseline == SolveRate(value=0.5, num_graded=15)
    assert sourced.extras == {"llama8b_solve_rate": 0.4}


@pytest.mark.parametrize("empty", [None, "", "  \n", float("nan")])
def test_empty_variant_fields_mean_no_variant(empty):
    sourced = parse(
        transfer_problem=empty, transfer_answer=empty, pre_solve_rate_transfer_problem=float("nan")
    )
    assert sourced.pair.variant is None


def test_the_id_depends_on_the_content_only():
    assert parse().pair.id == parse(pre_solve_rate=0.9, llama8b_solve_rate=None).pair.id
    assert (
        len({parse().pair.id, parse(answer="6").pair.id, parse(transfer_problem="And 1 + 1?").pair.id}) == 3
    )


def test_rates_without_a_graded_sample_or_a_value_are_unmeasured():
    assert parse(pre_solve_rate_n_scored=0).pair.source.baseline is None
    assert parse(pre_solve_rate=None).pair.source.baseline is None
    assert parse(pre_solve_rate_n_scored=None).pair.source.baseline == SolveRate(value=0.25, num_graded=None)


@pytest.mark.parametrize(
    ("changes", "rule", "reason"),
    [
        ({"problem": " "}, Rule.MISSING_PROBLEM, "problem is missing"),
        ({"problem": None}, Rule.MISSING_PROBLEM, "problem is missing"),
        ({"answer": ""}, Rule.MISSING_ANSWER, "answer is missing"),
        ({"transfer_answer": None}, Rule.MISSING_ANSWER, "transfer_answer is missing"),
        (
            {"transfer_problem": None},
            Rule.MISSING_PROBLEM,
            "transfer_answer has no transfer_problem",
        ),
        ({"pre_solve_rate": float("nan")}, Rule.BAD_RATE, "pre_solve_rate is nan"),
        ({"pre_solve_rate": 1.01}, Rule.BAD_RATE, "pre_solve_rate is 1.01"),
        ({"pre_solve_rate_transfer_problem": -0.1}, Rule.BAD_RATE, "is -0.1"),
        ({"pre_solve_rate": float("inf")}, Rule.BAD_RATE, "is inf"),
        (
            {"answer": "???"},
            Rule.UNGRADABLE_KEY,
            "answer str '???' cannot be graded: nothing to compare with",
        ),
        ({"transfer_answer": "???"}, Rule.UNGRADABLE_KEY, "transfer_answer"),
        ({"answer": 5}, Rule.WRONG_TYPE, "answer must be text, got int 5"),
        ({"problem": ["a"]}, Rule.WRONG_TYPE, "problem must be text, got list"),
        ({"pre_solve_rate": "0.5"}, Rule.WRONG_TYPE, "pre_solve_rate must be a number, got str '0.5'"),
        ({"pre_solve_rate": True}, Rule.WRONG_TYPE, "must be a number, got bool"),
        ({"pre_solve_rate_n_scored": 1.5}, Rule.WRONG_TYPE, "must be a whole number"),
        ({"pre_solve_rate_n_scored": float("inf")}, Rule.WRONG_TYPE, "must be a whole number"),
        ({"pre_solve_rate_n_scored": -1}, Rule.WRONG_TYPE, "must be a whole number"),
        ({"problem": "half \ud800"}, Rule.BAD_TEXT, "half of a surrogate pair at character 5"),
    ],
)
def test_a_faulty_record_is_refused_with_the_place_and_the_reason(changes, rule, reason):
    dropped = parse(**changes)
    assert isinstance(dropped, Dropped)
    assert dropped.rule is rule
    assert dropped.rule.is_fault
    assert reason in dropped.reason
    assert str(dropped).startswith("train.jsonl line 4: ")


def test_a_record_that_is_no_object_is_refused():
    dropped = parse_record(Record([1, 2], HERE), check_key)
    assert isinstance(dropped, Dropped)
    assert dropped.rule is Rule.WRONG_TYPE


def test_missing_columns_are_named_with_what_was_probably_meant():
    columns = [*GOOD, "transfer_anwser", "question"]
    columns.remove("transfer_answer")
    columns.remove("pre_solve_rate")
    with pytest.raises(
        UserError, match=r"pre_solve_rate, *|transfer_answer \(did you mean transfer_anwser\?\)"
    ) as caught:
        check_columns(columns, "train.jsonl")
    assert "transfer_answer (did you mean transfer_anwser?)" in str(caught.value)
    assert "found: " in str(caught.value)


def test_optional_columns_may_be_absent():
    check_columns([name for name in GOOD if "n_scored" not in name], "train.jsonl")
