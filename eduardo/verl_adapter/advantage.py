"""Group-relative advantages in which void dialogues take no part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch

from eduardo.verl_adapter.metrics import DialogueNumbers, is_void

NAME = "grpo_void_aware"  # algorithm.adv_estimator
TIE_RANGE = 1e-6  # rewards of a group that differ by no more than this are equal
TIED_GROUPS = "tied_groups"  # key of the configuration; verl hands nothing else of ours to an estimator
_OUTCOME = ("reward_gain", "reward_preference", "reward_gate")  # what was reached, without what shapes it


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
    equal, gets exactly 0. `config.norm_adv_by_std_in_grpo` divides by the standard deviation as well; groups in
    `config.tied_groups` then get exactly 0 too, see `tied_groups`.
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
    by_std = bool(config.get("norm_adv_by_std_in_grpo"))
    tied = set(config.get(TIED_GROUPS) or ()) if by_std else set()
    for group, rows in members.items():
        rewards = scores[rows]
        if group in tied or rewards.max() - rewards.min() <= TIE_RANGE:
            continue
        centred = rewards - rewards.mean()
        if by_std:
            centred = centred / rewards.std()
        advantages[rows] = centred
    per_token = advantages[:, None].to(token_level_rewards.dtype) * response_mask
    return per_token, per_token


def tied_groups(index: Sequence[str], dialogues: Sequence[DialogueNumbers]) -> list[str]:
    """Groups whose valid members reached the same, such as all of them rejected, whatever bonuses they got beside it.

    Divided by its standard deviation, the noise in a small bonus would count as much as a gain. Undivided it counts
    what it is worth, so that a price for not ending a dialogue still teaches to end it.
    """
    outcomes: dict[str, list[float]] = defaultdict(list)
    for group, numbers in zip(index, dialogues, strict=True):
        if not is_void(numbers):
            outcomes[group].append(sum(numbers[part] or 0.0 for part in _OUTCOME))
    return [group for group, reached in outcomes.items() if max(reached) - min(reached) <= TIE_RANGE]
