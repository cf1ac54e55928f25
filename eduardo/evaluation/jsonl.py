"""Files of resumable stages: one JSON object per line, on disk when it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from eduardo.errors import UserError
from eduardo.files import LineWriter

L = TypeVar("L", bound=msgspec.Struct)


def read_lines(path: Path, kind: type[L]) -> list[L]:
    """All whole lines of a stage's file; none where there is no file. Raises UserError that names the line."""
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(msgspec.json.decode(line, type=kind))
        except msgspec.MsgspecError as error:
            if number < len(lines):  # a last line without its break was cut by a crash
                raise UserError(f"{path}, line {number}: {error}; remove the file to do it again") from error
    return found


def append_lines(path: Path, kind: type[msgspec.Struct]) -> LineWriter:
    def is_whole(line: bytes) -> bool:
        try:
            msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError:
            return False
        return True

    return LineWriter(path, is_whole=is_whole)
