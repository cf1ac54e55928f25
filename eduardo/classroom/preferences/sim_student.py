"""The simulated student with a preference: reacts to whether a turn suits it. No model of real people.

All that it knows is the chat that it is sent; `docs/classroom.md` gives the model.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from eduardo.classroom.preferences.sim_settings import StudentParams
from eduardo.classroom.preferences.styles import Reaction, Style, TutorTurn, reaction_of, read_turn, style_of
from eduardo.templates import render
from eduardo.types import Message
from eduardo.views import SILENCE

_MARKS = {name: f"\x00{name}\x00" for name in ("topic", "preference", "reaction", "end_tag")}
_NOTES = "\x00notes\x00"  # preference and reaction, which stand in one sentence
_REACTION_BEGINS = re.compile(r" (?=(?:and|but) )")
_ANSWERS = (
    "I think it has to do with how {topic} works, because one thing leads to the other.",
    "I would say that {topic} matters because people still talk about it.",
    "Maybe it is because of what came before. I tried to put it in my own words.",
    "Let me try: I think the main point of {topic} is how it changed things.",
)
_TAKES_PART = (
    "That makes sense to me. I think I can see why {topic} is important.",
    "I like that. I would like to try the next part of {topic} myself.",
)
_LISTENS = ("Okay.", "Go on.", "I see.")
_REACTIONS = {
    Reaction.ADAPTS: ("Okay, if you say so.",),
    Reaction.TELLS: ("I learn better with {preference}.", "Could we do {preference} instead?"),
    Reaction.RUDE: ("This is stupid.", "You are wasting my time."),
    Reaction.DISENGAGED: ("Whatever.", "Hm.", "Is it over soon?"),
    Reaction.ANXIOUS: ("I am afraid that I will get this wrong.", "I do not feel good about this."),
    Reaction.FRUSTRATED: ("This does not help me at all.", "I am getting frustrated."),
}
_UNDERSTOOD = "I understand {topic} now, because I could think it through myself. Thank you."
_LEAVES = "I have had enough for today."


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonChat:
    """A chat as the student sees it: what it was told about itself, and the tutor's turns so far, oldest first."""

    topic: str
    preference: str
    style: Style | None
    reaction: Reaction
    end_tag: str
    tutor_turns: tuple[TutorTurn, ...]
    is_blank: bool  # the last tutor turn

    def suits(self, turn: TutorTurn, params: StudentParams) -> bool:
        """A turn that teaches in the student's way, asks how it likes to learn, and does not go on and on."""
        if turn.is_lecture(params.long_turn_words):
            return False
        return turn.asks_about_learning or self.style is None or self.style in turn.styles


def read_lesson(messages: Sequence[Message]) -> LessonChat | None:
    """Understand a chat; None when its system prompt is not that of a student with a preference."""
    if not messages or messages[0]["role"] != "system":
        return None
    told = _read_system(messages[0]["content"])
    if told is None:
        return None
    body = messages[1:]
    opener = next((i for i, m in enumerate(body) if m["role"] == "assistant"), len(body))
    heard = [m["content"] for m in body[opener + 1 :] if m["role"] == "user"]
    spoken = [text for text in heard if text != SILENCE]
    return LessonChat(
        topic=told["topic"],
        preference=told["preference"].split("/")[0],
        style=style_of(told["preference"]),
        reaction=reaction_of(told["reaction"]),
        end_tag=told["end_tag"],
        tutor_turns=tuple(map(read_turn, spoken)),
        is_blank=not heard or heard[-1] == SILENCE or not any(c.isalnum() for c in heard[-1]),
    )


def reply(chat: LessonChat, rng: random.Random, params: StudentParams) -> str:
    """The student's next message."""
    if chat.is_blank:
        return "Are you there?"
    suited = [chat.suits(turn, params) for turn in chat.tutor_turns]
    last = chat.tutor_turns[-1]
    if last.asks_about_learning:
        return f"I like {chat.preference} best."
    if suited[-1] or (chat.reaction is Reaction.ADAPTS and rng.random() < params.adapts):
        return _go_along(chat, last, sum(suited), rng, params)
    num_unsuited = next((i for i, fits in enumerate(reversed(suited)) if fits), len(suited))
    if num_unsuited >= params.leaves_after:
        return f"{_LEAVES} {chat.end_tag}"
    return _fill(rng.choice(_REACTIONS[chat.reaction]), chat)


def _go_along(
    chat: LessonChat, last: TutorTurn, num_suited: int, rng: random.Random, params: StudentParams
) -> str:
    if num_suited > params.understands_after:
        return _fill(_UNDERSTOOD, chat)
    if last.asks:
        return _fill(rng.choice(_ANSWERS), chat)
    return _fill(
        rng.choice(_TAKES_PART if chat.style is not Style.LECTURE else (*_TAKES_PART, *_LISTENS)), chat
    )


def _fill(words: str, chat: LessonChat) -> str:
    return words.replace("{preference}", chat.preference).replace("{topic}", chat.topic)


def _read_system(text: str) -> dict[str, str] | None:
    """What the system prompt says in the places of its variables, or None when it is another prompt."""
    pieces, names = _frame()
    if not text.startswith(pieces[0]):
        return None
    values: dict[str, str] = {}
    position = len(pieces[0])
    for name, piece in zip(names, pieces[1:], strict=True):
        end = text.find(piece, position) if piece else len(text)
        if end < 0:
            return None
        values.setdefault(name, text[position:end])
        position = end + len(piece)
    *preference, reaction = _REACTION_BEGINS.split(values["notes"])
    return {**values, "preference": " ".join(preference) or reaction, "reaction": reaction}


@lru_cache(maxsize=1)
def _frame() -> tuple[list[str], list[str]]:
    """Fixed text of the prompt around its variables, and the variables in order."""
    rest = render("education_student_system", **_MARKS)
    rest = rest.replace(f"{_MARKS['preference']} {_MARKS['reaction']}", _NOTES)
    marks = {**_MARKS, "notes": _NOTES}
    pieces: list[str] = []
    names: list[str] = []
    while found := [(rest.find(mark), name) for name, mark in marks.items() if mark in rest]:
        start, name = min(found)
        pieces.append(rest[:start])
        names.append(name)
        rest = rest[start + len(marks[name]) :]
    return [*pieces, rest], names
