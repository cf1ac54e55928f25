"""JSON arrays and JSON lines, one record at a time.

Memory is bounded by the largest record, not by the file. Own code instead of a streaming parser, because
the complaints need the exact line of a record, and because files written by Python may hold NaN, which
strict parsers refuse for the whole file instead of for one row.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from eduardo.dataset.location import Location, Record
from eduardo.errors import UserError

_CHUNK_BYTES = 1 << 20
# A whole string (so that braces inside text do not count), a bracket, or the quote of an unfinished string.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\]]', re.DOTALL)


def read_json_records(path: Path) -> Iterator[Record]:
    """Yield the elements of one JSON array, or of JSON lines; told apart by the first byte.

    `path` may end in `.gz`. A byte order mark is skipped; blank lines are skipped.
    Raises UserError naming file and line for anything that cannot be decoded.
    """
    try:
        with _open(path) as stream:
            head = stream.read(_CHUNK_BYTES)
            if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise UserError(
                    f"{path}: is UTF-16, not UTF-8; convert it, for example: iconv -f utf-16 -t utf-8"
                )
            head = head.removeprefix(codecs.BOM_UTF8)
            if head.lstrip()[:1] == b"[":
                yield from _ArrayReader(stream, path.name, head)
            else:
                yield from _lines(stream, path.name, head)
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{path}: is not a complete gzip file ({error}); fetch it again") from error
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _lines(stream: BinaryIO, name: str, head: bytes) -> Iterator[Record]:
    row = line = 0
    chunk = tail = head
    while chunk:
        chunk = stream.read(max(_CHUNK_BYTES, len(tail)))
        pieces = (tail + chunk).split(b"\n")
        tail = pieces.pop() if chunk else b""
        for piece in pieces:
            line += 1
            if piece.strip():
                row += 1
                where = Location(name, row, line)
                yield Record(decode(piece, where), where)


class _ArrayReader:
    """Cuts the elements out of one JSON array by counting brackets outside strings."""

    def __init__(self, stream: BinaryIO, name: str, head: bytes) -> None:
        self._stream = stream
        self._name = name
        self._data = head
        self._line = 1  # line of offset self._counted
        self._counted = 0
        self._row = 0

    def __iter__(self) -> Iterator[Record]:
        position = self._data.index(b"[") + 1
        begin, end, depth = -1, position, 0  # element being read, end of the last one, brackets open in it
        while True:
            unfinished = len(self._data)
            for token in _TOKEN.finditer(self._data, position):
                kind = token[0]
                if kind in b"{[":
                    if depth == 0:
                        begin = token.start()
                        self._check_gap(end, begin)
                    depth += 1
                elif kind in b"}]":
                    depth -= 1
                    if depth == 0:
                        end = token.end()
                        yield self._record(begin, end)
                    elif depth < 0:
                        self._check_end(end, token.start(), token.end())
                        return
                elif kind == b'"':
                    unfinished = token.start()
                    break
                elif depth == 0:
                    raise self._error(token.start(), "expected an object, found text")
            keep = begin if depth else end
            position = self._refill(keep, unfinished, depth)
            begin, end = (0, -1) if depth else (-1, 0)

    def _record(self, begin: int, end: int) -> Record:
        self._row += 1
        where = Location(self._name, self._row, self._line_of(begin))
        return Record(decode(self._data[begin:end], where), where)

    def _line_of(self, offset: int) -> int:
        self._line += self._data.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._line

    def _refill(self, keep: int, position: int, depth: int) -> int:
        """Drop what was handed out, read on, and return where to go on scanning."""
        line = self._line_of(keep)
        rest = self._data[keep:]
        chunk = self._stream.read(max(_CHUNK_BYTES, len(rest)))
        if not chunk:
            place = f"inside record {self._row + 1}, which starts there" if depth else "before the closing ]"
            raise UserError(
                f"{self._name} line {line}: the file ends {place}; it is truncated, fetch it again"
            )
        self._data, self._counted = rest + chunk, 0
        return position - keep

    def _check_gap(self, begin: int, end: int) -> None:
        gap = self._data[begin:end].strip()
        if gap != (b"," if self._row else b""):
            raise self._error(begin, f"expected a comma between objects, found {_shown(gap)}")

    def _check_end(self, begin: int, bracket: int, end: int) -> None:
        gap = self._data[begin:bracket].strip()
        if gap:
            raise self._error(begin, f"expected ] or another object, found {_shown(gap)}")
        rest = self._data[end:] + self._stream.read(_CHUNK_BYTES)
        if rest.strip():
            raise self._error(end, f"expected the end of the file after ], found {_shown(rest.strip())}")

    def _error(self, offset: int, problem: str) -> UserError:
        return UserError(f"{self._name} line {self._line_of(offset)}: {problem}")


def decode(raw: bytes, where: Location) -> object:
    """Decode one JSON value; NaN and Infinity are let through for the row checks to refuse."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = (where.line or 1) + raw.count(b"\n", 0, error.start)
        raise UserError(
            f"{where.file} line {line}: byte 0x{raw[error.start]:02x} is not UTF-8; "
            "convert the file, for example: iconv -f latin1 -t utf-8"
        ) from error
    except json.JSONDecodeError as error:
        line_number = (where.line or 1) + error.lineno - 1
        raise UserError(
            f"{where.file} line {line_number} column {error.colno}: not valid JSON ({error.msg})"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not usable JSON ({error})") from error


def _shown(raw: bytes) -> str:
    return repr(raw[:20].decode("utf-8", "replace")) if raw else "nothing"
