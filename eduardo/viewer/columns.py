"""One scored dialogue as a row of the index, and as the texts that a search looks into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.records import flat_metrics
from eduardo.types import Criterion, ItemKind, RewardBreakdown, ScoredDialogue, Turn, Verdict

UNDECIDED = "undecided"
NOT_JUDGED = "not judged"

REWARD_PARTS = tuple(RewardBreakdown().parts)
# Numbers that can be filtered and sorted, named as in `eduardo.records.flat_metrics` but for the shorter parts.
_METRICS = {
    "reward": "reward",
    **{part: f"reward_{part}" for part in REWARD_PARTS},
    "pre": "pre",
    "post": "post",
    "num_tutor_turns": "num_tutor_turns",
    "visible_tokens": "tutor_visible_tokens",
    "thinking_tokens": "tutor_thinking_tokens",
}
NUMBERS = tuple(_METRICS)
TEXTS = ("grp", "pair", "leak", "teaching", "end_reason", "test")
INTEGERS = ("step", "sample", "void", "twin", "detector")
COLUMNS = (*TEXTS, *INTEGERS, *NUMBERS)

SEARCHED = ("problem", "tutor", "student", "thinking", "judge")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index keeps of a dialogue: `values` in the order of COLUMNS, `texts` in that of SEARCHED."""

    values: tuple[str | int | float | None, ...]
    texts: tuple[str, ...]


def to_entry(dialogue: ScoredDialogue, group: str) -> Entry:
    labels, metrics = dialogue.labels, flat_metrics(dialogue)
    decisions = {verdict.criterion: verdict for verdict in dialogue.verdicts}
    test = dialogue.post_test.item.kind.value if dialogue.post_test else None
    end_reason = dialogue.transcript.end_reason
    values = (
        group,
        dialogue.pair_id,
        _decision(decisions.get(Criterion.NO_HANDOVER)),
        _decision(decisions.get(Criterion.FACTUAL)),
        end_reason.value if end_reason else "unfinished",
        test,
        _integer(labels.get("step")),
        _integer(labels.get("sample")),
        int(dialogue.is_void),
        # An evaluation keeps a second record per dialogue, for the post-test on the source problem.
        int(labels.get("post_test") == ItemKind.SOURCE.value),
        int(bool(dialogue.detector)),
        *(metrics[name] for name in _METRICS.values()),
    )
    return Entry(values, _texts(dialogue))


def _decision(verdict: Verdict | None) -> str:
    if verdict is None:
        return NOT_JUDGED
    return verdict.decision.value if verdict.decision else UNDECIDED


def _integer(label: object) -> int | None:
    return label if isinstance(label, int) else None


def _texts(dialogue: ScoredDialogue) -> tuple[str, ...]:
    transcript = dialogue.transcript
    reasons = [part for v in dialogue.verdicts for vote in v.votes for part in (vote.reason, vote.quote)]
    judge = [*reasons, *dialogue.detector, dialogue.void_reason or ""]
    return (
        transcript.problem.text,
        _joined(transcript.tutor_turns),
        _joined(transcript.student_turns[1:]),  # the opener repeats the problem
        "\n".join(turn.thinking for turn in transcript.tutor_turns if turn.thinking),
        "\n".join(filter(None, judge)),
    )


def _joined(turns: Sequence[Turn]) -> str:
    return "\n".join(turn.text for turn in turns)
