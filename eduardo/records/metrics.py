"""The numbers that are reported about each dialogue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from eduardo.types import (
    Criterion,
    Decision,
    EndReason,
    PostTest,
    Preference,
    RewardBreakdown,
    ScoredDialogue,
    Transcript,
    Turn,
    TurnFault,
    Vote,
)


def flat_metrics(dialogue: ScoredDialogue) -> dict[str, float | None]:
    """The same numeric keys for every dialogue, None where something was not measured.

    Indicators are 0 or 1. Lengths are in tokens of the speaker's tokenizer, as means over turns.
    """
    return {
        "void": float(dialogue.is_void),
        **_reward_metrics(dialogue.reward),
        **_judge_metrics(dialogue),
        **_preference_metrics(dialogue.preference),
        **_dialogue_metrics(dialogue.transcript),
        **_post_test_metrics(dialogue.post_test),
    }


def _reward_metrics(reward: RewardBreakdown | None) -> dict[str, float | None]:
    parts = RewardBreakdown().parts if reward is None else reward.parts
    tested = reward if reward is not None and reward.post is not None else None
    decayed = reward if reward is not None and not (reward.gated and reward.post is None) else None
    return {
        "reward": None if reward is None else reward.total,
        **{f"reward_{name}": None if reward is None else value for name, value in parts.items()},
        "delta": None if tested is None else tested.gain,
        "pre": None if tested is None else tested.pre,
        "post": None if tested is None else tested.post,
        "decay_visible": None if decayed is None else decayed.decay_visible,
        "decay_thinking": None if decayed is None else decayed.decay_thinking,
        "gated": None if reward is None else float(reward.gated),
    }


def _judge_metrics(dialogue: ScoredDialogue) -> dict[str, float | None]:
    verdicts, leak = dialogue.verdicts, bool(dialogue.detector)
    decisions = {verdict.criterion: verdict.decision for verdict in verdicts}
    votes = [vote for verdict in verdicts for vote in verdict.votes]
    if dialogue.preference is not None:
        votes = [vote for comparison in dialogue.preference.comparisons for vote in comparison.votes]
    handover = decisions.get(Criterion.NO_HANDOVER)
    return {
        **{
            f"rejected_{criterion}": _is(decisions.get(criterion), Decision.REJECT) for criterion in Criterion
        },
        "num_votes": float(len(votes)),
        "num_lost_votes": float(sum(1 for vote in votes if vote.decision is None)),
        "detector_leak": None if dialogue.preference is not None else float(leak),
        "detector_agrees": None if handover is None else float(leak == (handover is Decision.REJECT)),
    }


def _preference_metrics(preference: Preference | None) -> dict[str, float | None]:
    """The preference, and how far its two orders are apart: what the judge owes to position alone."""
    measured = preference if preference is not None and preference.value is not None else None
    shares = [_accepting_share(c.votes) for c in measured.comparisons] if measured else []
    return {
        "preference": None if measured is None else measured.value,
        "preference_order_gap": None if measured is None else max(shares) - min(shares),
    }


def _accepting_share(votes: Sequence[Vote]) -> float:
    decisions = [vote.decision for vote in votes if vote.decision is not None]
    return decisions.count(Decision.ACCEPT) / len(decisions)


def _dialogue_metrics(transcript: Transcript) -> dict[str, float | None]:
    tutor, student = transcript.tutor_turns, transcript.student_turns[1:]  # without the scripted opener
    faults = [fault for turn in tutor for fault in turn.faults]
    reason = transcript.end_reason
    return {
        "num_tutor_turns": float(len(tutor)),
        "num_student_turns": float(len(student)),
        "tutor_visible_tokens": _mean_tokens(tutor),
        "tutor_thinking_tokens": _mean_tokens(tutor, thinking=True),
        "student_tokens": _mean_tokens(student),
        "num_blank_student_turns": float(sum(1 for turn in student if not turn.text)),
        **{f"num_{fault}": float(faults.count(fault)) for fault in TurnFault},
        **{f"ended_{other}": _is(reason, other) for other in EndReason},
    }


def _is(value: StrEnum | None, member: StrEnum) -> float | None:
    return None if value is None else float(value is member)


def _mean_tokens(turns: Sequence[Turn], *, thinking: bool = False) -> float | None:
    """Over the turns whose length is known; None when there is none."""
    lengths = [t.tokens.thinking if thinking else t.tokens.visible for t in turns if t.tokens is not None]
    return math.fsum(lengths) / len(lengths) if lengths else None


def _post_test_metrics(post_test: PostTest | None) -> dict[str, float | None]:
    names = (
        "num_graded",
        "num_right",
        "num_ungraded",
        "num_without_answer",
        "num_grader_timeouts",
        "num_grader_disagreements",
    )
    if post_test is None:
        return dict.fromkeys(names)
    grades = [attempt.grade for attempt in post_test.attempts if attempt.grade is not None]
    counts = (
        post_test.num_graded,
        post_test.num_right,
        len(post_test.attempts) - post_test.num_graded,
        sum(grade.answer is None for grade in grades),
        sum(grade.timed_out for grade in grades),
        sum(grade.stages_disagree for grade in grades),
    )
    return {name: float(count) for name, count in zip(names, counts, strict=True)}
