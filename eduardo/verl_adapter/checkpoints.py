"""Checkpoint folders that are complete or absent, never half-written.

A checkpoint is written to `global_step_N.tmp`, flushed, renamed, and only then marked complete by a list of its
files and their sizes. Resuming takes the newest folder whose marker holds. Old ones go only after that.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eduardo.errors import UserError
from eduardo.files import flush, replace_file

MARKER = "COMPLETE.json"
STATE = "run_state.json"
POINTER = "latest_checkpointed_iteration.txt"  # read by verl's own tools
_PREFIX = "global_step_"
_TMP = ".tmp"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    step: int
    path: Path

    def state(self) -> dict[str, int | str]:
        """Data position and fingerprint at the time of saving."""
        loaded: dict[str, int | str] = json.loads((self.path / STATE).read_text(encoding="utf-8"))
        return loaded


@contextmanager
def writing(root: Path, step: int, state: dict[str, int | str]) -> Iterator[Path]:
    """A folder to write the checkpoint of `step` into; it appears under its name only when the block succeeds."""
    root.mkdir(parents=True, exist_ok=True)
    final, tmp = root / f"{_PREFIX}{step}", root / f"{_PREFIX}{step}{_TMP}"
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.mkdir()
    try:
        yield tmp
        replace_file(tmp / STATE, json.dumps(state, indent=1).encode())
        files = {str(path.relative_to(tmp)): path.stat().st_size for path in _files(tmp)}
        for path in _files(tmp):
            flush(path)
        shutil.rmtree(final, ignore_errors=True)
        tmp.rename(final)
        flush(root)
        replace_file(final / MARKER, json.dumps(files, indent=1).encode())
        replace_file(root / POINTER, str(step).encode())
    finally:
        shutil.rmtree(tmp, ignore_errors=True)  # there only when the block failed


def fault_of(path: Path) -> str | None:
    """Why a checkpoint folder cannot be used, or None when it is complete."""
    marker = path / MARKER
    if path.suffix == _TMP or not marker.is_file():
        return "it was not written to the end"
    try:
        files: dict[str, int] = json.loads(marker.read_text(encoding="utf-8"))
    except ValueError:
        return f"{MARKER} cannot be read"
    for name, num_bytes in files.items():
        if not (path / name).is_file():
            return f"{name} is missing"
        if (path / name).stat().st_size != num_bytes:
            return f"{name} is cut short"
    return None


def newest_complete(root: Path, *, report: Callable[[str], None]) -> Checkpoint | None:
    """The newest usable checkpoint. What is skipped, and why, goes to `report`."""
    for step, path in sorted(_folders(root), reverse=True):
        fault = fault_of(path)
        if fault is None:
            return Checkpoint(step, path)
        report(f"checkpoint {path} skipped: {fault}")
    return None


def open_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a named folder. Raises UserError when it is not a complete one."""
    name = path.name
    if not path.is_dir() or not name.removeprefix(_PREFIX).isdigit():
        raise UserError(f"run.resume: {path} is not a checkpoint folder ({_PREFIX}N)")
    fault = fault_of(path)
    if fault:
        raise UserError(f"run.resume: {path} cannot be used: {fault}")
    return Checkpoint(int(name.removeprefix(_PREFIX)), path)


def remove_old(root: Path, *, keep: int) -> None:
    """Delete all but the `keep` newest complete checkpoints, and unfinished ones older than the newest."""
    folders = sorted(_folders(root), reverse=True)
    complete = [path for _, path in folders if fault_of(path) is None]
    if not complete:
        return
    for _, path in folders:
        if path not in complete[:keep]:
            shutil.rmtree(path)


def has_room_for_another(root: Path) -> bool:
    """Whether the disk has room for a checkpoint of the newest one's size, with a tenth to spare."""
    newest = newest_complete(root, report=lambda _: None)
    if newest is None:
        return True
    num_bytes = sum(path.stat().st_size for path in _files(newest.path))
    return shutil.disk_usage(root).free > 1.1 * num_bytes


def _folders(root: Path) -> Iterator[tuple[int, Path]]:
    for path in root.glob(f"{_PREFIX}*"):
        number = path.name.removeprefix(_PREFIX).removesuffix(_TMP)
        if path.is_dir() and number.isdigit():
            yield int(number), path


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
