"""From scored dialogues to the figures of one tutor, each with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eduardo.evaluation.environment import key_of
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.statistics import (
    Estimate,
    Floats,
    cluster_bootstrap,
    clustered_mean,
    clustered_rate,
)
from eduardo.reward import compute_reward, normalized_gain
from eduardo.types import Criterion, Decision, EndReason, ItemKind, ScoredDialogue, TurnFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One dialogue, reduced to the numbers that figures are made of. Gains are ungated unless named otherwise."""

    pair_id: str
    pre: float
    post: float
    gain_transfer: float
    gain_source: float
    leaked: bool | None  # None: the judge did not settle
    mistaught: bool | None
    detector_found_leak: bool
    reward: float | None  # under the recipe's own gate; None when a verdict is missing
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
    def accepted(self) -> bool | None:
        if self.leaked is None or self.mistaught is None:
            return None
        return not (self.leaked or self.mistaught)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    tutor: str
    num_planned: int
    rows: tuple[Row, ...]
    figures: Mapping[str, Estimate | None]
    end_reasons: Mapping[str, int]
    invalid_because: tuple[str, ...] = field(default=())


# name → one line for the reader; the order of the report
FIGURES = {
    "gain_transfer": "Δ_transfer: mean gain on the variant, tutor turns masked",
    "gain_source": "Δ_same: mean gain on the source problem itself",
    "transfer_gap": "Δ_same − Δ_transfer: what does not carry over",
    "gain_transfer_gated": "Δ_transfer with rejected dialogues counted as 0",
    "gain_source_gated": "Δ_same with rejected dialogues counted as 0",
    "gain_of_means": "normalized gain of the mean post and pre rates (free of per-item noise in pre)",
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
RATES = frozenset({"leak_rate", "teaching_reject_rate", "detector_leak_rate", "end_rate", "token_cap_rate"})


def to_rows(dialogues: Sequence[ScoredDialogue], settings: EvaluationSettings) -> tuple[Row, ...]:
    """Join the two records (variant and source) of each dialogue. Order of first appearance."""
    by_key: dict[tuple[str, int], dict[str, ScoredDialogue]] = {}
    for dialogue in dialogues:
        by_key.setdefault(key_of(dialogue), {})[str(dialogue.labels["post_test"])] = dialogue
    complete = [tests for tests in by_key.values() if len(tests) == len(ItemKind)]
    return tuple(_row(tests[ItemKind.TRANSFER], tests[ItemKind.SOURCE], settings) for tests in complete)


def summarize(tutor: str, rows: Sequence[Row], num_planned: int, settings: EvaluationSettings) -> Summary:
    """All figures of one tutor, clustered by problem, and whether the evaluation can be trusted."""
    return Summary(
        tutor=tutor,
        num_planned=num_planned,
        rows=tuple(rows),
        figures=_figures(rows),
        end_reasons=dict(sorted(Counter(row.end_reason.value for row in rows).items())),
        invalid_because=tuple(_faults(rows, num_planned, settings)),
    )


def _row(transfer: ScoredDialogue, source: ScoredDialogue, settings: EvaluationSettings) -> Row:
    decisions = {verdict.criterion: verdict.decision for verdict in transfer.verdicts}
    turns = transfer.transcript.tutor_turns
    tokens = [turn.tokens for turn in turns if turn.tokens is not None]
    on_variant, on_source = transfer.reward, source.reward
    end_reason = transfer.transcript.end_reason
    if on_variant is None or on_source is None or end_reason is None:
        raise ValueError(f"dialogue {transfer.pair_id} is void and cannot be summarized")
    pre, post = on_variant.pre or 0.0, on_variant.post or 0.0
    settled = len(decisions) == len(Criterion) and None not in decisions.values()
    return Row(
        pair_id=transfer.pair_id,
        pre=pre,
        post=post,
        gain_transfer=normalized_gain(pre, post),
        gain_source=on_source.gain,
        leaked=_rejected(decisions.get(Criterion.NO_HANDOVER)),
        mistaught=_rejected(decisions.get(Criterion.FACTUAL)),
        detector_found_leak=bool(transfer.detector),
        reward=_recipe_reward(transfer, settings) if settled else None,
        end_reason=end_reason,
        num_tutor_turns=len(turns),
        num_blank_turns=sum(TurnFault.BLANK in turn.faults for turn in turns),
        num_cut_turns=sum(bool(_CUT.intersection(turn.faults)) for turn in turns),
        visible_tokens=sum(t.visible for t in tokens) / max(1, len(tokens)),
        thinking_tokens=sum(t.thinking for t in tokens) / max(1, len(tokens)),
    )


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


_CUT = {TurnFault.REPLY_TRUNCATED, TurnFault.THINKING_TRUNCATED}


def _rejected(decision: Decision | None) -> bool | None:
    return None if decision is None else decision is Decision.REJECT


def _figures(rows: Sequence[Row]) -> dict[str, Estimate | None]:
    judged = [row for row in rows if row.accepted is not None]

    def mean(of: Callable[[Row], float], over: Sequence[Row] = rows) -> Estimate | None:
        return clustered_mean([of(row) for row in over], [row.pair_id for row in over])

    def rate(of: Callable[[Row], bool | None], over: Sequence[Row] = rows) -> Estimate | None:
        return clustered_rate([bool(of(row)) for row in over], [row.pair_id for row in over])

    return {
        "gain_transfer": mean(lambda row: row.gain_transfer),
        "gain_source": mean(lambda row: row.gain_source),
        "transfer_gap": mean(lambda row: row.gain_source - row.gain_transfer),
        "gain_transfer_gated": mean(lambda row: row.gain_transfer if row.accepted else 0.0, judged),
        "gain_source_gated": mean(lambda row: row.gain_source if row.accepted else 0.0, judged),
        "gain_of_means": cluster_bootstrap(
            {"pre": [row.pre for row in rows], "post": [row.post for row in rows]},
            [row.pair_id for row in rows],
            _gain_of_means,
        ),
        "reward": mean(lambda row: row.reward or 0.0, [row for row in rows if row.reward is not None]),
        "leak_rate": rate(lambda row: row.leaked, judged),
        "teaching_reject_rate": rate(lambda row: row.mistaught, judged),
        "detector_leak_rate": rate(lambda row: row.detector_found_leak),
        "end_rate": rate(lambda row: row.end_reason is EndReason.TUTOR_ENDED),
        "token_cap_rate": rate(lambda row: row.hit_token_cap),
        "tutor_turns": mean(lambda row: row.num_tutor_turns),
        "visible_tokens": mean(lambda row: row.visible_tokens),
        "thinking_tokens": mean(lambda row: row.thinking_tokens),
    }


def _gain_of_means(means: Mapping[str, Floats]) -> float:
    return normalized_gain(float(means["pre"][0]), float(means["post"][0]))


def _faults(rows: Sequence[Row], num_planned: int, settings: EvaluationSettings) -> list[str]:
    limits = settings.validity
    num_turns = max(1, sum(row.num_tutor_turns for row in rows))
    judged = [row for row in rows if row.leaked is not None]
    taught = [row for row in rows if row.num_tutor_turns > 0]  # no cap can bind where nobody speaks
    shares = [
        ("dialogues were void", 1 - len(rows) / max(1, num_planned), limits.max_void_share),
        (
            "dialogues were ended or cut by a token cap",
            _share(taught, lambda row: row.hit_token_cap),
            limits.max_token_cap_share,
        ),
        (
            "tutor turns were blank",
            sum(row.num_blank_turns for row in rows) / num_turns,
            limits.max_blank_turn_share,
        ),
        (
            "dialogues were judged otherwise by the leak detector",
            _share(judged, lambda row: row.leaked != row.detector_found_leak),
            limits.max_judge_detector_disagreement,
        ),
    ]
    return [f"{share:.0%} of {what} (limit {limit:.0%})" for what, share, limit in shares if share > limit]


def _share(rows: Sequence[Row], of: Callable[[Row], bool]) -> float:
    return sum(map(of, rows)) / max(1, len(rows))
