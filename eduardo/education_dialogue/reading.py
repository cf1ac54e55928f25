"""Records of the Education Dialogue files as cleaned conversations, one at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.location import Record
from eduardo.dataset.sources import FILE_TYPES, read_records
from eduardo.education_dialogue.cleaning import Cleaning, clean_turns, resolve_topic
from eduardo.education_dialogue.conversation import Background, Conversation, Utterance, conversation_id
from eduardo.errors import UserError
from eduardo.files import file_sha256
from eduardo.types import Speaker

_SPEAKERS = {"teacher": Speaker.TUTOR, "student": Speaker.STUDENT}
_FILES = {"train": r"conversations_train\d*|train", "test": r"conversations_eval\d*|test"}
MIN_TUTOR_TURNS = 2  # fewer is a greeting, not a lesson
MAX_CHARS = (
    50_000  # published conversations have some thousand; more is an accident, and no model could train on it
)


class _UnusableError(Exception):
    def __init__(self, rule: Rule, reason: str) -> None:
        super().__init__(reason)
        self.rule = rule


@dataclass(frozen=True)
class ConversationFolder:
    """A folder with the published files (`conversations_train1.json` ..., `conversations_eval.json`).

    `train.*` and `test.*` work as well, in every format of `dataset.sources`.
    """

    path: Path

    def records(self, split: str) -> Iterator[Record]:
        for file in self._files(split):
            yield from read_records(file)

    def provenance(self) -> dict[str, object]:
        files = [file for split in ("train", "test") for file in self._files(split)]
        return {"source": "folder", "files": {file.name: file_sha256(file) for file in files}}

    def _files(self, split: str) -> list[Path]:
        if not self.path.is_dir():
            raise UserError(f"{self.path}: no such folder")
        name = re.compile(rf"(?:{_FILES[split]})(?:{'|'.join(map(re.escape, FILE_TYPES))})")
        found = sorted(file for file in self.path.iterdir() if name.fullmatch(file.name))
        if not found:
            published = "conversations_train1.json ..." if split == "train" else "conversations_eval.json"
            raise UserError(f"{self.path}: has no {split} files; expected {published}, or {split}.jsonl")
        return found


def parse_conversation(record: Record, counts: Counter[Cleaning]) -> Conversation | Dropped:
    """One record cleaned, or why it cannot be used. Adds to `counts` what was cleaned in a usable one."""
    own = Counter[Cleaning]()
    try:
        conversation = _parse(record.value, own)
    except _UnusableError as error:
        return Dropped(record.where, error.rule, str(error))
    counts.update(own)
    return conversation


def _parse(value: object, counts: Counter[Cleaning]) -> Conversation:
    if not isinstance(value, dict):
        raise _UnusableError(Rule.WRONG_TYPE, f"expected an object, got {type(value).__name__}")
    raw = value.get("conversation")
    if not isinstance(raw, list):
        raise _UnusableError(Rule.WRONG_TYPE, f"conversation must be a list, got {type(raw).__name__}")
    turns = [_utterance(turn, number) for number, turn in enumerate(raw, 1)]
    num_chars = sum(len(turn.text) for turn in turns)
    if num_chars > MAX_CHARS:
        raise _UnusableError(Rule.TOO_LONG, f"{num_chars} characters, more than {MAX_CHARS}")
    utterances, ended_by = clean_turns(turns, counts)
    if not utterances:
        raise _UnusableError(Rule.EMPTY, "nothing is said")
    num_tutor_turns = sum(utterance.speaker is Speaker.TUTOR for utterance in utterances)
    if num_tutor_turns < MIN_TUTOR_TURNS:
        raise _UnusableError(Rule.SHORT, f"{num_tutor_turns} tutor turns")
    background = _background(value.get("background_info"), utterances, counts)
    return Conversation(
        id=conversation_id(background, utterances),
        background=background,
        utterances=utterances,
        ended_by=ended_by,
    )


def _utterance(turn: object, number: int) -> Utterance:
    if not isinstance(turn, dict):
        raise _UnusableError(Rule.WRONG_TYPE, f"turn {number} is no object")
    role, text = turn.get("role"), turn.get("text")
    speaker = _SPEAKERS.get(role.strip().casefold()) if isinstance(role, str) else None
    if speaker is None:
        raise _UnusableError(
            Rule.SPEAKER, f"role of turn {number} is {str(role)[:40]!r}, not Teacher or Student"
        )
    return Utterance(speaker=speaker, text=_storable(text, f"text of turn {number}"))


def _background(value: object, utterances: tuple[Utterance, ...], counts: Counter[Cleaning]) -> Background:
    if not isinstance(value, dict):
        raise _UnusableError(
            Rule.BACKGROUND, f"background_info must be an object, got {type(value).__name__}"
        )
    topic = _field(value, "topic")
    return Background(
        topic=resolve_topic(topic, utterances, counts),
        student_preference=_field(value, "student_prefrences", "student_preferences"),
        student_reaction=_field(value, "student_reactions"),
        teacher_preference=_field(value, "teacher_prefrences", "teacher_preferences"),
        teacher_reaction=_field(value, "teacher_reactions"),
    )


def _field(value: dict[str, object], *names: str) -> str:
    """The first of these columns; the published spelling and the right one."""
    for name in names:
        if value.get(name) is not None:
            text = _storable(value[name], name).strip()
            if text:
                return text
    raise _UnusableError(Rule.BACKGROUND, f"{names[-1]} is missing")


def _storable(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise _UnusableError(Rule.WRONG_TYPE, f"{name} must be text, got {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _UnusableError(Rule.BAD_TEXT, f"{name} holds half of a surrogate pair") from error
    return value
