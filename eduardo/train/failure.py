"""How a training process ended: what it wrote itself, or the one line of its log that a person needs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_RAY_PREFIX = re.compile(r"^\(\S+ pid=\d+[^)]*\)\s*")
_ERROR = re.compile(
    r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Timeout))(?:\([^)]*\))?: (?P<text>.+)"
)
_TAIL_BYTES = 200_000
MAX_CHARS = 400


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Written by the trainer: when training begins, and again when it ends by itself."""

    step: int  # last completed one
    reason: str | None  # why it ended early
    failed: bool


def read_status(path: Path) -> RunStatus | None:
    return RunStatus(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def error_line(log: Path, *, start: int = 0) -> tuple[str, str] | None:
    """Kind and text of the last exception in the log after byte `start`, or None when there is none."""
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", errors="replace").splitlines()
    for line in reversed(lines):
        match = _ERROR.match(_RAY_PREFIX.sub("", _ANSI.sub("", line).strip()))
        if match and not match["kind"].endswith("RayTaskError"):
            return match["kind"].rpartition(".")[2], match["text"][:MAX_CHARS]
    return None
