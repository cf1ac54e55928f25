"""Dialogue records of a run: `dialogues/<split>/step_000001.jsonl`, one line per dialogue.

Each worker process writes a part of its own while a step runs; the trainer joins them when the step is done.
`dialogues/discarded/<split>` keeps what was scored in steps that are taken again; nobody reads it.
"""

from __future__ import annotations

import shutil
from itertools import count
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
    """Put aside what an interrupted run left of steps after `step`: they are about to be run again."""
    root = run_dir / "dialogues"
    for path in root.glob("*/*step_*"):
        number = path.name.lstrip(".").removeprefix("step_").partition(".")[0]  # the dot of a draft
        if not number.isdigit() or int(number) <= step:
            continue
        if path.name.startswith("."):
            path.unlink()
        else:
            path.rename(_free_name(root / "discarded" / path.parent.name, path))


def _free_name(folder: Path, path: Path) -> Path:
    """`step_000003.1.jsonl`; the number counts how often the step was put aside."""
    folder.mkdir(parents=True, exist_ok=True)
    names = (folder / f"{path.stem}.{number}{path.suffix}" for number in count(1))
    return next(name for name in names if not name.exists())
