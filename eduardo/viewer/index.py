"""The index of recorded dialogues: one SQLite file with a row per dialogue and a full-text index.

It holds where each record lies, never the record itself, and grows with the files: a poll reads only what was
appended. A row is known by the hash of its line, so that a dialogue keeps its address when a running step's parts
are joined into one file. Several viewers may share an index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from eduardo.errors import UserError
from eduardo.records import VERSION
from eduardo.viewer.columns import INTEGERS, NUMBERS, SEARCHED, TEXTS
from eduardo.viewer.ingest import FileReader, transaction
from eduardo.viewer.sources import DialogueFile, Run

_SCHEMA_VERSION = 1

_SCHEMA = f"""
CREATE TABLE runs (id INTEGER PRIMARY KEY, root TEXT UNIQUE);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, run INTEGER, path TEXT UNIQUE, inode INTEGER, modified_ns INTEGER,
    size INTEGER, done INTEGER, tail BLOB, num_bad INTEGER, first_bad TEXT
);
CREATE TABLE problems (run INTEGER, pair TEXT, text TEXT, PRIMARY KEY (run, pair)) WITHOUT ROWID;
CREATE TABLE dialogues (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, run INTEGER, file INTEGER, offset INTEGER, length INTEGER,
    {", ".join(f"{name} TEXT" for name in TEXTS)},
    {", ".join(f"{name} INTEGER" for name in INTEGERS)},
    {", ".join(f"{name} REAL" for name in NUMBERS)}
);
CREATE INDEX dialogues_by_pair ON dialogues (pair);
CREATE INDEX dialogues_by_file ON dialogues (file);
CREATE INDEX dialogues_by_step ON dialogues (twin, run, grp, step, reward, post, gain, leak);
CREATE VIRTUAL TABLE texts USING fts5({", ".join(SEARCHED)}, content='', tokenize='unicode61 remove_diacritics 2');
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes of dialogue files that are in the index, and bytes there are."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Location:
    path: Path
    offset: int
    length: int


class Index:
    def __init__(self, path: Path) -> None:
        """Open or create. Raises UserError when `path` cannot hold an index."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._create()
        except (OSError, sqlite3.Error) as error:
            raise UserError(
                f"{path}: no index can be kept there ({error}); name another --cache-dir"
            ) from error

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for a query or a refresh; rows come by name."""
        with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = off")  # it can always be rebuilt from the records
            connection.execute("PRAGMA temp_store = memory")
            connection.execute(f"PRAGMA mmap_size = {1 << 30}")
            yield connection

    def refresh(self, runs: Sequence[Run], on_progress: Callable[[Progress], bool]) -> bool:
        """Take in what is new; True when anything changed. Stops early when `on_progress` returns False."""
        with self.connect() as connection:
            files = [(_run_id(connection, run), run, file) for run in runs for file in reversed(run.files())]
            todo = _outdated(connection, [(run_id, run.root, file) for run_id, run, file in files])
            total = sum(_size(file.path) for *_, file in files)
            done = total - sum(_size(file.path) - start for *_, file, start in todo)
            changed = False
            for run_id, root, file, start in todo:
                reader = FileReader(connection, run_id, root, file)
                while reader.take_batch():
                    changed = True
                    if not on_progress(Progress(done + max(0, reader.done - start), total)):
                        return True
                done += max(0, reader.done - start)
            gone = _drop_missing(connection, {str(file.path) for *_, file in files})
            on_progress(Progress(total, total))
            return changed or gone

    def locate(self, key: str) -> Location | None:
        with self.connect() as connection:
            row = connection.execute(
                "SELECT path, offset, length FROM dialogues JOIN files ON files.id = file WHERE key = ?",
                (key,),
            ).fetchone()
        return Location(Path(row["path"]), row["offset"], row["length"]) if row else None

    def run_ids(self, runs: Sequence[Run]) -> dict[int, Run]:
        with self.connect() as connection:
            return {_run_id(connection, run): run for run in runs}

    def _create(self) -> None:
        version = _SCHEMA_VERSION * 1000 + VERSION
        with self.connect() as connection:
            known = connection.execute("PRAGMA user_version").fetchone()[0]
        if known not in (0, version):
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        with self.connect() as connection:
            connection.execute("PRAGMA journal_mode = wal")
            with transaction(connection):
                if connection.execute("PRAGMA user_version").fetchone()[0] == version:
                    return
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _run_id(connection: sqlite3.Connection, run: Run) -> int:
    connection.execute("INSERT OR IGNORE INTO runs (root) VALUES (?)", (str(run.root),))
    return int(connection.execute("SELECT id FROM runs WHERE root = ?", (str(run.root),)).fetchone()[0])


def _outdated(
    connection: sqlite3.Connection, files: Sequence[tuple[int, Path, DialogueFile]]
) -> list[tuple[int, Path, DialogueFile, int]]:
    """The files that differ from what the index saw, with the offset up to which it has read them."""
    known = {row["path"]: row for row in connection.execute("SELECT * FROM files")}
    found = []
    for run_id, root, file in files:
        row = known.get(str(file.path))
        try:
            stat = file.path.stat()
        except FileNotFoundError:
            continue
        now = (stat.st_ino, stat.st_mtime_ns, stat.st_size, stat.st_size)
        if row is None or (row["inode"], row["modified_ns"], row["size"], row["done"]) != now:
            start = row["done"] if row and stat.st_size >= row["done"] else 0
            found.append((run_id, root, file, start))
    return found


def _drop_missing(connection: sqlite3.Connection, present: set[str]) -> bool:
    """Forget files that are no longer there; dialogues that moved elsewhere were found again before."""
    gone = [row for row in connection.execute("SELECT id, path FROM files") if row["path"] not in present]
    with transaction(connection):
        for row in gone:
            connection.execute("DELETE FROM dialogues WHERE file = ?", (row["id"],))
            connection.execute("DELETE FROM files WHERE id = ?", (row["id"],))
    return bool(gone)
