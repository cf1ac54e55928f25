"""Group-relative advantages: void dialogues take no part, ties are exactly zero, nothing unmeasured is a number."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eduardo.verl_adapter.advantage import group_advantage

NUM_TOKENS = 3


def advantages(rewards, *, groups=None, void=(), by_std=False):
    """One advantage per dialogue for outcome rewards on the last token; `void` are row numbers."""
    scores = torch.zeros(len(rewards), NUM_TOKENS)
    scores[:, -1] = torch.tensor(rewards, dtype=torch.float32)
    mask = torch.ones(len(rewards), NUM_TOKENS)
    mask[list(void)] = 0
    index = groups or ["g"] * len(rewards)
    per_token, returns = group_advantage(
        token_level_rewards=scores,
        response_mask=mask,
        index=index,
        config={"norm_adv_by_std_in_grpo": by_std},
    )
    assert torch.equal(per_token, returns)
    return per_token[:, 0].tolist()


def test_is_reward_minus_the_mean_of_the_group():
    assert advantages([1.0, 0.0, 0.5, 0.5]) == pytest.approx([0.5, -0.5, 0.0, 0.0])


def test_groups_do_not_see_each_other():
    assert advantages([1.0, 0.0, 9.0, 7.0], groups=["a", "a", "b", "b"]) == pytest.approx([0.5, -0.5, 1, -1])


def test_a_void_dialogue_moves_neither_the_others_nor_the_policy():
    with_void = advantages([0.6, 0.7, 0.65, 0.0], void=[3])
    assert with_void == pytest.approx([-0.05, 0.05, 0.0, 0.0], abs=1e-6)


def test_the_reward_of_a_void_dialogue_is_never_read():
    assert advantages([0.6, 0.7, 0.65, math.nan], void=[3]) == pytest.approx(
        [-0.05, 0.05, 0.0, 0.0], abs=1e-6
    )


def test_a_single_valid_member_gets_exactly_zero():
    assert advantages([0.5, 0.9, 0.9], void=[1, 2]) == [0.0, 0.0, 0.0]
    assert advantages([0.5], by_std=True) == [0.0]


def test_a_group_of_voids_gets_exactly_zero():
    assert advantages([math.nan, math.nan], void=[0, 1]) == [0.0, 0.0]


@pytest.mark.parametrize("rewards", [[0.3] * 4, [0.1 + 0.2, 0.3, 0.3, 0.3], [0.95] * 7])
@pytest.mark.parametrize("by_std", [False, True])
def test_equal_rewards_give_exactly_zero(rewards, by_std):
    assert advantages(rewards, by_std=by_std) == [0.0] * len(rewards)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_valid_dialogue_without_a_finite_reward_is_refused(bad):
    with pytest.raises(ValueError, match="not finite"):
        advantages([1.0, 0.0, bad, 0.0])


def test_dividing_by_the_standard_deviation_is_a_setting():
    assert advantages([1.0, 0.0], by_std=True) == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])


def test_tokens_that_were_not_sampled_get_none():
    mask = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    rewards = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    per_token, _ = group_advantage(
        token_level_rewards=rewards, response_mask=mask, index=["g", "g"], config={}
    )
    assert per_token.tolist() == [[0.5, 0.0, 0.5], [-0.0, -0.5, -0.0]]


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=8), st.data())
def test_valid_advantages_of_a_group_sum_to_zero(rewards, data):
    void = data.draw(st.sets(st.integers(0, len(rewards) - 1), max_size=len(rewards)))
    result = advantages(rewards, void=sorted(void))
    assert sum(result) == pytest.approx(0.0, abs=1e-5)
    assert all(result[row] == 0.0 for row in void)
