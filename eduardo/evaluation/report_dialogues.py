"""The dialogues inside a report: chosen evenly, packed small, opened by the page's own script."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from eduardo.evaluation.resumable import key_of
from eduardo.records import read_dialogues
from eduardo.types import Criterion, ItemKind, ScoredDialogue
from eduardo.viewer.page import dialogue_data

MAX_DIALOGUES = 500
_MAX_PACKED_BYTES = 13_000_000  # of the 15 MB that a report may have
_CHUNK = 20  # dialogues that are unpacked together when one of them is opened
_ATTEMPT_LIMITS = (None, 2000, 600, 150)  # characters, tried in turn until all fits
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Shown:
    """A dialogue of the report: what its table row says, and all that opening it shows."""

    group: str
    step: int | None
    dialogue: ScoredDialogue
    twin: ScoredDialogue | None = None

    @property
    def data(self) -> dict[str, Any]:
        return {**dialogue_data(self.dialogue, self.twin), "grp": self.group}

    @property
    def verdicts(self) -> Mapping[str, str]:
        """Criterion → accept, reject, undecided or not judged."""
        decided = {
            v.criterion: v.decision.value if v.decision else "undecided" for v in self.dialogue.verdicts
        }
        return {criterion.value: decided.get(criterion, "not judged") for criterion in Criterion}


@dataclass(frozen=True, slots=True)
class Packed:
    shown: Sequence[Shown]
    chunks: Sequence[str]  # gzip of a JSON list, in base64
    chunk_size: int
    note: str  # what was left out; empty when nothing was


def of_evaluation(folder: Path, tutors: Sequence[str]) -> list[Shown]:
    """The same number of problems of every tutor, in the order of its file, with both post-tests."""
    per_tutor = MAX_DIALOGUES // max(1, len(tutors))
    return [
        shown
        for tutor in tutors
        for shown in islice(_evaluated(folder / tutor / "scored.jsonl", tutor), per_tutor)
    ]


def of_run(files: Sequence[tuple[Path, str]]) -> list[Shown]:
    """The same number of dialogues of every step, newest steps first. `files`: path and split."""
    per_file = max(1, MAX_DIALOGUES // max(1, len(files)))
    newest = sorted(files, key=lambda file: (file[0].name, file[1]), reverse=True)[:MAX_DIALOGUES]
    return [
        Shown(split, _step(dialogue), dialogue)
        for path, split in newest
        for dialogue in islice(read_dialogues(path), per_file)
    ]


def pack(shown: Sequence[Shown]) -> Packed:
    """Compressed to fit: attempts are shortened first, then dialogues are left out."""
    data = [one.data for one in shown]
    for limit in _ATTEMPT_LIMITS:
        chunks = _chunks([_shortened(one, limit) for one in data])
        if chunks is not None:
            note = (
                f"Post-test attempts are cut after {limit} characters to keep this file small."
                if limit
                else ""
            )
            return Packed(shown, chunks, _CHUNK, note)
    half = pack(shown[: len(shown) // 2])
    return Packed(
        half.shown, half.chunks, _CHUNK, f"{half.note} Only {len(half.shown)} dialogues fit in.".strip()
    )


def _evaluated(path: Path, tutor: str) -> Iterable[Shown]:
    records: dict[tuple[str, int], dict[str, ScoredDialogue]] = {}
    if not path.is_file():
        return
    for dialogue in read_dialogues(path):
        tests = records.setdefault(key_of(dialogue), {})
        tests[str(dialogue.labels.get("post_test"))] = dialogue
        if len(tests) == len(ItemKind):
            yield Shown(tutor, None, tests[ItemKind.TRANSFER], tests[ItemKind.SOURCE])


def _step(dialogue: ScoredDialogue) -> int | None:
    step = dialogue.labels.get("step")
    return step if isinstance(step, int) else None


def _shortened(data: dict[str, Any], limit: int | None) -> dict[str, Any]:
    if limit is None:
        return data
    tests = [
        {**test, "attempts": [_cut(attempt, limit) for attempt in test["attempts"]]} for test in data["tests"]
    ]
    return {**data, "tests": tests}


def _cut(attempt: dict[str, Any], limit: int) -> dict[str, Any]:
    text = attempt["text"]
    return attempt if len(text) <= limit else {**attempt, "text": text[:limit] + " […]"}


def _chunks(data: Sequence[dict[str, Any]]) -> list[str] | None:
    """None as soon as it is clear that they do not fit."""
    chunks: list[str] = []
    num_bytes = 0
    for start in range(0, len(data), _CHUNK):
        # No time stamp inside: the same dialogues give the same bytes.
        packed = gzip.compress(orjson.dumps(data[start : start + _CHUNK]), _LEVEL, mtime=0)
        chunks.append(base64.b64encode(packed).decode())
        num_bytes += len(chunks[-1])
        if num_bytes > _MAX_PACKED_BYTES:
            return None
    return chunks
