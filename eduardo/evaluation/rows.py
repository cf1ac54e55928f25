"""One evaluated dialogue, reduced to the numbers that figures are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eduardo.evaluation.resumable import key_of
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.reward import compute_reward
from eduardo.types import Criterion, Decision, EndReason, ItemKind, ScoredDialogue, TurnFault

_CUT = {TurnFault.REPLY_TRUNCATED, TurnFault.THINKING_TRUNCATED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One dialogue. Rates and gains are ungated; `pre` is the cold solve rate, the rest was measured after it."""

    pair_id: str
    sample: int
    pre: float
    post: float
    gain_transfer: float
    pre_source: float
    post_source: float
    gain_source: float
    leaked: bool  # rejected for handing the solution over
    mistaught: bool  # rejected for what was taught
    detector_found_leak: bool
    reward: float  # under the recipe's own gate
    end_reason: EndReason
    num_tutor_turns: int
    num_blank_turns: int
    num_cut_turns: int
    visible_tokens: float  # per tutor turn
    thinking_tokens: float

    @property
    def hit_token_cap(self) -> bool:
        """A turn was cut or the token budget ran out. The turn limit is no cap: it belongs to the protocol."""
        return self.end_reason is EndReason.TOKEN_BUDGET or self.num_cut_turns > 0

    @property
    def accepted(self) -> bool:
        return not (self.leaked or self.mistaught)


def to_rows(dialogues: Sequence[ScoredDialogue], settings: EvaluationSettings) -> tuple[Row, ...]:
    """Join the two records (variant and source) of each dialogue. Order of first appearance."""
    by_key: dict[tuple[str, int], dict[str, ScoredDialogue]] = {}
    for dialogue in dialogues:
        by_key.setdefault(key_of(dialogue), {})[str(dialogue.labels["post_test"])] = dialogue
    complete = [tests for tests in by_key.values() if len(tests) == len(ItemKind)]
    return tuple(_row(tests[ItemKind.TRANSFER], tests[ItemKind.SOURCE], settings) for tests in complete)


def _row(transfer: ScoredDialogue, source: ScoredDialogue, settings: EvaluationSettings) -> Row:
    turns = transfer.transcript.tutor_turns
    tokens = [turn.tokens for turn in turns if turn.tokens is not None]
    end_reason = transfer.transcript.end_reason
    if end_reason is None:
        raise ValueError(f"dialogue {transfer.pair_id} is unfinished and cannot be summarized")
    pre, post, gain = _tested(transfer)
    pre_source, post_source, gain_source = _tested(source)
    rejected = _rejected(transfer)
    pair_id, sample = key_of(transfer)
    return Row(
        pair_id=pair_id,
        sample=sample,
        pre=pre,
        post=post,
        gain_transfer=gain,
        pre_source=pre_source,
        post_source=post_source,
        gain_source=gain_source,
        leaked=rejected[Criterion.NO_HANDOVER],
        mistaught=rejected[Criterion.FACTUAL],
        detector_found_leak=bool(transfer.detector),
        reward=_recipe_reward(transfer, settings),
        end_reason=end_reason,
        num_tutor_turns=len(turns),
        num_blank_turns=sum(TurnFault.BLANK in turn.faults for turn in turns),
        num_cut_turns=sum(bool(_CUT.intersection(turn.faults)) for turn in turns),
        visible_tokens=sum(t.visible for t in tokens) / max(1, len(tokens)),
        thinking_tokens=sum(t.thinking for t in tokens) / max(1, len(tokens)),
    )


def _tested(dialogue: ScoredDialogue) -> tuple[float, float, float]:
    """(pre, post, gain) of a dialogue that was scored without a gate."""
    reward = dialogue.reward
    if reward is None or reward.pre is None or reward.post is None:
        raise ValueError(f"dialogue {dialogue.pair_id} has no post-test and cannot be summarized")
    return reward.pre, reward.post, reward.gain


def _rejected(dialogue: ScoredDialogue) -> Mapping[Criterion, bool]:
    decisions = {verdict.criterion: verdict.decision for verdict in dialogue.verdicts}
    if None in decisions.values() or len(decisions) < len(Criterion):
        raise ValueError(f"dialogue {dialogue.pair_id} lacks a verdict and cannot be summarized")
    return {criterion: decision is Decision.REJECT for criterion, decision in decisions.items()}


def _recipe_reward(dialogue: ScoredDialogue, settings: EvaluationSettings) -> float:
    """What training would have paid for the dialogue: the same function on the same measurements."""
    detector_rejects = settings.recipe.judge.detector_gate and bool(dialogue.detector)
    return compute_reward(
        dialogue.transcript,
        dialogue.verdicts,
        dialogue.post_test,
        settings.recipe.reward,
        detector_rejects=detector_rejects,
    ).total
