"""How students like to learn, and by which words a turn of the tutor is recognised as that way of teaching.

A small closed vocabulary on purpose. The four ways are those of the Education Dialogue data set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Style(StrEnum):
    HANDS_ON = "hands-on activities/real-world applications"
    DISCUSSION = "interactive learning/class discussions/asking questions"
    LECTURE = "direct instruction/lecture-based learning"
    STORY = "creative expression/story telling/gamification"


class Reaction(StrEnum):
    """What a student does when the teaching does not suit it."""

    ADAPTS = "adapts"
    TELLS = "tells"
    RUDE = "rude"
    DISENGAGED = "disengaged"
    ANXIOUS = "anxious"
    FRUSTRATED = "frustrated"


_STYLE_NAMES = (
    (Style.HANDS_ON, re.compile(r"hands.on|real.world|activit|experiment|example|practi|visual")),
    (Style.STORY, re.compile(r"creative|stor(?:y|ies)|gam(?:e|ing|if)|role.play")),
    (Style.DISCUSSION, re.compile(r"interactive|discussion|questions|debate|dialogue")),
    (Style.LECTURE, re.compile(r"direct instruction|lectur|explan|step.by.step")),
)
_REACTION_NAMES = (
    (Reaction.ADAPTS, re.compile(r"\badapt")),
    (Reaction.TELLS, re.compile(r"\btell")),
    (Reaction.RUDE, re.compile(r"\brude|\bangry")),
    (Reaction.DISENGAGED, re.compile(r"disengag|bored|distract|quiet")),
    (Reaction.ANXIOUS, re.compile(r"anxious|nervous|shy")),
)
_CUES = {
    Style.HANDS_ON: re.compile(
        r"\b(?:try|experiment|build|make|draw|measure|look at|example|real world|everyday|at home|activity"
        r"|do it|have a go|let us do|let's do|picture)\b"
    ),
    Style.STORY: re.compile(
        r"\b(?:story|stories|once upon|imagine|pretend|game|play|role|character|invent|poem|song|act out|adventure)\b"
    ),
    Style.DISCUSSION: re.compile(
        r"\b(?:what do you think|why|discuss|your opinion|do you agree|how would you|what would you|your view|debate)\b"
    ),
}
_ASKS_ABOUT_LEARNING = re.compile(
    r"\b(?:how do you|what way do you|how would you) (?:like|prefer|want) to learn|\blearn best\b|\bprefer to learn\b"
)
_STATEMENT = re.compile(r"\b(?:is|are|was|were|means|has|have|had|can|because|called|became|made|led)\b")
_MIN_EXPLANATION_WORDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TutorTurn:
    """One turn of the tutor, understood as far as this classroom goes."""

    text: str  # normalised
    styles: frozenset[Style]
    asks: bool
    asks_about_learning: bool
    num_words: int

    def is_lecture(self, long_turn_words: int) -> bool:
        return not self.asks and self.num_words > long_turn_words


def style_of(preference: str) -> Style | None:
    """The way of learning that a preference names; None when it names none of the four."""
    text = preference.casefold()
    return next((style for style, name in _STYLE_NAMES if name.search(text)), None)


def reaction_of(text: str) -> Reaction:
    folded = text.casefold()
    return next((reaction for reaction, name in _REACTION_NAMES if name.search(folded)), Reaction.FRUSTRATED)


@lru_cache(maxsize=4096)
def read_turn(text: str) -> TutorTurn:
    plain = " ".join(text.casefold().replace("’", "'").split())
    num_words = len(re.findall(r"\w+", plain))
    styles = {style for style, cue in _CUES.items() if cue.search(plain)}
    if num_words >= _MIN_EXPLANATION_WORDS and _STATEMENT.search(re.sub(r"[^.!?]*\?", "", plain)):
        styles.add(Style.LECTURE)
    return TutorTurn(
        text=plain,
        styles=frozenset(styles),
        asks="?" in plain,
        asks_about_learning=_ASKS_ABOUT_LEARNING.search(plain) is not None,
        num_words=num_words,
    )
