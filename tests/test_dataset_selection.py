"""Which rows go where: bands, disjoint splits, groups kept whole, the test set first."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eduardo.dataset.columns import SourcedPair, parse_record
from eduardo.dataset.complaints import Rule
from eduardo.dataset.location import Location, Record
from eduardo.dataset.selection import Band, Selection, SelectionSettings, select
from eduardo.dataset.wording import exact_key

WORDS = ("apple", "river", "stone", "cloud", "tiger", "bread", "glass", "paint") * 2


def text(number: int) -> str:
    """A problem whose wording shares next to nothing with that of another number."""
    return " ".join(
        f"{WORDS[(number * 7 + i * 3) % 16]}{chr(97 + number % 26)}{chr(97 + number // 26)}" for i in range(9)
    )


def row(number: int, *, split: str = "train", **changes: object) -> SourcedPair:
    values = {
        "problem": text(2 * number),
        "answer": "1",
        "transfer_problem": text(2 * number + 1),
        "transfer_answer": "2",
        "pre_solve_rate": 0.5,
        "pre_solve_rate_transfer_problem": 0.5,
    } | changes
    sourced = parse_record(Record(values, Location(split, number + 1)), lambda key: None)
    assert isinstance(sourced, SourcedPair)
    return sourced


def choose(train: list[SourcedPair], test: list[SourcedPair], **changes: object) -> Selection:
    defaults = {
        "num_train": 100,
        "num_val": 2,
        "num_test": 100,
        "seed": 42,
        "band": Band(0.02, 0.65),
        "test_band": Band(0.0, 1.0),
        "min_graded": 1,
        "similarity": 0.5,
    }
    return select(train, test, SelectionSettings(**(defaults | changes)))  # type: ignore[arg-type]


def rows(pairs: list[SourcedPair]) -> list[int]:
    return [pair.where.row for pair in pairs]


TESTS = [row(100 + i, split="test") for i in range(3)]


def test_train_and_val_are_disjoint_and_come_from_the_train_split():
    selection = choose([row(i) for i in range(20)], TESTS)
    assert len(selection.val) == 2
    assert sorted(rows(selection.train) + rows(selection.val)) == list(range(1, 21))
    assert rows(selection.test) == [101, 102, 103]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"transfer_problem": None, "transfer_answer": None}, Rule.NO_VARIANT),
        ({"pre_solve_rate": None}, Rule.NO_RATE),
        ({"pre_solve_rate_transfer_problem": None}, Rule.NO_RATE),
        ({"pre_solve_rate": 0.01}, Rule.RATE_BAND),
        ({"pre_solve_rate_transfer_problem": 0.66}, Rule.RATE_BAND),
        ({"pre_solve_rate_n_scored": 3}, Rule.FEW_GRADED),
        ({"pre_solve_rate_transfer_n_scored": 3}, Rule.FEW_GRADED),
    ],
)
def test_a_training_row_needs_a_variant_and_both_rates_in_the_band(changes, rule):
    selection = choose([row(0, **changes), *(row(i) for i in range(1, 9))], TESTS, min_graded=4)
    assert [(one.where.row, one.rule) for one in selection.dropped_train] == [(1, rule)]


def test_both_ends_of_the_band_are_inside():
    ends = [row(0, pre_solve_rate=0.02), row(1, pre_solve_rate_transfer_problem=0.65), row(2), row(3)]
    assert choose(ends, TESTS).dropped_train == []


def test_test_rows_have_no_band_by_default_but_need_variant_and_rates():
    tests = [
        row(100, split="test", pre_solve_rate=1.0),
        row(101, split="test", pre_solve_rate=None),
        row(102, split="test", transfer_problem=None, transfer_answer=None),
    ]
    selection = choose([row(i) for i in range(5)], tests)
    assert rows(selection.test) == [101]
    assert Counter(one.rule for one in selection.dropped_test) == {Rule.NO_RATE: 1, Rule.NO_VARIANT: 1}


TRAIN_STORY = "Janet has 3 apples and buys 4 more at the market. How many apples does Janet have now?"
TWIN = TRAIN_STORY.replace("Janet", "Omar").replace("3", "12").replace("4", "30")


@pytest.mark.parametrize(
    "copy", [TRAIN_STORY, TWIN, TRAIN_STORY.replace("at the market", "at the  corner market.")]
)
@pytest.mark.parametrize("column", ["problem", "transfer_problem"])
def test_d03_the_test_set_wins_over_copies_and_twins_in_the_train_split(copy, column):
    train = [row(0, problem=TRAIN_STORY), *(row(i) for i in range(1, 6))]
    selection = choose(train, [row(100, split="test", **{column: copy}), *TESTS[1:]])
    assert [(one.where.row, one.rule) for one in selection.dropped_train] == [(1, Rule.NEAR_TEST)]
    assert rows(selection.test) == [101, 102, 103]


def test_a_test_row_that_is_filtered_out_still_keeps_its_twin_out_of_training():
    unusable = row(100, split="test", problem=TWIN, pre_solve_rate=None)
    selection = choose([row(0, problem=TRAIN_STORY), *(row(i) for i in range(1, 6))], [unusable, *TESTS[1:]])
    assert [one.rule for one in selection.dropped_train] == [Rule.NEAR_TEST]


def test_d03_siblings_of_one_base_problem_stay_on_one_side():
    family = [row(i, problem=TRAIN_STORY.replace("3", str(i + 10))) for i in range(4)]
    for seed in range(20):
        selection = choose([*family, *(row(i) for i in range(4, 12))], TESTS, seed=seed, num_val=4)
        inside = [pair.where.row <= 4 for pair in selection.val]
        assert all(inside) or not any(inside)


def test_rows_of_one_labelled_group_stay_on_one_side():
    families = [row(i, group=f"template-{i % 3}") for i in range(12)]
    selection = choose(families, TESTS, num_val=4)
    assert len({pair.group for pair in selection.val}) == 1
    assert {pair.group for pair in selection.val}.isdisjoint(pair.group for pair in selection.train)


def test_when_every_group_is_too_big_for_val_the_rest_of_one_is_given_up():
    families = [row(i, group=f"template-{i % 3}") for i in range(12)]
    selection = choose(families, TESTS, num_val=3)
    assert len(selection.val) == 3
    assert [one.rule for one in selection.dropped_train] == [Rule.NEAR_VAL]
    assert {pair.group for pair in selection.val}.isdisjoint(pair.group for pair in selection.train)


CHAIN_WORDS = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}{chr(97 + n % 7)}" for n in range(200)]


def link(number: int) -> str:
    """Texts of a chain: each overlaps with the next, and with no other, by more than half."""
    return " ".join(CHAIN_WORDS[number * 6 : number * 6 + 24])


def test_a_long_chain_to_a_test_row_costs_only_the_row_that_is_close_itself():
    chain = [row(i, problem=link(i)) for i in range(12)]
    selection = choose([*chain, row(20), row(21)], [row(100, split="test", problem=link(12)), *TESTS[1:]])
    assert [(one.where.row, one.rule) for one in selection.dropped_train] == [(12, Rule.NEAR_TEST)]


def test_a_long_chain_that_val_must_cut_costs_only_the_rows_at_the_cut():
    chain = [row(i, problem=link(i)) for i in range(12)]
    for seed in range(10):
        selection = choose(chain, TESTS, num_val=2, seed=seed)
        assert len(selection.val) == 2
        assert {one.rule for one in selection.dropped_train} == {Rule.NEAR_VAL}
        assert 1 <= len(selection.dropped_train) <= 4


def test_caps_keep_file_order_and_count_the_rest():
    selection = choose([row(i) for i in range(20)], TESTS, num_train=5, num_test=2)
    assert (len(selection.train), len(selection.val), len(selection.test)) == (5, 2, 2)
    assert rows(selection.train) == sorted(rows(selection.train))
    assert Counter(one.rule for one in selection.dropped_train) == {Rule.NOT_SAMPLED: 13}
    assert Counter(one.rule for one in selection.dropped_test) == {Rule.NOT_SAMPLED: 1}


def test_d03_the_seed_decides_and_the_order_of_the_file_does_not():
    pairs = [row(i) for i in range(30)]
    again = choose(list(reversed(pairs)), TESTS)
    assert rows(choose(pairs, TESTS).val) == rows(again.val)
    assert rows(choose(pairs, TESTS).train) == rows(again.train)
    assert len({tuple(rows(choose(pairs, TESTS, seed=seed).val)) for seed in range(10)}) > 5


@pytest.mark.parametrize(
    "copy",
    ["compute $3!$", "Compute 3!", "COMPUTE $3 !$.", "Compute \\(3!\\)"],
    ids=["case", "math", "capitals", "tex"],
)
@pytest.mark.parametrize("column", ["problem", "transfer_problem"])
def test_d03_a_short_problem_in_another_notation_is_never_on_two_sides(copy, column):
    tests = [*TESTS, row(200, split="test", problem="Compute $3!$")]
    dropped = choose([row(0, **{column: copy}), *(row(i) for i in range(1, 9))], tests).dropped_train
    assert [(one.where.row, one.rule) for one in dropped] == [(1, Rule.NEAR_TEST)]


@settings(max_examples=25, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 12), min_size=1, max_size=20),
    test_numbers=st.lists(st.integers(0, 12), max_size=4),
    num_val=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_no_problem_is_ever_on_two_sides(numbers, test_numbers, num_val, seed):
    train = [row(n, transfer_problem=text(n + 40), answer=str(i)) for i, n in enumerate(numbers)]
    test = [row(n, split="test", answer=str(i)) for i, n in enumerate(test_numbers)]
    selection = choose(train, test, num_val=num_val, seed=seed)
    sides = [
        {
            exact_key(item.problem.text)
            for pair in side
            for item in (pair.pair.source, pair.pair.variant)
            if item
        }
        for side in (selection.train, selection.val, selection.test)
    ]
    assert sides[0].isdisjoint(sides[1] | sides[2])
    assert sides[1].isdisjoint(sides[2])
    assert len(selection.train) + len(selection.val) + len(selection.dropped_train) == len(train)
