"""Scored dialogues ↔ JSON lines.

A line is `{"version": 1, "dialogue": {…}}`; the dialogue has the fields of `eduardo.types.ScoredDialogue`.
"""

from __future__ import annotations

import fcntl
import logging
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from eduardo.errors import UserError
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
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        self._mutex = threading.Lock()
        with self._locked():
            self._finish_last_line()

    def write(self, dialogue: ScoredDialogue) -> None:
        """Raises ValueError for a number that is not finite, and OSError (nothing is written then)."""
        line = to_json(dialogue) + b"\n"
        with self._locked():
            size = os.fstat(self._file.fileno()).st_size
            try:
                written = self._file.write(line)
                if written != len(line):
                    raise OSError(f"{self._path}: only {written} of {len(line)} bytes could be written")
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The file lock keeps other processes out, the mutex other threads: they share the file lock.
        with self._mutex:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)

    def _finish_last_line(self) -> None:
        content = self._path.read_bytes()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return
        try:
            from_json(content[end:])
        except UserError:
            self._file.truncate(end)
            _logger.warning("%s: removed a last line that was cut while it was written", self._path)
        else:
            self._file.write(b"\n")


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
