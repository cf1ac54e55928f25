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
from eduardo.dataset.wording import masked_words
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
    """No validation problem may be trained on, be it word for word or with other numbers and names."""
    name, threshold = "leak between splits", subject.settings.preflight.wording_overlap
    train, val = (_rows(_files(subject, key)) for key in ("data.train_files", "data.val_files"))
    train_ids = {row["id"] for row in train}
    shared = [row["id"] for row in val if row["id"] in train_ids]
    if shared:
        raise UserError(
            f"data.val_files: {len(shared)} of {len(val)} problems are trained on as well, such as {shared[0]}; write "
            "both files with one call of `python -m eduardo.process_dataset`"
        )
    seen = _alike(train, val, threshold)
    if seen:
        own, other = seen[0]
        return warned(
            name,
            f"{len(seen)} of {len(val)} validation problems read like a training problem, such as {own} and {other}",
            "prepare the data again with a lower --similarity, or do not trust the validation",
        )
    return passed(name, f"{len(val)} validation problems, none of them in training")


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
    train: Sequence[dict[str, Any]], val: Sequence[dict[str, Any]], threshold: float
) -> list[tuple[str, str]]:
    """Ids of validation problems that read like a training problem, each with one of those."""
    index, owners = WordingIndex(threshold), []
    for row in val:
        for text in _texts(row):
            index.add(masked_words(text))
            owners.append(row["id"])
    found: dict[str, str] = {}
    for row in train:
        for text in _texts(row):
            for number in index.matches(masked_words(text)):
                found.setdefault(owners[number], row["id"])
    return list(found.items())


def _texts(row: dict[str, Any]) -> Iterator[str]:
    return (text for key in ("problem", "transfer_problem") if (text := row[key]))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
