"""Problems and answers of one's own: read from a file, a folder or the Hub, and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from eduardo.answers import check_key
from eduardo.dataset import Dropped, HubDataset, LocalFolder, Location, Record, Rule
from eduardo.dataset.columns import parse_record
from eduardo.dataset.sources import read_records
from eduardo.errors import UserError
from eduardo.files import file_sha256
from eduardo.seeds import derive_seed
from eduardo.settings import Count, Settings, Share
from eduardo.types import Problem

PROBLEM_COLUMNS = ("problem", "question")  # tried in this order where no column is named
SPLITS = ("train", "test")
_CALCULATION = re.compile(r"<<[^<>]*>>")  # GSM8K repeats every calculation like this


class SourceSettings(Settings):
    file: str | None
    data_dir: str | None
    hf_dataset: str | None
    hf_config: str | None
    revision: str | None
    splits: Annotated[list[Annotated[str, Field(pattern="^(train|test)$")]], Field(min_length=1)]
    problem_column: str | None
    answer_column: Annotated[str, Field(min_length=1)]
    answer_mark: Annotated[str, Field(min_length=1)]  # what stands behind its last occurrence is the answer
    solution_as_notes: bool  # show a worked solution before the mark to the tutor
    num_problems: Count | None  # of each split, in their order
    test_share: Share  # of a source that has no split of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProblem:
    id: str  # 16 hex digits of problem and answer
    split: str
    problem: Problem
    solution: str | None  # worked, where the source has one
    group: str | None
    extras: Mapping[str, object]  # columns of the source without a meaning here
    where: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSet:
    """All usable problems of a source, train before test, and what was left out."""

    problems: list[SourceProblem]
    dropped: list[Dropped]
    provenance: dict[str, object]
    limit: int | None  # how many problems of each split to work on

    @property
    def chosen(self) -> list[SourceProblem]:
        """The first `limit` of each split. The others still count when near-copies are looked for."""
        by_split = [[one for one in self.problems if one.split == split] for split in SPLITS]
        return [one for members in by_split for one in members[: self.limit]]


class _Origin(Protocol):
    def records(self, split: str) -> Iterator[Record]: ...


@dataclass(frozen=True)
class _OneFile:
    path: Path

    def records(self, split: str) -> Iterator[Record]:
        return read_records(self.path)


def read_source(settings: SourceSettings, *, seed: int) -> SourceSet:
    """Read and check every row. Raises UserError when the source cannot be read or no row can be used."""
    _check_source(settings)
    origin = _origin(settings)
    splits = list(dict.fromkeys(settings.splits)) if settings.file is None else ["train"]
    problems: dict[str, SourceProblem] = {}
    dropped: list[Dropped] = []
    # The test split first: a problem that is in both belongs to the one that is never trained on.
    for split in sorted(splits, key=SPLITS.index, reverse=True):
        for record in origin.records(split):
            one = _read(record, split, settings)
            if isinstance(one, SourceProblem) and one.id in problems:
                one = Dropped(one.where, Rule.DUPLICATE, f"same problem as {problems[one.id].where}")
            if isinstance(one, Dropped):
                dropped.append(one)
            else:
                problems[one.id] = one
    if not problems:
        example = f"; for example {dropped[0]}" if dropped else ""
        raise UserError(f"the source has no usable problem ({len(dropped)} rows left out{example})")
    found = list(problems.values())
    if len(splits) == 1:
        found = _divide(found, settings.test_share, seed)
    return SourceSet(
        problems=sorted(found, key=lambda one: SPLITS.index(one.split)),
        dropped=dropped,
        provenance=_provenance(settings, found),
        limit=settings.num_problems,
    )


def _check_source(settings: SourceSettings) -> None:
    named = {
        "--file": settings.file,
        "--data-dir": settings.data_dir,
        "--hf-dataset": settings.hf_dataset,
    }
    given = [flag for flag, value in named.items() if value is not None]
    if len(given) != 1:
        raise UserError(f"name one source: {', '.join(named)} (given: {', '.join(given) or 'none'})")
    if settings.hf_dataset is None and (settings.hf_config or settings.revision):
        raise UserError("source.hf_config and source.revision go with --hf-dataset")


def _origin(settings: SourceSettings) -> _Origin:
    if settings.file is not None:
        path = Path(settings.file)
        if not path.is_file():
            raise UserError(f"--file {path}: no such file")
        return _OneFile(path)
    if settings.data_dir is not None:
        return LocalFolder(Path(settings.data_dir))
    return HubDataset(str(settings.hf_dataset), settings.revision, settings.hf_config)


def _provenance(settings: SourceSettings, problems: list[SourceProblem]) -> dict[str, object]:
    """What pins the source; the same on every machine. The ids hold the content of what is used."""
    content = f"{derive_seed(*sorted(one.id for one in problems)):08x}"
    if settings.file is not None:
        path = Path(settings.file)
        return {"source": "file", "file": path.name, "sha256": file_sha256(path), "problems": content}
    if settings.data_dir is not None:
        return {"source": "folder", "problems": content}
    return {
        "source": "hub",
        "name": settings.hf_dataset,
        "config": settings.hf_config,
        "revision": HubDataset(str(settings.hf_dataset), settings.revision).commit,
        "problems": content,
    }


def _divide(problems: list[SourceProblem], test_share: float, seed: int) -> list[SourceProblem]:
    """Give a share of a source without splits to the test split, chosen by a hash of seed and id."""
    num_test = round(test_share * len(problems))
    if len(problems) > 1 and 0 < test_share < 1:
        num_test = min(max(num_test, 1), len(problems) - 1)
    places = sorted(problems, key=lambda one: derive_seed(seed, "split", one.id))
    test = {one.id for one in places[:num_test]}
    return [
        SourceProblem(
            id=one.id,
            split="test" if one.id in test else "train",
            problem=one.problem,
            solution=one.solution,
            group=one.group,
            extras=one.extras,
            where=one.where,
        )
        for one in problems
    ]


def _read(record: Record, split: str, settings: SourceSettings) -> SourceProblem | Dropped:
    if not isinstance(record.value, dict):
        return Dropped(
            record.where, Rule.WRONG_TYPE, f"expected an object, got {type(record.value).__name__}"
        )
    row: dict[str, object] = record.value
    problem_column = settings.problem_column or next(
        (c for c in PROBLEM_COLUMNS if c in row), PROBLEM_COLUMNS[0]
    )
    for column in (problem_column, settings.answer_column):
        if column not in row:
            raise UserError(
                f"{record.where}: has no column {column!r}; found {', '.join(map(str, row))}; "
                "name them with --problem-column and --answer-column"
            )
    solution, answer = _split_answer(row[settings.answer_column], settings.answer_mark)
    checked = parse_record(
        Record(
            {
                "problem": row[problem_column],
                "answer": answer,
                "group": row.get("group"),
                "notes": row.get("notes"),
            },
            record.where,
        ),
        check_key,
    )
    if isinstance(checked, Dropped):
        return checked
    used = {problem_column, settings.answer_column, "group", "notes"}
    return SourceProblem(
        id=checked.pair.id,
        split=split,
        problem=checked.pair.source.problem,
        solution=checked.pair.notes or solution,
        group=checked.group,
        extras={name: value for name, value in row.items() if name not in used},
        where=record.where,
    )


def _split_answer(value: object, mark: str) -> tuple[str | None, object]:
    """The worked solution before the mark, if there is one, and the answer. A number counts as its text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None, value
    if not isinstance(value, str):
        return None, f"{value:.15g}" if math.isfinite(value) else value
    solution, found, answer = value.rpartition(mark)
    return (
        (_CALCULATION.sub("", solution).strip() or None, answer.strip()) if found else (None, value.strip())
    )
