"""The journal of a set under construction: one line for what it is made with, one for every finished row."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from eduardo.errors import UserError
from eduardo.files import LineWriter, changed_keys
from eduardo.transfer_generation.outcome import Row

VERSION = 1
JOURNAL = "journal.jsonl"
_LOCK = ".lock"


class _Header(msgspec.Struct):
    version: int
    made_with: dict[str, object]


_header_decoder = msgspec.json.Decoder(_Header)
_row_decoder = msgspec.json.Decoder(Row)


class Journal:
    """Finished rows by source id. A row is on disk, whole, when `write` returns. Made by `open_journal`."""

    def __init__(self, lines: LineWriter, rows: dict[str, Row]) -> None:
        self._lines = lines
        self.rows = rows

    def write(self, row: Row) -> None:
        """Raises UserError when the disk takes no more; nothing is written then."""
        try:
            self._lines.write(msgspec.json.encode(row))
        except OSError as error:
            raise UserError(
                f"{JOURNAL}: cannot be written ({error.strerror or error}); "
                "finished rows are kept: make room and run the command again"
            ) from error
        self.rows[row.source_id] = row


@contextmanager
def open_journal(folder: Path, made_with: Mapping[str, object]) -> Iterator[Journal]:
    """The journal in `folder`, new or continued, for this process alone.

    Raises UserError when another process works there, or when the rows there were made with something else.
    """
    with _locked(folder):
        path = folder / JOURNAL
        with LineWriter(path, is_whole=_is_record) as lines:
            records = path.read_bytes().splitlines()
            if records:
                _check_header(path, records[0], made_with)
            else:
                lines.write(msgspec.json.encode(_Header(VERSION, dict(made_with))))
            rows = (_row(path, number, line) for number, line in enumerate(records[1:], start=2))
            yield Journal(lines, {row.source_id: row for row in rows})


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("wb")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); choose another --out-dir") from None
    with lock:
        try:
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                f"{folder}: another run is at work there; wait for it or choose another --out-dir"
            ) from None
        yield


def _check_header(path: Path, line: bytes, made_with: Mapping[str, object]) -> None:
    try:
        header = _header_decoder.decode(line)
    except msgspec.MsgspecError:
        raise UserError(
            f"{path}, line 1: not the journal of a near-transfer set; choose another --out-dir"
        ) from None
    if header.version != VERSION:
        raise UserError(
            f"{path}: a journal of version {header.version}; this program writes version {VERSION}"
        )
    changed = changed_keys(header.made_with, made_with)
    if changed:
        raise UserError(
            f"{path.parent} holds rows made with another {', '.join(changed)}: choose another --out-dir or remove it"
        )


def _row(path: Path, number: int, line: bytes) -> Row:
    try:
        return _row_decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise UserError(
            f"{path}, line {number}: not a row ({error}); remove the line, and its problem is done again"
        ) from None


def _is_record(line: bytes) -> bool:
    for decoder in (_header_decoder, _row_decoder):
        try:
            decoder.decode(line)
        except msgspec.MsgspecError:
            continue
        return True
    return False
