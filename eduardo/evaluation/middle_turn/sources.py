"""Human dialogues from MathDial and Eedi, local or from the Hub. What cannot be used is counted, by reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from eduardo.dataset.location import Record
from eduardo.dataset.sources import FILE_TYPES, HubDataset, read_records
from eduardo.errors import UserError
from eduardo.evaluation.middle_turn.moments import Line, Moment, moments_of
from eduardo.evaluation.middle_turn.settings import DataSettings
from eduardo.types import Problem, Speaker

NO_SOLUTION = "(none given)"
_INTENT = re.compile(r"\A\s*\((?:focus|probing|generic|telling)\)")
_TEACHER = "Teacher"
_EEDI_MESSAGES, _EEDI_QUESTIONS = "anchored-dialogues", "dq-question-metadata"


def read_moments(settings: DataSettings) -> tuple[list[Moment], Counter[str]]:
    """The moments of the data set in its order, and how many dialogues were left out for which reason."""
    read = {"mathdial": _read_mathdial, "eedi": _read_eedi}[settings.format]
    moments, left_out = read(settings)
    if not moments:
        raise UserError(
            f"data.source={settings.source}: no dialogue has a tutor turn that answers the student"
        )
    return moments[: settings.num_moments], left_out


# -- MathDial --------------------------------------------------------------------------------------


def _read_mathdial(settings: DataSettings) -> tuple[list[Moment], Counter[str]]:
    """Columns `qid`, `question`, `ground_truth`, `conversation`. The teacher is `Teacher`, anyone else the student."""
    moments: list[Moment] = []
    left_out: Counter[str] = Counter()
    for number, record in enumerate(_records(settings, config=None), start=1):
        question = _field(record, "question")
        problem = Problem(text=question, answer=_optional(record, "ground_truth").strip() or NO_SOLUTION)
        pieces = [piece for piece in _field(record, "conversation").split("|EOM|") if piece.strip()]
        lines = [_mathdial_line(piece, record) for piece in pieces]
        found = moments_of(
            f"mathdial-{number}",
            problem,
            lines,
            every_turn=settings.every_turn,
            cluster=_optional(record, "qid") or question,
        )
        left_out["no tutor turn that answers the student"] += not found
        moments += found
    return moments, +left_out


def _mathdial_line(piece: str, record: Record) -> Line:
    speaker, colon, text = piece.partition(":")
    if not colon:
        raise UserError(f"{record.where}: {piece[:40]!r} is no `Speaker: text` of a conversation")
    if speaker.strip() == _TEACHER:
        return Speaker.TUTOR, _INTENT.sub("", text)
    return Speaker.STUDENT, text


# -- Eedi ------------------------------------------------------------------------------------------


def _read_eedi(settings: DataSettings) -> tuple[list[Moment], Counter[str]]:
    """Messages by `InterventionId`, questions by `QuestionId_DQ`. A question without a text is an image: left out."""
    questions = _eedi_questions(_records(settings, config=_EEDI_QUESTIONS))
    dialogues: dict[str, list[tuple[int, Line]]] = {}
    question_of: dict[str, str] = {}
    for record in _records(settings, config=_EEDI_MESSAGES):
        dialogue = _field(record, "InterventionId")
        speaker = Speaker.TUTOR if _number(record, "IsTutor") == 1 else Speaker.STUDENT
        line = (speaker, _optional(record, "MessageString"))
        dialogues.setdefault(dialogue, []).append((_number(record, "MessageSequence"), line))
        question_of[dialogue] = _field(record, "QuestionId_DQ")
    moments: list[Moment] = []
    left_out: Counter[str] = Counter()
    for dialogue, numbered in dialogues.items():
        question = question_of[dialogue]
        if question not in questions:
            left_out["its question is an image"] += 1
            continue
        found = moments_of(
            f"eedi-{dialogue}",
            Problem(text=questions[question], answer=NO_SOLUTION),
            [line for _, line in sorted(numbered, key=lambda one: one[0])],
            every_turn=settings.every_turn,
            cluster=question,
        )
        left_out["no tutor turn that answers the student"] += not found
        moments += found
    return moments, +left_out


def _eedi_questions(records: Iterable[Record]) -> dict[str, str]:
    """Question id → its text with the answers to choose from; only questions that have a text."""
    pieces: dict[str, dict[str, list[tuple[int, str]]]] = {}
    for record in records:
        labels = pieces.setdefault(_field(record, "QuestionId_DQ"), {})
        piece = (_number(record, "Sequence"), _optional(record, "Text"))
        labels.setdefault(_field(record, "Label"), []).append(piece)
    texts = {
        question: {
            label: " ".join(text for _, text in sorted(parts)).strip() for label, parts in labels.items()
        }
        for question, labels in pieces.items()
    }
    return {
        question: "\n".join([labels["Question Text"], *_eedi_choices(labels)])
        for question, labels in texts.items()
        if labels.get("Question Text")
    }


def _eedi_choices(labels: Mapping[str, str]) -> list[str]:
    named = [(letter, labels.get(f"Answer {letter} Text", "")) for letter in "ABCD"]
    return [f"{letter}) {text}" for letter, text in named if text]


# -- files and Hub ---------------------------------------------------------------------------------


def _records(settings: DataSettings, *, config: str | None) -> Iterator[Record]:
    """Records of a local file, of `CONFIG.jsonl` (or another file type) in a local folder, or of the Hub."""
    path = Path(settings.source)
    if path.is_dir() and config is not None:
        path = next((file for kind in FILE_TYPES if (file := path / f"{config}{kind}").is_file()), path)
    if path.is_file():
        return read_records(path)
    if path.exists() or path.name.endswith(FILE_TYPES):
        named = "" if config is None else f" {config} with one of"
        raise UserError(f"data.source={settings.source}: no file here{named} ({', '.join(FILE_TYPES)})")
    split = "train" if config == _EEDI_QUESTIONS else settings.split  # Eedi's questions are all in train
    return HubDataset(settings.source, settings.revision, config).records(split)


def _field(record: Record, name: str) -> str:
    row = record.value
    if not isinstance(row, Mapping):
        raise UserError(f"{record.where}: not an object with named columns")
    if row.get(name) is None:
        raise UserError(f"{record.where}: no column {name}; it has {', '.join(map(str, row))}")
    return str(row[name])


def _number(record: Record, name: str) -> int:
    text = _field(record, name)
    try:
        return int(float(text))
    except ValueError:
        raise UserError(f"{record.where}: {name} is {text!r}, not a number") from None


def _optional(record: Record, name: str) -> str:
    """Empty where the column is missing or null."""
    row = record.value
    return str(row.get(name) or "") if isinstance(row, Mapping) else ""
