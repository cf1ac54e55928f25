"""One dialogue as the page shows it: plain data for JSON, text as recorded. Texts are data: a page must not
put them into markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from eduardo import views
from eduardo.education_dialogue import views as education_views
from eduardo.education_dialogue.conversation import Background
from eduardo.education_dialogue.scoring import ended_by
from eduardo.education_dialogue.views import Lesson
from eduardo.personas import PLAIN, persona_names
from eduardo.types import Criterion, PostTest, Preference, RewardBreakdown, ScoredDialogue, Transcript, Turn

Data = dict[str, Any]


def dialogue_data(dialogue: ScoredDialogue, twin: ScoredDialogue | None = None) -> Data:
    """Everything recorded of a dialogue. `twin` is its record with the other post-test, in evaluations."""
    transcript = dialogue.transcript
    tests = [record.post_test for record in (dialogue, twin) if record and record.post_test]
    return {
        "pair": dialogue.pair_id,
        "problem": msgspec.to_builtins(transcript.problem),
        "turns": [_turn(turn) for turn in transcript.turns],
        "end_reason": transcript.end_reason and transcript.end_reason.value,
        "error": transcript.error,
        "verdicts": msgspec.to_builtins(dialogue.verdicts),
        "preference": dialogue.preference and _preference(dialogue.preference),
        "detector": list(dialogue.detector),
        "tests": [_post_test(test) for test in tests],
        "reward": dialogue.reward and _reward(dialogue.reward),
        "void_reason": dialogue.void_reason,
        "labels": dialogue.labels,
    }


def views_data(dialogue: ScoredDialogue) -> Data:
    """What student, masked student and judge were shown, as chat messages built by `eduardo.views`.

    `masked` is None when no post-test was posed.
    """
    transcript, test = dialogue.transcript, dialogue.post_test
    if dialogue.preference is not None:
        return _lesson_views(transcript, dialogue.preference)
    return {
        "student": views.student_view(transcript, persona=_persona(dialogue)),
        "masked": test and views.post_test_view(transcript, test.item.problem, mask_tutor=test.masked),
        "judge": {criterion.value: views.judge_view(transcript, criterion) for criterion in Criterion},
    }


def _persona(dialogue: ScoredDialogue) -> str:
    """The student's; a record may be from a version with personas that are unknown here."""
    name = dialogue.labels.get("persona")
    return name if isinstance(name, str) and name in persona_names() else PLAIN


def _preference(preference: Preference) -> Data:
    """Value and votes; a vote that accepts prefers the dialogue over the reference."""
    return {
        "value": preference.value,
        "background": preference.background,
        "comparisons": msgspec.to_builtins(preference.comparisons),
    }


def _lesson_views(transcript: Transcript, preference: Preference) -> Data:
    background = Background(**preference.background)
    lesson = Lesson(turns=transcript.turns[1:], ended_by=ended_by(transcript))
    reference = Lesson(turns=preference.reference, ended_by=preference.reference_ended_by)
    return {
        # The end tag is a setting that records do not keep; this is the recipe's.
        "student": education_views.student_view(transcript, background, end_tag="<end_of_conversation>"),
        "masked": None,
        "judge": {"preference": education_views.preference_view(background, lesson, reference)},
    }


def _turn(turn: Turn) -> Data:
    return {
        "speaker": turn.speaker.value,
        "text": turn.text,
        "thinking": turn.thinking,
        "raw": turn.raw,
        "faults": [fault.value for fault in turn.faults],
        "ends": turn.ends_dialogue,
        "tokens": turn.tokens and {"visible": turn.tokens.visible, "thinking": turn.tokens.thinking},
    }


def _post_test(test: PostTest) -> Data:
    baseline = test.item.baseline
    return {
        "kind": test.item.kind.value,
        "problem": test.item.problem.text,
        "answer": test.item.problem.answer,
        "baseline": baseline and baseline.value,
        "masked": test.masked,
        "num_right": test.num_right,
        "num_graded": test.num_graded,
        "attempts": _attempts(msgspec.to_builtins(test.attempts)),
    }


def _attempts(attempts: Sequence[Data]) -> list[Data]:
    """Attempts with the fields of their grade beside the text; outcome None: not graded."""
    blank = {"outcome": None, "answer": None, "timed_out": False, "stages_disagree": False}
    return [{"text": a["text"], "fault": a["fault"], **(a["grade"] or blank)} for a in attempts]


def _reward(reward: RewardBreakdown) -> Data:
    diagnostics = ("pre", "post", "decay_visible", "decay_thinking", "gated")
    return {
        "parts": [{"name": name, "value": value} for name, value in reward.parts.items()],
        "total": reward.total,
        **{name: getattr(reward, name) for name in diagnostics},
    }
