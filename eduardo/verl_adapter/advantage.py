"""Group-relative advantages in which void dialogues take no part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch

NAME = "grpo_void_aware"  # algorithm.adv_estimator
TIE_RANGE = 1e-6  # rewards of a group that differ by no more than this are equal


def group_advantage(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Sequence[Hashable],
    config: Mapping[str, Any],
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outcome reward minus the mean of the group's valid members, on every sampled token.

    Args: rewards and mask of shape (dialogues, tokens); `index` names each dialogue's group. A dialogue whose mask
    is all zero is void: its reward is ignored, whatever it is. A group of one valid member, or one whose rewards are
    equal, gets exactly 0. `config.norm_adv_by_std_in_grpo` divides by the standard deviation as well.
    Returns advantages and returns, both (dialogues, tokens). Raises ValueError on a reward that is not finite.
    """
    valid = response_mask.sum(dim=-1) > 0
    scores = torch.where(valid[:, None], token_level_rewards, 0.0).double().sum(dim=-1)
    if not torch.isfinite(scores).all():
        raise ValueError("a reward is not finite: an unmeasured dialogue must be void, not a number")
    members: dict[Hashable, list[int]] = defaultdict(list)
    for row, group in enumerate(index):
        if valid[row]:
            members[group].append(row)
    advantages = torch.zeros_like(scores)
    for rows in members.values():
        rewards = scores[rows]
        if rewards.max() - rewards.min() <= TIE_RANGE:
            continue
        centred = rewards - rewards.mean()
        if config.get("norm_adv_by_std_in_grpo"):
            centred = centred / rewards.std()
        advantages[rows] = centred
    per_token = advantages[:, None].to(token_level_rewards.dtype) * response_mask
    return per_token, per_token
