"""Metrics of a step: means over its dialogues, and how far trainer and rollout are apart."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from eduardo.verl_adapter.traffic import COUNTED

VOID = "void"
REWARD = "reward_total"
LOST_VOTES = "num_lost_votes"
ENVIRONMENT = "environment"  # number of the dialogue's environment, no measurement

DialogueNumbers = Mapping[str, float | None]  # of `eduardo.records.flat_metrics`; None: not measured


def is_void(numbers: DialogueNumbers) -> bool:
    return bool(numbers[VOID])


def step_metrics(dialogues: Sequence[DialogueNumbers], *, num_expected: int, prefix: str) -> dict[str, float]:
    """Mean of every number over the valid dialogues where it was measured, and counts of what was not.

    `dialogues` are those that came back, void ones included; those of `num_expected` that did not are void too.
    Traffic and lost votes are sums over all that came back: what made a dialogue void is seen there first.
    """
    valid = [numbers for numbers in dialogues if not is_void(numbers)]
    columns = {key: [v for d in valid if (v := d[key]) is not None] for key in (valid[0] if valid else {})}
    measured = {key: values for key, values in columns.items() if _is_measurement(key) and values}
    means = {f"{prefix}/{key}": statistics.fmean(values) for key, values in measured.items()}
    if len(rewards := measured.get(REWARD, [])) > 1:
        means[f"{prefix}/reward_std"] = statistics.stdev(rewards)
    num_void = num_expected - len(valid)
    return {
        **means,
        f"{prefix}/num_dialogues": float(num_expected),
        f"{prefix}/num_void": float(num_void),
        f"{prefix}/void_share": num_void / num_expected,
        f"{prefix}/sum_lost_votes": sum(d.get(LOST_VOTES) or 0.0 for d in dialogues),
        **_traffic(dialogues, prefix=prefix),
    }


def _traffic(dialogues: Sequence[DialogueNumbers], *, prefix: str) -> dict[str, float]:
    keys = [key for key in (dialogues[0] if dialogues else {}) if _is_traffic(key)]
    return {f"{prefix}/sum_{key}": sum(d[key] or 0.0 for d in dialogues) for key in keys}


def _is_traffic(key: str) -> bool:
    return key.endswith(COUNTED)


def _is_measurement(key: str) -> bool:
    return key not in (VOID, ENVIRONMENT) and not _is_traffic(key)


def metrics_by_environment(
    dialogues: Sequence[DialogueNumbers], environments: Sequence[str], *, prefix: str
) -> dict[str, float]:
    """`PREFIX/ENVIRONMENT/...` for each of the environments that came up, beside what is common to all.

    `environments` are named by their number. Dialogues that never came back belong to none: they are counted in
    the whole only.
    """
    numbers: dict[str, float] = {}
    for index, name in enumerate(environments):
        own = [dialogue for dialogue in dialogues if dialogue[ENVIRONMENT] == index]
        if own:
            numbers |= step_metrics(own, num_expected=len(own), prefix=f"{prefix}/{name}")
    return numbers


def logprob_gap(trainer: Any, rollout: Any, mask: Any) -> dict[str, float]:
    """Mean and largest |trainer − rollout| log-prob difference over sampled tokens. Tensors (dialogues, tokens)."""
    gap = (trainer - rollout).abs() * mask
    num_tokens = mask.sum()
    if num_tokens == 0:
        return {}
    return {
        "logprob/abs_diff_mean": float(gap.sum() / num_tokens),
        "logprob/abs_diff_max": float(gap.max()),
    }
