"""Checks over all rows of a split: conflicting answers and duplicates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eduardo.dataset import Location, Record, read_pairs
from eduardo.dataset.checks import PairSet
from eduardo.dataset.complaints import Rule
from eduardo.errors import UserError


def row(
    problem: str = "What is 2 + 3?", answer: str = "5", variant: str = "What is 4 + 5?", key: str = "9"
) -> dict:
    return {
        "problem": problem,
        "answer": answer,
        "transfer_problem": variant,
        "transfer_answer": key,
        "pre_solve_rate": 0.5,
        "pre_solve_rate_transfer_problem": 0.5,
    }


class Rows:
    """A source that is a list."""

    def __init__(self, rows: tuple[dict, ...]) -> None:
        self._rows = rows

    def records(self, split: str) -> Iterator[Record]:
        for number, row in enumerate(self._rows, start=1):
            yield Record(row, Location(f"here:{split}", number))

    def provenance(self) -> dict[str, object]:
        return {}


def read(*rows: dict) -> PairSet:
    return read_pairs(
        Rows(rows),
        "train",
        check_key=lambda key: None,
        same_answer=lambda a, b: {a, b} == {"0.5", "1/2"},
    )


def outcome(split: PairSet) -> tuple[list[int], list[tuple[int, Rule]]]:
    return [p.where.row for p in split.pairs], [(d.where.row, d.rule) for d in split.dropped]


def test_the_first_of_two_equal_rows_is_kept():
    assert outcome(read(row(), row(problem="what is  $2+3$ ?"))) == ([1], [(2, Rule.DUPLICATE)])


@pytest.mark.parametrize(
    ("one", "other"), [("Say 2 1/2 in decimals", "Say 21/2 in decimals"), ("Compute 5!", "Compute 5")]
)
def test_problems_that_only_look_alike_do_not_contradict_each_other(one, other):
    assert outcome(read(row(problem=one, answer="1"), row(problem=other, answer="2"))) == ([1, 2], [])


@pytest.mark.parametrize(("one", "other"), [("2 1/2", "21/2"), ("5!", "5")])
def test_answers_that_only_look_alike_contradict_each_other(one, other):
    pairs, dropped = outcome(read(row(answer=one), row(answer=other)))
    assert (pairs, [rule for _, rule in dropped]) == ([], [Rule.CONFLICT, Rule.CONFLICT])


def test_several_variants_of_one_problem_are_no_duplicates():
    assert outcome(read(row(), row(variant="What is 7 + 1?", key="8"))) == ([1, 2], [])


def test_d03_all_rows_with_contradicting_answers_are_refused():
    split = read(row(), row(), row(answer="6"), row(problem="What is 1 + 1?", answer="2"))
    assert outcome(split) == ([4], [(1, Rule.CONFLICT), (2, Rule.CONFLICT), (3, Rule.CONFLICT)])
    assert (
        "answers '5' and '6' (here:train row 1, here:train row 2, here:train row 3)"
        in split.dropped[0].reason
    )


def test_a_source_may_contradict_a_variant():
    assert outcome(
        read(row(), row(problem="What is 4 + 5?", answer="8", variant="What is 7 + 1?", key="8"))
    ) == (
        [],
        [(1, Rule.CONFLICT), (2, Rule.CONFLICT)],
    )


def test_two_forms_of_one_answer_are_no_contradiction():
    half = row(answer="0.5", variant="What is 1 + 1?", key="2")
    assert outcome(read(half, half | {"answer": "1/2"})) == ([1], [(2, Rule.DUPLICATE)])
    notation = row(answer=r"$\dfrac12$", variant="What is 1 + 1?", key="2")
    assert outcome(read(notation, notation | {"answer": r"\frac12"})) == ([1], [(2, Rule.DUPLICATE)])


def test_an_empty_split_and_missing_columns_are_errors():
    with pytest.raises(UserError, match="the train split is empty"):
        read()
    incomplete = row()
    del incomplete["transfer_problem"]
    with pytest.raises(UserError, match="here:train: required columns are missing: transfer_problem"):
        read(incomplete)


def test_a_row_without_a_key_that_other_rows_have_is_only_that_rows_fault():
    incomplete = row(problem="What is 1 + 1?", answer="2")
    del incomplete["answer"]
    assert outcome(read(row(), incomplete)) == ([1], [(2, Rule.MISSING_ANSWER)])
