"""Numbers of a step: void dialogues enter no mean, and those that never came back count as void."""

import pytest
import torch

from eduardo.verl_adapter.metrics import is_void, logprob_gap, step_metrics


def dialogue(reward=None, *, void=False, post=None, lost=0.0):
    return {"void": float(void), "reward_total": reward, "post": post, "num_lost_votes": lost}


def test_means_are_over_the_valid_dialogues_where_a_number_was_measured():
    numbers = step_metrics(
        [dialogue(0.5, post=0.75), dialogue(-0.2), dialogue(void=True, post=0.0, lost=3.0)],
        num_expected=3,
        prefix="dialogue",
    )
    assert numbers["dialogue/reward_total"] == pytest.approx(0.15)
    assert numbers["dialogue/post"] == 0.75
    assert numbers["dialogue/void_share"] == pytest.approx(1 / 3)
    assert numbers["dialogue/sum_lost_votes"] == 3.0
    assert "dialogue/void" not in numbers


def test_traffic_is_a_sum_over_void_dialogues_too():
    """Retries and waiting that ended in a void are what shows why."""
    good = {**dialogue(0.5), "student_num_retries": 1.0, "student_backoff_s": 0.5}
    void = {**dialogue(void=True), "student_num_retries": 10.0, "student_backoff_s": 60.0}
    numbers = step_metrics([good, void], num_expected=3, prefix="dialogue")
    assert numbers["dialogue/sum_student_num_retries"] == 11.0
    assert numbers["dialogue/sum_student_backoff_s"] == 60.5
    assert "dialogue/student_num_retries" not in numbers
    all_void = step_metrics([void], num_expected=1, prefix="dialogue")
    assert all_void["dialogue/sum_student_num_retries"] == 10.0


def test_a_dialogue_that_never_came_back_is_void():
    numbers = step_metrics([dialogue(0.5)], num_expected=4, prefix="dialogue")
    assert numbers["dialogue/num_void"] == 3
    assert numbers["dialogue/void_share"] == 0.75


def test_a_step_of_voids_has_no_mean_reward():
    numbers = step_metrics([dialogue(void=True)] * 2, num_expected=2, prefix="val")
    assert numbers["val/void_share"] == 1.0
    assert "val/reward_total" not in numbers


def test_the_flag_is_what_makes_a_dialogue_void():
    assert is_void(dialogue(void=True))
    assert not is_void(dialogue(0.0))


def test_the_log_prob_gap_looks_at_sampled_tokens_only():
    trainer = torch.tensor([[-1.0, -5.0], [-2.0, -2.0]])
    rollout = torch.tensor([[-1.5, -1.0], [-2.0, -2.25]])
    mask = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    gap = logprob_gap(trainer, rollout, mask)
    assert gap["logprob/abs_diff_mean"] == pytest.approx(0.25)
    assert gap["logprob/abs_diff_max"] == pytest.approx(0.5)


def test_without_sampled_tokens_there_is_no_gap():
    assert logprob_gap(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2)) == {}
