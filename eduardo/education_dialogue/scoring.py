"""Score of a lesson: the judge's preference over the data set's own conversation. The reward lies in [0, 1]."""

from __future__ import annotations

from dataclasses import asdict

from eduardo.education_dialogue.conversation import Conversation
from eduardo.education_dialogue.preference import PreferenceJudge, preference_of
from eduardo.education_dialogue.views import Lesson
from eduardo.reward import length_decays
from eduardo.scoring import Labels
from eduardo.seeds import derive_seed
from eduardo.settings import RecipeSettings
from eduardo.types import (
    Comparison,
    EndReason,
    Preference,
    RewardBreakdown,
    ScoredDialogue,
    Speaker,
    Transcript,
    Turn,
)


async def score_lesson(
    conversation: Conversation,
    transcript: Transcript,
    *,
    judge: PreferenceJudge,
    recipe: RecipeSettings,
    seed: int,
    labels: Labels | None = None,
) -> ScoredDialogue:
    """Compare a finished lesson with `conversation`, which has the same background.

    What could not be measured makes it void, never a number. Raises EndpointRejected when the judge's endpoint
    refuses for good.
    """
    reference = tuple(Turn(speaker=u.speaker, text=u.text) for u in conversation.utterances)
    comparisons: tuple[Comparison, ...] = ()
    end_reason, void_reason = transcript.end_reason, None
    if end_reason is None or end_reason.is_failure:
        void_reason = f"{end_reason or 'unfinished dialogue'}: {transcript.error or 'no detail'}"
    else:
        comparisons = await judge.compare(
            conversation.background,
            # The reference has no scripted opener, so the lesson is shown without its own.
            Lesson(turns=transcript.turns[1:], ended_by=ended_by(transcript)),
            Lesson(turns=reference, ended_by=conversation.ended_by),
            seed=derive_seed(seed, "judge"),
        )
    value = preference_of(comparisons, recipe)
    if value is None and void_reason is None:
        void_reason = f"judge: too few valid votes ({_faults(comparisons)})"
    return ScoredDialogue(
        pair_id=conversation.id,
        transcript=transcript,
        preference=Preference(
            background=asdict(conversation.background),
            reference=reference,
            reference_ended_by=conversation.ended_by,
            comparisons=comparisons,
            value=value,
        ),
        reward=None if value is None else preference_reward(transcript, value, recipe),
        void_reason=void_reason,
        labels=dict(labels or {}),
    )


def ended_by(transcript: Transcript) -> Speaker | None:
    """Who closed the conversation; None when a limit did."""
    closed = {EndReason.TUTOR_ENDED: Speaker.TUTOR, EndReason.STUDENT_ENDED: Speaker.STUDENT}
    return closed.get(transcript.end_reason) if transcript.end_reason else None


def preference_reward(transcript: Transcript, value: float, recipe: RecipeSettings) -> RewardBreakdown:
    """The preference, less what length decay takes away where the recipe asks for it."""
    decay_visible, decay_thinking = length_decays(transcript.tutor_turns, recipe.reward)
    decay = decay_visible * decay_thinking if recipe.preference.length_decay else 1.0
    return RewardBreakdown(
        preference=value,
        length_decay=value * (decay - 1.0),
        decay_visible=decay_visible,
        decay_thinking=decay_thinking,
    )


def _faults(comparisons: tuple[Comparison, ...]) -> str:
    faults = {vote.fault for comparison in comparisons for vote in comparison.votes if vote.fault}
    return "; ".join(sorted(faults)) or "a tie"
