"""Scripted teachers of lessons, good and bad, so that the incentives can be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from eduardo.classroom.preferences.styles import Style, style_of
from eduardo.classroom.wire import count_tokens
from eduardo.dialogue import TutorReply
from eduardo.protocol import ThinkingMode
from eduardo.types import FinishReason, Transcript

_ASK_PREFERENCE = "Hello! Before we start, how do you like to learn?"
_TEACH = {
    Style.HANDS_ON: (
        "Let us look at an example from the real world. What happens in everyday life that has to do with {topic}?",
        "Try to draw what you just said about {topic}. What does it show?",
        "Have a go at home: what could you build or measure about {topic}?",
    ),
    Style.DISCUSSION: (
        "What do you think {topic} is about?",
        "Why do you think so? Do you agree with people who see {topic} in another way?",
        "What would you ask somebody who knows all about {topic}?",
    ),
    Style.LECTURE: (
        "In short, {topic} is important because it changed what people knew and did. Is that clear so far?",
        "The main idea of {topic} is that one thing led to the next. Can you say it in your own words?",
        "To sum up, {topic} has a cause, a course and a result. Which of these is least clear to you?",
    ),
    Style.STORY: (
        "Imagine a story in which you meet {topic}. How does it begin?",
        "Now pretend that you play the main character. What do you do about {topic}?",
        "Let us play a game: invent a riddle about {topic}. What is it?",
    ),
}
_FAREWELL = "Well done, you thought that through yourself."
_LECTURE = (
    "Listen carefully, because {topic} is a large subject that was studied by many people over a long time, and there "
    "are many facts, names and dates that you have to know about it, and I will now tell you all of them one after the "
    "other, and you do not have to say anything, because it is all in the book as well, and the test is about it, "
    "so sit still and write it down while I go on to the next part of {topic}."
)
_NUM_LESSON_TURNS = 4

Script = Callable[[Transcript], str]


class Teacher:
    """A scripted tutor of lessons. Stateless: what it says depends on the transcript alone."""

    thinking_mode = ThinkingMode.PREFILLED

    def __init__(self, script: Script, *, end_tag: str) -> None:
        self._script, self._end_tag = script, end_tag

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    async def reply(self, transcript: Transcript) -> TutorReply:
        said = self._script(transcript).replace("{topic}", transcript.problem.text)
        return TutorReply(raw=f"</think>{said.replace('{end}', self._end_tag)}", finish=FinishReason.STOP)


def adapter(transcript: Transcript) -> str:
    """Asks how the student likes to learn, teaches that way, and ends when the student has understood."""
    turn = len(transcript.tutor_turns)
    if turn == 0:
        return _ASK_PREFERENCE
    if turn > _NUM_LESSON_TURNS:
        return f"{_FAREWELL} {{end}}"
    heard = " ".join(student.text for student in transcript.student_turns[1:])
    ways = _TEACH[style_of(heard) or Style.DISCUSSION]
    return ways[(turn - 1) % len(ways)]


def lecturer(transcript: Transcript) -> str:
    """Talks on, whoever listens."""
    return _LECTURE


def storyteller(transcript: Transcript) -> str:
    """Teaches every student by stories."""
    turn = len(transcript.tutor_turns)
    ways = _TEACH[Style.STORY]
    return f"{_FAREWELL} {{end}}" if turn > _NUM_LESSON_TURNS else ways[turn % len(ways)]


def quitter(transcript: Transcript) -> str:
    """Says next to nothing and leaves as soon as it may."""
    return "Goodbye. {end}"


TEACHERS: Mapping[str, Script] = MappingProxyType(
    {"adapter": adapter, "lecturer": lecturer, "storyteller": storyteller, "quitter": quitter}
)
