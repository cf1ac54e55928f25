"""The runs that a viewer shows, kept up to date in the background while it runs."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from eduardo.errors import UserError
from eduardo.records import from_json
from eduardo.types import ScoredDialogue
from eduardo.viewer.index import Index, Location, Progress
from eduardo.viewer.ingest import line_key
from eduardo.viewer.sources import find_runs

_logger = logging.getLogger(__name__)


class Library:
    """Runs under some paths with their index. While entered, a thread takes in new dialogues every `poll_s`."""

    def __init__(self, paths: Sequence[Path], cache_dir: Path, *, poll_s: float) -> None:
        """Raises UserError when there is nothing to show or nowhere to keep the index."""
        self._paths, self._poll_s = list(paths), poll_s
        self._runs = find_runs(self._paths)
        self.index = Index(cache_dir / index_name(self._paths))
        self.by_id = self.index.run_ids(self._runs)
        self.version = 0  # grows with every change, so that a page knows when to ask again
        self.progress: Progress | None = None  # None until the first look at the files
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_fresh, name="index", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def refresh(self) -> None:
        """Take in what is new now. Raises UserError when a record's line says that it cannot be read here."""
        with suppress(UserError):  # the folders may be gone for a moment, or empty again: nothing is new then
            self._runs = find_runs(self._paths)
        self.by_id = self.index.run_ids(self._runs)
        if self.index.refresh(self._runs, self._on_progress):
            self.version += 1

    def read(self, key: str) -> ScoredDialogue | None:
        """The recorded dialogue itself, from its file. None when it is not, or no longer, there."""
        dialogue = self._read(key)
        if dialogue is None:
            self.refresh()  # the file was joined or rewritten since the last look
            dialogue = self._read(key)
        return dialogue

    def _read(self, key: str) -> ScoredDialogue | None:
        location = self.index.locate(key)
        line = _line(location) if location else b""
        is_it = any(line_key(run.root, line) == key for run in self.by_id.values())
        return from_json(line) if is_it else None

    def _on_progress(self, progress: Progress) -> bool:
        if progress != self.progress:
            self.progress = progress
            self.version += 1
        return not self._stopping.is_set()

    def _keep_fresh(self) -> None:
        while True:
            try:
                self.refresh()
            except (OSError, sqlite3.Error) as error:
                _logger.warning("the index was not updated: %s; it is tried again", error)
            if self._stopping.wait(self._poll_s):
                return


def index_name(paths: Sequence[Path]) -> str:
    """One index per set of paths, the same in every session."""
    resolved = "\n".join(sorted(str(path.resolve()) for path in paths))
    return f"{paths[0].resolve().name}-{hashlib.sha256(resolved.encode()).hexdigest()[:12]}.sqlite"


def _line(location: Location) -> bytes:
    try:
        with location.path.open("rb") as file:
            file.seek(location.offset)
            return file.read(location.length)
    except FileNotFoundError:
        return b""
