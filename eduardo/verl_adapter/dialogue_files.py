"""Dialogue records of a run: `dialogues/<split>/step_000001.jsonl`, one line per dialogue.

Each worker process writes a part of its own while a step runs; the trainer joins them when the step is done.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from eduardo.files import replace_file


def step_file(run_dir: Path, split: str, step: int) -> Path:
    return run_dir / "dialogues" / split / f"step_{step:06d}.jsonl"


def part_file(run_dir: Path, split: str, step: int, *, worker: str) -> Path:
    path = step_file(run_dir, split, step).with_suffix(".parts") / f"{worker}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def join_parts(run_dir: Path, split: str, step: int) -> None:
    """One file out of the parts, lines sorted so that it does not depend on which dialogue ended first."""
    target = step_file(run_dir, split, step)
    parts = target.with_suffix(".parts")
    if not parts.is_dir():
        return
    lines = sorted(line for part in parts.glob("*.jsonl") for line in part.read_bytes().splitlines() if line)
    replace_file(target, b"".join(line + b"\n" for line in lines))
    shutil.rmtree(parts)


def discard_after(run_dir: Path, step: int) -> None:
    """Remove what an interrupted run left of steps after `step`: they are about to be run again."""
    for path in (run_dir / "dialogues").glob("*/*step_*"):
        number = path.name.lstrip(".").removeprefix("step_").partition(".")[0]  # the dot of a draft
        if number.isdigit() and int(number) > step:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
