"""The nouns of the Education Dialogue data set: who learns what with whom, and what was said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import xxhash

from eduardo.types import Speaker


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What a conversation was simulated from.

    Reactions continue a sentence about the preference, e.g. "and gets frustrated otherwise". The tutor may
    know the topic only.
    """

    topic: str
    student_preference: str
    student_reaction: str
    teacher_preference: str
    teacher_reaction: str

    @property
    def key(self) -> str:
        """16 hex digits; equal for conversations about one topic between the same kinds of people."""
        parts = (
            self.topic,
            self.student_preference,
            self.student_reaction,
            self.teacher_preference,
            self.teacher_reaction,
        )
        return xxhash.xxh3_64_hexdigest(
            "\x1f".join(" ".join(part.casefold().split()) for part in parts).encode()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Speakers alternate; no text is blank. `ended_by` is who wrote the end mark, None where it is absent."""

    id: str  # stable over runs and splits
    background: Background
    utterances: tuple[Utterance, ...]
    ended_by: Speaker | None


def conversation_id(background: Background, utterances: Iterable[Utterance]) -> str:
    """16 hex digits of background and words, so that an id survives reordering and resplitting."""
    words = "\x1f".join(f"{utterance.speaker}:{utterance.text}" for utterance in utterances)
    return xxhash.xxh3_64_hexdigest(f"{background.key}\x1f{words}".encode())
