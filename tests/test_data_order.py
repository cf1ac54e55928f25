"""The order of problems is a function of (seed, epoch, offset), whatever was trained before in this process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.errors import UserError
from eduardo.types import ItemKind, Problem, TestItem, TransferPair
from eduardo.verl_adapter.data_order import DataOrder, Position
from eduardo.verl_adapter.episode import Sample


def order(num_rows=12, *, batch_size=4, seed=42, ids=None):
    return DataOrder(ids or [f"p{i}" for i in range(num_rows)], batch_size=batch_size, seed=seed)


def pair(row):
    item = TestItem(problem=Problem(text="p", answer="1"), baseline=None, kind=ItemKind.SOURCE)
    return TransferPair(id=f"p{row}", source=item, variant=None)


def test_an_epoch_shows_every_problem_once():
    rows = [row for step in (1, 2, 3) for row in order().rows(step)]
    assert sorted(rows) == list(range(12))


def test_epochs_are_shuffled_anew():
    epochs = [[row for step in steps for row in order().rows(step)] for steps in ((1, 2, 3), (4, 5, 6))]
    assert sorted(epochs[0]) == sorted(epochs[1])
    assert epochs[0] != epochs[1]


def test_r01_the_step_after_the_last_of_an_epoch_has_a_full_batch():
    assert order().position(4) == Position(epoch=1, offset=0)
    assert len(order().rows(4)) == 4


def test_a_last_incomplete_batch_is_left_out():
    assert order(10).steps_per_epoch == 2
    assert order(10).position(3) == Position(epoch=1, offset=0)


@given(st.integers(1, 200), st.integers(0, 2**31))
def test_r01_a_resumed_run_continues_the_same_sequence(step, seed):
    assert order(seed=seed).rows(step) == order(seed=seed).rows(step)


def test_r01_no_two_dialogues_of_a_run_share_a_seed_and_a_resumed_run_has_the_same_ones():
    def seeds(steps):
        return [
            Sample(task=pair(row), prompt=[], split="train", step=step, index=index).seed(42)
            for step in steps
            for row in order().rows(step)
            for index in range(8)
        ]

    whole = seeds(range(1, 7))
    assert len(set(whole)) == len(whole) == 6 * 4 * 8
    assert whole == seeds(range(1, 3)) + seeds(range(3, 7))


def test_the_seed_decides_the_order():
    assert order(seed=1).rows(1) != order(seed=2).rows(1)


def test_fewer_problems_than_a_batch_are_refused():
    with pytest.raises(UserError, match="more than the 3 training rows"):
        order(3)


def test_a_repeated_id_is_refused():
    with pytest.raises(UserError, match="'a' appears more than once"):
        order(ids=["a", "b", "a", "c"])


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (order(13), "fingerprint"),
        (order(11), "fingerprint"),
        (order(ids=[f"q{i}" for i in range(12)]), "fingerprint"),
        (order(seed=7), "seed"),
        (order(batch_size=3), "batch size"),
    ],
)
def test_r01_resuming_with_other_data_or_settings_is_refused(other, named):
    saved = order().state(5)
    order().check_state(saved, 5)
    with pytest.raises(UserError, match=f"cannot resume: {named}"):
        other.check_state(saved, 5)


def test_a_checkpoint_names_where_the_data_go_on():
    assert order().state(3)["next_epoch"] == 1
    assert order().state(3)["next_offset"] == 0
    assert order().state(2)["next_offset"] == 8
