"""Scored dialogues ↔ JSON lines.

A line is `{"version": 1, "dialogue": {…}}`; the dialogue has the fields of `eduardo.types.ScoredDialogue`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from eduardo.errors import UserError
from eduardo.files import LineWriter
from eduardo.types import ScoredDialogue

VERSION = 1

_logger = logging.getLogger(__name__)


class _Envelope(msgspec.Struct):
    version: int
    dialogue: msgspec.Raw


_envelope_decoder = msgspec.json.Decoder(_Envelope)
_dialogue_decoder = msgspec.json.Decoder(ScoredDialogue)


def to_json(dialogue: ScoredDialogue) -> bytes:
    """One line without its line break. Raises ValueError for a number that is not finite."""
    _refuse_non_finite(msgspec.to_builtins(dialogue), "dialogue")
    return msgspec.json.encode({"version": VERSION, "dialogue": dialogue})


def from_json(line: bytes) -> ScoredDialogue:
    """Reads one line. Raises UserError when it is no dialogue record, or one of a version unknown here."""
    try:
        envelope = _envelope_decoder.decode(line)
        if envelope.version != VERSION:
            raise UserError(
                f"dialogue record of version {envelope.version}, but this program reads version {VERSION}: "
                "read it with the release of eduardo that wrote it"
            )
        return _dialogue_decoder.decode(envelope.dialogue)
    except msgspec.MsgspecError as error:
        raise UserError(f"not a dialogue record ({error})") from error


def read_dialogues(path: Path) -> Iterator[ScoredDialogue]:
    """The dialogues of a JSON lines file, one after the other.

    A last line that was cut while it was written is skipped with a log message. Raises UserError that names
    file and line for any other line that is no dialogue record.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: can not be read ({error.strerror})") from error
    with file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield from_json(line)
            except UserError as error:
                if line.endswith(b"\n"):
                    raise UserError(f"{path}, line {number}: {error}") from error
                _logger.warning("%s, line %d: skipped, it was cut while it was written", path, number)


class DialogueWriter:
    """Appends dialogues to a JSON lines file; every line is on disk, whole, when `write` returns.

    Safe for threads and for several processes on one file. A last line that a crash cut is removed first.
    """

    def __init__(self, path: Path) -> None:
        self._lines = LineWriter(path, is_whole=_is_dialogue)

    def write(self, dialogue: ScoredDialogue) -> None:
        """Raises ValueError for a number that is not finite, and OSError (nothing is written then)."""
        self._lines.write(to_json(dialogue))

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_dialogue(line: bytes) -> bool:
    try:
        from_json(line)
    except UserError:
        return False
    return True


def _refuse_non_finite(value: object, where: str) -> None:
    """A number that is not finite would be written as null and read back as "not measured"."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is {value}, which is no result: it must not be recorded")
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_non_finite(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _refuse_non_finite(inner, f"{where}[{index}]")
