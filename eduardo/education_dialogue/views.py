"""What tutor, student and judge of a lesson may see: pure functions to chat messages.

The tutor learns the topic; the student's preference and reaction are known to the student and the judge only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.education_dialogue.conversation import Background
from eduardo.errors import UserError
from eduardo.templates import render
from eduardo.types import Message, Speaker, Transcript, Turn
from eduardo.views import SILENCE, as_one_line, fence_code, student_chat, turns_as_json

_TUTOR_SYSTEM_PROMPTS = {"default": "education_tutor_system", "compact": "education_tutor_system_compact"}
_ENDED_BY = {Speaker.TUTOR: "the tutor", Speaker.STUDENT: "the student", None: "nobody"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One side of a comparison."""

    turns: Sequence[Turn]
    ended_by: Speaker | None  # None: a limit, or nothing that is known


def opener(topic: str) -> Turn:
    """The scripted first student turn, which states the topic."""
    return Turn(speaker=Speaker.STUDENT, text=render("education_opener", topic=topic))


def tutor_prompt(topic: str, style: str, *, end_tag: str) -> list[Message]:
    """The tutor's chat before its first turn. `style`: default or compact. Raises UserError for another one."""
    if style not in _TUTOR_SYSTEM_PROMPTS:
        raise UserError(
            f"tutor prompt style {style!r} is unknown; use one of {', '.join(_TUTOR_SYSTEM_PROMPTS)}"
        )
    system = render(_TUTOR_SYSTEM_PROMPTS[style], topic=topic, end_tag=end_tag)
    return [{"role": "system", "content": system}, {"role": "user", "content": opener(topic).text}]


def student_view(transcript: Transcript, background: Background, *, end_tag: str) -> list[Message]:
    """The student's chat: the student is `assistant`, the tutor is `user`."""
    system = render(
        "education_student_system",
        topic=background.topic,
        preference=background.student_preference,
        reaction=background.student_reaction,
        end_tag=end_tag,
    )
    return student_chat(system, transcript.turns, greeting=render("education_greeting"))


def preference_view(background: Background, first: Lesson, second: Lesson) -> list[Message]:
    """The judge's chat on two lessons with one student. `views.fenced_transcripts` reads the lessons back.

    Both fences have codes that occur nowhere inside either, so nothing that was said can close one.
    """
    background_json = as_one_line(
        {
            "topic": background.topic,
            "student_preference": background.student_preference,
            "student_reaction": background.student_reaction,
        }
    )
    first_json, second_json = turns_as_json(first.turns), turns_as_json(second.turns)
    first_code = fence_code(background_json + first_json + second_json)
    user = render(
        "judge_preference",
        background_json=background_json,
        first_ended_by=_ENDED_BY[first.ended_by],
        first_code=first_code,
        first_json=first_json,
        second_ended_by=_ENDED_BY[second.ended_by],
        second_code=fence_code(background_json + first_json + second_json + first_code),
        second_json=second_json,
    )
    system = render("judge_preference_system", silence=SILENCE)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
