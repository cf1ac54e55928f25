"""Dialogue files → rows of the index: only what a file has gained since it was last read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import xxhash

from eduardo.errors import UserError
from eduardo.records import from_json
from eduardo.viewer.columns import COLUMNS, SEARCHED, to_entry
from eduardo.viewer.sources import DialogueFile

_BATCH_BYTES = 8 << 20  # read and committed at once: readers see a growing index, and a stop loses little
_TAIL_BYTES = 64  # what lies before the place where reading stopped, to tell growth from a rewrite
_INSERT = (
    f"INSERT OR IGNORE INTO dialogues (key, run, file, offset, length, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * (5 + len(COLUMNS)))})"
)


def line_key(root: Path, line: bytes) -> str:
    """The address of a dialogue: 16 hexadecimal digits out of its run's folder and its record."""
    return xxhash.xxh3_64_hexdigest(os.fsencode(root) + b"\0" + line.strip())


class FileReader:
    """Reads one file on from where the index stands, a batch at a time, each in a transaction of its own."""

    def __init__(self, connection: sqlite3.Connection, run_id: int, root: Path, file: DialogueFile) -> None:
        self._connection, self._run_id, self._root, self._file = connection, run_id, root, file
        self.done = 0

    def take_batch(self) -> bool:
        """Index the next lines. False when there is nothing more, or the file is gone."""
        try:
            with self._file.path.open("rb") as file, transaction(self._connection):
                stat = os.fstat(file.fileno())
                file_id, self.done = self._position(file.fileno(), stat)
                lines = _whole_lines(file.fileno(), self.done, stat.st_size)
                bad = self._add(lines, file_id)
                self.done += sum(map(len, lines))
                self._note(file_id, file.fileno(), stat, bad)
        except FileNotFoundError:
            return False
        return bool(lines)

    def _position(self, file: int, stat: os.stat_result) -> tuple[int, int]:
        """Id of the file and the offset to go on from: 0 for one that is new or was rewritten."""
        path = str(self._file.path)
        row = self._connection.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            insert = "INSERT INTO files (run, path, done, num_bad) VALUES (?, ?, 0, 0)"
            return self._connection.execute(insert, (self._run_id, path)).lastrowid or 0, 0
        same = (
            row["inode"] == stat.st_ino
            and stat.st_size >= row["done"]
            and _tail(file, row["done"]) == row["tail"]
        )
        if not same:
            self._connection.execute("DELETE FROM dialogues WHERE file = ?", (row["id"],))
            self._connection.execute(
                "UPDATE files SET num_bad = 0, first_bad = NULL WHERE id = ?", (row["id"],)
            )
        return row["id"], row["done"] if same else 0

    def _add(self, lines: Sequence[bytes], file_id: int) -> list[str]:
        """Rows for all lines that hold a dialogue; what is wrong with the others."""
        bad, offset = [], self.done
        for line in lines:
            if line.strip():
                try:
                    self._add_line(line, file_id, offset)
                except UserError as error:
                    bad.append(f"byte {offset}: {error}")
            offset += len(line)
        return bad

    def _add_line(self, line: bytes, file_id: int, offset: int) -> None:
        dialogue = from_json(line)
        entry = to_entry(dialogue, self._file.group)
        key, place = line_key(self._root, line), (file_id, offset, len(line))
        cursor = self._connection.execute(_INSERT, (key, self._run_id, *place, *entry.values))
        if cursor.rowcount == 0:
            moved = "UPDATE dialogues SET file = ?, offset = ?, length = ? WHERE key = ?"
            self._connection.execute(moved, (*place, key))
            return
        holes = ", ".join("?" * (1 + len(SEARCHED)))
        self._connection.execute(
            f"INSERT INTO texts (rowid, {', '.join(SEARCHED)}) VALUES ({holes})",
            (cursor.lastrowid, *entry.texts),
        )
        problem = (self._run_id, dialogue.pair_id, dialogue.transcript.problem.text)
        self._connection.execute("INSERT OR IGNORE INTO problems VALUES (?, ?, ?)", problem)

    def _note(self, file_id: int, file: int, stat: os.stat_result, bad: Sequence[str]) -> None:
        self._connection.execute(
            "UPDATE files SET inode = ?, modified_ns = ?, size = ?, done = ?, tail = ?, num_bad = num_bad + ?, "
            "first_bad = coalesce(first_bad, ?) WHERE id = ?",
            (
                *(stat.st_ino, stat.st_mtime_ns, stat.st_size, self.done, _tail(file, self.done), len(bad)),
                *(bad[0] if bad else None, file_id),
            ),
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back when the block fails
        yield


def _whole_lines(file: int, start: int, size: int) -> list[bytes]:
    """Lines from `start` on, about a batch of them. One without its line break counts if it is a whole record."""
    length = _BATCH_BYTES
    while True:
        chunk = os.pread(file, length, start)
        end = chunk.rfind(b"\n") + 1
        if end or start + len(chunk) >= size:
            break
        length *= 2
    lines = chunk[:end].splitlines(keepends=True) if end else []
    rest = chunk[end:]
    if rest.strip() and start + len(chunk) >= size:
        try:
            from_json(rest)
        except UserError:
            return lines
        lines.append(rest)
    return lines


def _tail(file: int, end: int) -> bytes:
    start = max(0, end - _TAIL_BYTES)
    return os.pread(file, end - start, start)
