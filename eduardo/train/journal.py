"""Reading `metrics.jsonl`: one JSON object per step, `step` and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path


class JournalReader:
    """Yields each finished line once, as the file grows."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self._path = path
        self._offset = path.stat().st_size if from_end and path.exists() else 0

    def new_lines(self) -> Iterator[dict[str, float]]:
        if not self._path.exists():
            return
        if self._path.stat().st_size < self._offset:
            self._offset = 0  # rewritten when a run was resumed
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield json.loads(line)


def read_journal(path: Path) -> list[dict[str, float]]:
    return list(JournalReader(path).new_lines())
