"""The simulated preference judge: reads the prompt as rendered, scores both lessons by rules, votes in JSON."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from eduardo.classroom.preferences.sim_settings import JudgeParams
from eduardo.classroom.preferences.styles import Style, read_turn, style_of
from eduardo.templates import render
from eduardo.types import Message, Speaker
from eduardo.views import SILENCE, fenced_transcripts

_LONG_TURN_WORDS = 60
_ENDED_BY = re.compile(r"^(?:First|Second) conversation, ended by (.+):$", re.MULTILINE)
_OWN_WORK = re.compile(
    r"\b(?:i think|i would|i tried|i try|let me|maybe|because|my idea|i guess|so that|what if|i wonder|i can see)\b|\?"
)
_MIN_ACTIVE_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What the rules find in one lesson; every field is a share in [0, 1]."""

    fit: float  # tutor turns in the student's way, repetitions and lectures left out
    activity: float
    room: float
    ending: float

    def total(self, params: JudgeParams) -> float:
        return (
            params.fit_weight * self.fit
            + params.activity_weight * self.activity
            + params.room_weight * self.room
            + params.ending_weight * self.ending
        )


def judge(messages: Sequence[Message], rng: random.Random, params: JudgeParams) -> str | None:
    """One vote on the prompt, or None when it does not compare two lessons."""
    compared = read_comparison(messages[-1]["content"]) if messages else None
    if compared is None:
        return None
    first, second = compared
    difference = first.total(params) - second.total(params)
    chance = 1.0 / (1.0 + math.exp(-params.sharpness * difference))
    decision = "first" if rng.random() < chance else "second"
    reasoning = f"First: {_in_words(first)} Second: {_in_words(second)}"
    return json.dumps({"reasoning": reasoning, "decision": decision}, ensure_ascii=False)


@lru_cache(maxsize=128)
def read_comparison(prompt: str) -> tuple[Scores, Scores] | None:
    """The scores of both lessons in a rendered prompt, or None when it is none.

    The question is what stands after the fences and the student what stands before them, so nothing that was
    said in a lesson can change either.
    """
    if not prompt.endswith(_tail()):
        return None
    try:
        background = json.loads(prompt.split("\n", 2)[1])
        lessons = fenced_transcripts(prompt)
    except (ValueError, LookupError):
        return None
    outside = re.sub(
        r"^=== transcript (\w+) begins ===\n.*?\n=== transcript \1 ends ===$",
        "",
        prompt,
        flags=re.DOTALL | re.MULTILINE,
    )
    ended_by = _ENDED_BY.findall(outside)
    if len(lessons) != 2 or len(ended_by) != 2:
        return None
    style = style_of(str(background["student_preference"]))
    first, second = (
        _score(lesson, style, ended_by=who) for lesson, who in zip(lessons, ended_by, strict=True)
    )
    return first, second


def _score(lesson: list[dict[str, str | int]], style: Style | None, *, ended_by: str) -> Scores:
    texts = [(turn["speaker"], "" if turn["text"] == SILENCE else str(turn["text"])) for turn in lesson]
    tutor = [read_turn(text) for speaker, text in texts if speaker == Speaker.TUTOR]
    student = [text for speaker, text in texts if speaker == Speaker.STUDENT]
    gives_room = [turn.num_words > 0 and not turn.is_lecture(_LONG_TURN_WORDS) for turn in tutor]
    suits = [style is None or style in turn.styles or turn.asks_about_learning for turn in tutor]
    return Scores(
        # Each wording counts once: a tutor that repeats itself does not teach more.
        fit=len({t for t, *good in zip(tutor, suits, gives_room, strict=True) if all(good)})
        / max(1, len(tutor)),
        activity=_share([_is_active(text) for text in student]),
        room=_share(gives_room),
        ending=float(ended_by == "the tutor"),
    )


def _is_active(text: str) -> bool:
    plain = text.casefold()
    return len(plain.split()) >= _MIN_ACTIVE_WORDS and _OWN_WORK.search(plain) is not None


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0


def _in_words(scores: Scores) -> str:
    return (
        f"{scores.fit:.0%} of the tutor's turns suit the student, {scores.activity:.0%} of the student's are active, "
        f"{1 - scores.room:.0%} of the tutor's are lectures{', ended well' if scores.ending else ''}."
    )


@lru_cache(maxsize=1)
def _tail() -> str:
    """What follows the second lesson in the prompt."""
    names = (
        "background_json",
        "first_ended_by",
        "first_json",
        "second_ended_by",
        "second_json",
        "first_code",
    )
    rendered = render("judge_preference", **dict.fromkeys(names, ""), second_code="0")
    return rendered.rpartition("=== transcript 0 ends ===")[2]
