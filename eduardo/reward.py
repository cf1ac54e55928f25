"""The reward: a pure function of what was measured. `docs/reward.md` works one example through by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eduardo.settings import RewardSettings
from eduardo.types import (
    Decision,
    EndReason,
    PostTest,
    RewardBreakdown,
    Transcript,
    Turn,
    TurnFault,
    Verdict,
)

_BAD_THINKING = {TurnFault.THINKING_TRUNCATED, TurnFault.THINKING_MALFORMED}
_CHARACTERS_PER_TOKEN = 4  # the published run's estimate, behind `length_unit: characters_over_4`


def normalized_gain(pre: float, post: float) -> float:
    """Share of the possible improvement that was realised; a loss counts in full.

    `pre` and `post` are solve rates in [0, 1]; the result lies in [-1, 1] and rises with `post`.
    At pre = 1 only a loss is possible: the gain is 0 or negative. Raises ValueError outside [0, 1].
    """
    for name, rate in (("pre", pre), ("post", post)):
        if not (math.isfinite(rate) and 0.0 <= rate <= 1.0):
            raise ValueError(f"{name} must be a solve rate in [0, 1], got {rate!r}")
    return (post - pre) / (1.0 - pre) if post > pre else post - pre


def overlength_decay(lengths: Sequence[float], target: float) -> float:
    """Length-weighted mean of per-turn decays, in (0, 1]; 1 when no turn exceeds `target` (or nothing was said).

    A turn of t > target decays by 1 / (1 + ((t - target) / target)^2).
    """
    total = math.fsum(lengths)
    if total <= 0:
        return 1.0
    weighted = (t / (1.0 + ((t - target) / target) ** 2) if t > target else t for t in lengths)
    return math.fsum(weighted) / total


def compute_reward(
    transcript: Transcript,
    verdicts: Sequence[Verdict],
    post_test: PostTest | None,
    settings: RewardSettings,
    *,
    detector_rejects: bool = False,
) -> RewardBreakdown:
    """Combine verdicts, post-test and lengths. `post_test` may be None only for a hard-gated dialogue.

    `detector_rejects` lets the deterministic detector gate beside the judge. Undecided verdicts and post-tests
    that do not count must have been turned into a void before; ValueError here means that they were not.
    """
    rejected = detector_rejects or any(v.decision is Decision.REJECT for v in verdicts)
    if settings.gate != "off" and any(v.decision is None for v in verdicts):
        raise ValueError("an undecided verdict cannot be rewarded")
    if settings.gate == "hard" and rejected:
        return RewardBreakdown(gate=settings.hard_reject_reward, gated=True)
    if post_test is None or post_test.item.baseline is None or post_test.num_graded == 0:
        raise ValueError("a reward needs a graded post-test and a baseline")

    pre = post_test.item.baseline.value
    post = post_test.num_right / post_test.num_graded
    gain = normalized_gain(pre, post)
    decay_visible, decay_thinking = length_decays(transcript.tutor_turns, settings)
    decays = settings.length_decay and gain > 0
    tutor_ended = transcript.end_reason is EndReason.TUTOR_ENDED
    soft_rejected = settings.gate == "soft" and rejected
    return RewardBreakdown(
        gain=gain,
        length_decay=gain * (decay_visible * decay_thinking - 1.0) if decays else 0.0,
        gate=settings.soft_reject_penalty if soft_rejected else 0.0,
        end_bonus=settings.end_bonus if tutor_ended and gain > 0 else 0.0,
        end_penalty=0.0 if tutor_ended else -settings.end_penalty,
        thinking_bonus=settings.thinking_bonus * _well_formed_thinking_share(transcript.tutor_turns),
        pre=pre,
        post=post,
        decay_visible=decay_visible,
        decay_thinking=decay_thinking,
        gated=soft_rejected,
    )


def length_decays(turns: Sequence[Turn], settings: RewardSettings) -> tuple[float, float]:
    """Decay of visible text and of thinking over all tutor turns, each in (0, 1]."""
    visible = [_length(turn, settings, thinking=False) for turn in turns]
    thinking = [_length(turn, settings, thinking=True) for turn in turns]
    return (
        overlength_decay(visible, settings.visible_target_tokens),
        overlength_decay(thinking, settings.thinking_target_tokens),
    )


def _length(turn: Turn, settings: RewardSettings, *, thinking: bool) -> float:
    if settings.length_unit == "characters_over_4":
        return len(turn.thinking if thinking else turn.text) / _CHARACTERS_PER_TOKEN
    if turn.tokens is None:
        raise ValueError("a tutor turn without token counts cannot be measured in tokens")
    return turn.tokens.thinking if thinking else turn.tokens.visible


def _well_formed_thinking_share(turns: Sequence[Turn]) -> float:
    if not turns:
        return 0.0
    return sum(1 for t in turns if t.thinking and not _BAD_THINKING.intersection(t.faults)) / len(turns)
