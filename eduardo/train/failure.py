"""Why a training process ended: the one line of its log that a person needs."""

from __future__ import annotations

import json
import re
from pathlib import Path

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_RAY_PREFIX = re.compile(r"^\(\S+ pid=\d+[^)]*\)\s*")
_ERROR = re.compile(
    r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Timeout))(?:\([^)]*\))?: (?P<text>.+)"
)
_TAIL_BYTES = 200_000
MAX_CHARS = 400


def error_line(log: Path) -> tuple[str, str] | None:
    """Kind and text of the last exception in the log, or None when there is none."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", errors="replace").splitlines()
    for line in reversed(lines):
        match = _ERROR.match(_RAY_PREFIX.sub("", _ANSI.sub("", line).strip()))
        if match and not match["kind"].endswith("RayTaskError"):
            return match["kind"].rpartition(".")[2], match["text"][:MAX_CHARS]
    return None


def read_status(path: Path) -> dict[str, object] | None:
    """What the trainer wrote when it ended by itself."""
    if not path.is_file():
        return None
    status: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return status
