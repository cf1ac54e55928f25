"""The figures of an evaluation: what each one means, and its estimate over any set of dialogues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eduardo.evaluation.rows import Row
from eduardo.evaluation.statistics import Estimate, Floats, cluster_bootstrap, clustered_mean, clustered_rate
from eduardo.types import EndReason

# name → one line for the reader; the order of the report
FIGURES = {
    "gain_transfer": "Δ_transfer: mean gain on the variant, tutor turns masked",
    "gain_source": "Δ_same: mean gain on the source problem itself",
    "transfer_gap": "Δ_same − Δ_transfer: what does not carry over",
    "gain_of_means": "gain of means on the variant: normalized gain of the mean post and pre rates",
    "gain_of_means_source": "gain of means on the source problem itself",
    "gain_transfer_gated": "Δ_transfer with rejected dialogues counted as 0",
    "gain_source_gated": "Δ_same with rejected dialogues counted as 0",
    "transfer_gap_gated": "Δ_same − Δ_transfer with rejected dialogues counted as 0",
    "gain_of_means_gated": "gain of means on the variant, rejected dialogues counted as no change",
    "reward": "mean reward under the recipe",
    "leak_rate": "share of dialogues that the judge rejects for handing the solution over",
    "teaching_reject_rate": "share of dialogues that the judge rejects for what was taught",
    "detector_leak_rate": "share of dialogues in which the rule-based detector finds a leak",
    "end_rate": "share of dialogues that the tutor ended itself",
    "token_cap_rate": "share of dialogues in which a token cap cut a turn or ended the dialogue",
    "tutor_turns": "tutor turns per dialogue",
    "visible_tokens": "visible tokens per tutor turn",
    "thinking_tokens": "thinking tokens per tutor turn",
}

_MEANS: Mapping[str, Callable[[Row], float]] = {
    "gain_transfer": lambda row: row.gain_transfer,
    "gain_source": lambda row: row.gain_source,
    "transfer_gap": lambda row: row.gain_source - row.gain_transfer,
    "gain_transfer_gated": lambda row: row.gain_transfer if row.accepted else 0.0,
    "gain_source_gated": lambda row: row.gain_source if row.accepted else 0.0,
    "transfer_gap_gated": lambda row: row.gain_source - row.gain_transfer if row.accepted else 0.0,
    "reward": lambda row: row.reward,
    "tutor_turns": lambda row: row.num_tutor_turns,
    "visible_tokens": lambda row: row.visible_tokens,
    "thinking_tokens": lambda row: row.thinking_tokens,
}
_RATES: Mapping[str, Callable[[Row], bool]] = {
    "leak_rate": lambda row: row.leaked,
    "teaching_reject_rate": lambda row: row.mistaught,
    "detector_leak_rate": lambda row: row.detector_found_leak,
    "end_rate": lambda row: row.end_reason is EndReason.TUTOR_ENDED,
    "token_cap_rate": lambda row: row.hit_token_cap,
}
_GAINS_OF_MEANS: Mapping[str, Callable[[Row], tuple[float, float]]] = {  # pre and post of a dialogue
    "gain_of_means": lambda row: (row.pre, row.post),
    "gain_of_means_source": lambda row: (row.pre_source, row.post_source),
    "gain_of_means_gated": lambda row: (row.pre, row.post if row.accepted else row.pre),
}
RATES = frozenset(_RATES)
GAINS_OF_MEANS = frozenset(_GAINS_OF_MEANS)


def estimate(name: str, rows: Sequence[Row]) -> Estimate | None:
    """One figure with its interval, clustered by problem. None without dialogues."""
    problems = [row.pair_id for row in rows]
    if name in _RATES:
        return clustered_rate([_RATES[name](row) for row in rows], problems)
    if name in _MEANS:
        return clustered_mean([_MEANS[name](row) for row in rows], problems)
    rates = [_GAINS_OF_MEANS[name](row) for row in rows]
    columns = {"pre": [pre for pre, _ in rates], "post": [post for _, post in rates]}
    return cluster_bootstrap(columns, problems, gain_of_means)


def by_problem(name: str, rows: Sequence[Row]) -> dict[str, list[float]]:
    """Values of a mean or a rate, problem → its dialogues."""
    of = _RATES.get(name) or _MEANS[name]
    return _gathered(rows, lambda row: float(of(row)))


def rates_by_problem(name: str, rows: Sequence[Row]) -> dict[str, dict[str, list[float]]]:
    """What a gain of means is made of: `pre` and `post`, each problem → its dialogues."""
    of = _GAINS_OF_MEANS[name]
    return {
        "pre": _gathered(rows, lambda row: of(row)[0]),
        "post": _gathered(rows, lambda row: of(row)[1]),
    }


def gain_of_means(means: Mapping[str, Floats]) -> Floats:
    """`eduardo.reward.normalized_gain` over arrays of mean solve rates."""
    pre, post = means["pre"], means["post"]
    improved = post > pre
    gains: Floats = (post - pre) / np.where(improved, 1.0 - pre, 1.0)
    return gains


def _gathered(rows: Sequence[Row], of: Callable[[Row], float]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row.pair_id, []).append(of(row))
    return values
