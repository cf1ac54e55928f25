"""Data files of a run: there, of our schema, of the right split, and not leaking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eduardo.config.environments import split_batch
from eduardo.dataset import SCHEMA
from eduardo.dataset.wording import exact_key, masked_words
from eduardo.dataset.wording_index import WordingIndex
from eduardo.errors import UserError
from eduardo.preflight.findings import CannotCheck, Finding, Subject, passed, warned

_REMEDY = "write it with `python -m eduardo.process_dataset`, or name another file"


def check_training_data(subject: Subject) -> Finding:
    config = subject.config
    num_rows = _check_files(subject, "data.train_files", split="train")
    if num_rows < config.data.train_batch_size:
        raise UserError(
            f"data.train_files hold {num_rows} rows, fewer than data.train_batch_size={config.data.train_batch_size}: "
            "lower it or prepare more data"
        )
    per_environment = _rows_by_environment(subject, "data.train_files")
    for name, needed in _counts(subject).items():
        if per_environment[name] < needed:
            raise UserError(
                f"data.train_files hold {per_environment[name]} rows of {name}, a step takes {needed}: lower "
                "data.train_batch_size or its share, or prepare more data"
            )
    return passed("training data", f"{num_rows} problems")


def check_validation_data(subject: Subject) -> Finding:
    num_rows = _check_files(subject, "data.val_files", split="val")
    _rows_by_environment(subject, "data.val_files")
    return passed("validation data", f"{num_rows} problems")


def check_leak(subject: Subject) -> Finding:
    """No validation or test problem may be trained on, be it word for word or with other numbers and names."""
    name, threshold = "leak between splits", subject.settings.preflight.wording_overlap
    train_files = _files(subject, "data.train_files")
    held_out = {"validation": ("data.val_files", _files(subject, "data.val_files"))}
    if test_files := _test_files(train_files):
        held_out["test"] = (", ".join(map(str, test_files)), test_files)
    train, alike, clean = _rows(train_files), [], []
    for kind, (where, files) in held_out.items():
        rows = _rows(files)
        _refuse_shared(train, rows, where)
        if seen := _alike(train, rows, threshold):
            own, other = seen[0]
            alike.append(
                f"{len(seen)} of {len(rows)} {kind} problems read like a training problem, such as {own} and {other}"
            )
        else:
            clean.append(f"{len(rows)} {kind} problems")
    if alike:
        remedy = "prepare the data again with a lower --similarity, or do not trust the measurements on them"
        return warned(name, "; ".join(alike), remedy)
    return passed(name, f"{' and '.join(clean)}, none of them in training")


def _test_files(train_files: Iterable[Path]) -> list[Path]:
    """Those beside the training data, which `python -m eduardo.evaluate` takes."""
    beside = dict.fromkeys(path.with_name("test.parquet") for path in train_files)
    return [path for path in beside if path.is_file() and _is_ours(path)]


def _is_ours(path: Path) -> bool:
    try:
        return not _missing_columns(pq.read_schema(path))
    except (pa.ArrowInvalid, OSError):
        return False


def _refuse_shared(train: Sequence[dict[str, Any]], held_out: Sequence[dict[str, Any]], where: str) -> None:
    train_ids = {row["id"] for row in train}
    shared = [row["id"] for row in held_out if row["id"] in train_ids]
    if shared:
        raise UserError(
            f"{where}: {len(shared)} of {len(held_out)} problems are trained on as well, such as {shared[0]}; write "
            "all files with one call of `python -m eduardo.process_dataset`"
        )


def _check_files(subject: Subject, key: str, *, split: str) -> int:
    """Number of rows."""
    return sum(_check_file(path, key=key, split=split) for path in _files(subject, key))


def _counts(subject: Subject) -> dict[str, int]:
    """How many rows of each environment a step takes."""
    return split_batch(subject.config.environment.shares, subject.config.data.train_batch_size)


def _rows_by_environment(subject: Subject, key: str) -> Counter[str]:
    """Raises UserError for a row of an environment that the run does not train."""
    counts, num_rows = _counts(subject), Counter[str]()
    for path in _files(subject, key):
        found = pq.read_table(path, columns=["data_source"])["data_source"].to_pylist()
        others = sorted(set(found) - counts.keys())
        if others:
            raise UserError(
                f"{key}: {path} holds rows of {others[0]}, but the run trains {' and '.join(counts)}; choose "
                f"environment={others[0]} or environment=mixed, or name another file"
            )
        num_rows.update(found)
    return num_rows


def _files(subject: Subject, key: str) -> list[Path]:
    files = [Path(name) for name in subject.config.data[key.rpartition(".")[2]]]
    missing = next((path for path in files if not path.is_file()), None)
    if missing is not None and subject.dry_run:
        raise CannotCheck(f"{missing} is not on this machine")
    if missing is not None:
        raise UserError(f"{key}: {missing} does not exist; {_REMEDY}")
    return files


def _check_file(path: Path, *, key: str, split: str) -> int:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{key}: {path} is not a Parquet file ({_first_line(error)}); {_REMEDY}") from None
    missing = _missing_columns(file.schema_arrow)
    if missing:
        raise UserError(f"{key}: {path} lacks {', '.join(missing)}; {_REMEDY}")
    if file.metadata.num_rows == 0:
        raise UserError(
            f"{key}: {path} has no rows; widen the filters of `python -m eduardo.process_dataset`"
        )
    found = {row["split"] for row in _rows([path])}
    if found - {split}:
        raise UserError(
            f"{key}: {path} holds rows of split {', '.join(sorted(found))}; name a file of split {split}"
        )
    return int(file.metadata.num_rows)


def _rows(files: Iterable[Path]) -> list[dict[str, Any]]:
    """`extra_info` of every row."""
    tables = (pq.read_table(path, columns=["extra_info"]) for path in files)
    return [row["extra_info"] for table in tables for row in table.to_pylist()]


def _missing_columns(schema: pa.Schema) -> list[str]:
    needed = dict(_paths(SCHEMA))
    there = dict(_paths(schema))
    return [name for name in needed if name not in there]


def _paths(fields: Iterable[pa.Field], prefix: str = "") -> Iterable[tuple[str, pa.DataType]]:
    for field in fields:
        yield f"{prefix}{field.name}", field.type
        if pa.types.is_struct(field.type):
            yield from _paths(field.type, f"{prefix}{field.name}.")


def _alike(
    train: Sequence[dict[str, Any]], held_out: Sequence[dict[str, Any]], threshold: float
) -> list[tuple[str, str]]:
    """Ids of held-out problems that read like a training problem, each with one of those."""
    index, owners, exact = WordingIndex(threshold), [], dict[str, str]()
    for row in held_out:
        for text in _texts(row):
            index.add(masked_words(text))
            owners.append(row["id"])
            exact[exact_key(text)] = row["id"]
    found: dict[str, str] = {}
    for row in train:
        for text in _texts(row):
            if (same := exact.get(exact_key(text))) is not None:
                found.setdefault(same, row["id"])
            for number in index.matches(masked_words(text)):
                found.setdefault(owners[number], row["id"])
    return list(found.items())


def _texts(row: dict[str, Any]) -> Iterator[str]:
    return (text for key in ("problem", "transfer_problem") if (text := row[key]))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
