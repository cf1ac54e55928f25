"""Where recorded dialogues lie: training runs, evaluations, and single JSON lines files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from eduardo.errors import UserError

_MAX_DEPTH = 3  # runs/experiment/seed_1 is found from `runs`
_SCORED = "*/scored.jsonl"


class RunKind(StrEnum):
    TRAINING = "training"  # dialogues/<split>/step_*.jsonl
    EVALUATION = "evaluation"  # <tutor>/scored.jsonl
    FILE = "file"


@dataclass(frozen=True, slots=True)
class DialogueFile:
    path: Path
    group: str  # split of a training run, tutor of an evaluation


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    root: Path
    kind: RunKind

    def files(self) -> list[DialogueFile]:
        """The files that hold its dialogues now. Those of a running step are parts, one per worker."""
        if self.kind is RunKind.FILE:
            return [DialogueFile(self.root, self.root.stem)]
        if self.kind is RunKind.EVALUATION:
            return [DialogueFile(path, path.parent.name) for path in sorted(self.root.glob(_SCORED))]
        steps = sorted(self.root.glob("dialogues/*/step_*.jsonl"))
        done = {path.with_suffix("") for path in steps}
        parts = [
            part
            for part in sorted(self.root.glob("dialogues/*/step_*.parts/*.jsonl"))
            if part.parent.with_suffix("") not in done
        ]
        return [
            *(DialogueFile(path, path.parent.name) for path in steps),
            *(DialogueFile(path, path.parents[1].name) for path in parts),
        ]


def find_runs(paths: Sequence[Path]) -> list[Run]:
    """Every run and evaluation at or below `paths`, under distinct names. Raises UserError for an empty path."""
    found: dict[Path, RunKind] = {}
    for path in paths:
        here = dict(_walk(path.resolve(), depth=0))
        if not here:
            raise UserError(
                f"{path}: no dialogues; give a run folder (dialogues/), an evaluation folder (TUTOR/scored.jsonl), "
                "a folder that holds such folders, or a .jsonl file"
            )
        found.update(here)
    names = _distinct_names(list(found))
    return [Run(names[root], root, kind) for root, kind in found.items()]


def _walk(path: Path, depth: int) -> Iterator[tuple[Path, RunKind]]:
    if path.is_file():
        if depth == 0:
            yield path, RunKind.FILE
        return
    if not path.is_dir():
        return
    skipped: set[Path] = set()
    if (path / "dialogues").is_dir() or (path / "manifest.json").is_file():
        yield path, RunKind.TRAINING
        skipped = {path / name for name in ("dialogues", "checkpoints", "tensorboard")}
    elif scored := list(path.glob(_SCORED)):
        yield path, RunKind.EVALUATION
        skipped = {file.parent for file in scored}
    if depth < _MAX_DEPTH:
        for child in sorted(path.iterdir()):
            if child.is_dir() and child not in skipped and not child.name.startswith("."):
                yield from _walk(child, depth + 1)


def _distinct_names(roots: Sequence[Path]) -> dict[Path, str]:
    """The last part of each path, with as many parts before it as tell it from the others."""
    names = {root: root.name for root in roots}
    for length in range(2, max((len(root.parts) for root in roots), default=0) + 1):
        taken = Counter(names.values())
        names = {
            root: name if taken[name] == 1 else "/".join(root.parts[-length:]) for root, name in names.items()
        }
    return names
