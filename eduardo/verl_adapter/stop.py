"""How a run is asked to stop, and how it says that it did: files in its folder, seen by all its processes."""

from __future__ import annotations

import json
from pathlib import Path

from eduardo.files import replace_file

STOP_FILE = "stop.json"
STATUS_FILE = "status.json"


class StopTraining(Exception):
    """Leave the training loop at a safe point. `failed` when the run must end with an error."""

    def __init__(self, reason: str, *, failed: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.failed = failed


def request_stop(run_dir: Path, reason: str, *, failed: bool = False) -> bool:
    """Ask the run to save and end. The first reason stays: False when there was one already."""
    try:
        with (run_dir / STOP_FILE).open("x", encoding="utf-8") as file:
            json.dump({"reason": reason, "failed": failed}, file)
    except FileExistsError:
        return False
    return True


def clear_stop(run_dir: Path) -> None:
    (run_dir / STOP_FILE).unlink(missing_ok=True)


def check_stop(run_dir: Path) -> None:
    """Raises StopTraining when a stop was requested."""
    path = run_dir / STOP_FILE
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8")
    if not text.endswith("}"):
        return  # still being written: seen at the next check
    request = json.loads(text)
    raise StopTraining(request["reason"], failed=request["failed"])


def write_status(run_dir: Path, *, step: int, stop: StopTraining | None = None) -> None:
    """The last completed step and, once the run has ended early, why. Written whole or not at all."""
    status = {"step": step, "reason": stop and stop.reason, "failed": bool(stop and stop.failed)}
    replace_file(run_dir / STATUS_FILE, json.dumps(status).encode())
