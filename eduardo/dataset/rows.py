"""The Parquet row that verl reads, with one explicit schema for every environment.

Struct columns get the union of their rows' fields and may change number types when a schema is inferred, so
nothing is inferred: fields are fixed, ground truth is text, and whatever has no field of its own travels as
JSON text in `extra_info.extras`. Readers treat None as missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from eduardo import views
from eduardo.dataset.columns import published_columns
from eduardo.types import ItemKind, Problem, SolveRate, TestItem, TransferPair

DATA_SOURCE = "near_transfer"
AGENT_NAME = "eduardo_tutor"
_BATCH_ROWS = 1024

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        ("prompt", MESSAGES),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        (
            "extra_info",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("index", pa.int64()),
                    ("split", pa.string()),
                    ("problem", pa.string()),
                    ("answer", pa.string()),
                    ("transfer_problem", pa.string()),
                    ("transfer_answer", pa.string()),
                    ("pre_solve_rate", pa.float64()),
                    ("pre_solve_rate_n_scored", pa.int64()),
                    ("pre_solve_rate_transfer_problem", pa.float64()),
                    ("pre_solve_rate_transfer_n_scored", pa.int64()),
                    ("notes", pa.string()),
                    ("extras", pa.string()),
                ]
            ),
        ),
        ("agent_name", pa.string()),
    ]
)


def to_row(
    pair: TransferPair,
    *,
    split: str,
    index: int,
    prompt_style: str,
    end_tag: str,
    extras: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """`pair` as a row of SCHEMA. `index` numbers the rows of one file; `extras` must be JSON-like.

    `prompt_style` and `end_tag` are those of `views.tutor_prompt`.
    """
    source, variant = pair.source, pair.variant
    return {
        "data_source": DATA_SOURCE,
        "prompt": views.tutor_prompt(pair, prompt_style, end_tag=end_tag),
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": source.problem.answer},
        "extra_info": {
            "id": pair.id,
            "index": index,
            "split": split,
            **published_columns(source, variant),
            "notes": pair.notes,
            "extras": to_json_text(extras or {}),
        },
        "agent_name": AGENT_NAME,
    }


def from_row(row: Mapping[str, Any]) -> TransferPair:
    """The pair inside a row as verl hands it over: dicts, numpy scalars, NaN or None for what is missing."""
    info = row["extra_info"]
    variant = _item(
        info,
        ItemKind.TRANSFER,
        ("transfer_problem", "transfer_answer"),
        ("pre_solve_rate_transfer_problem", "pre_solve_rate_transfer_n_scored"),
    )
    source = _item(
        info, ItemKind.SOURCE, ("problem", "answer"), ("pre_solve_rate", "pre_solve_rate_n_scored")
    )
    if source is None:
        raise ValueError(f"row {info.get('id')!r} has no problem")
    return TransferPair(id=str(info["id"]), source=source, variant=variant, notes=_plain(info.get("notes")))


class RowWriter:
    """Writes rows to one Parquet file, batch by batch. Same rows, same bytes. A context manager."""

    def __init__(self, path: Path, schema: pa.Schema = SCHEMA) -> None:
        self._schema = schema
        # A Python file object, so that a full disk raises an OSError with its number.
        self._stream = path.open("wb")
        self._writer = pq.ParquetWriter(self._stream, schema, compression="zstd")
        self._batch: list[Mapping[str, Any]] = []
        self.num_rows = 0

    def write(self, row: Mapping[str, Any]) -> None:
        self._batch.append(row)
        self.num_rows += 1
        if len(self._batch) == _BATCH_ROWS:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stream, self._writer:
            if kind is None:
                self._flush()

    def _flush(self) -> None:
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._batch, schema=self._schema))
        self._batch = []


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write `rows` of SCHEMA to one Parquet file and return how many."""
    with RowWriter(path) as writer:
        for row in rows:
            writer.write(row)
    return writer.num_rows


def to_json_text(value: Mapping[str, object]) -> str:
    """JSON with sorted keys; NaN becomes null, and values that JSON has no form for become their text."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError):  # an integer beyond 64 bits, half a surrogate pair
        return json.dumps(value, default=str, sort_keys=True)


def _item(
    info: Mapping[str, Any], kind: ItemKind, text_names: tuple[str, str], rate_names: tuple[str, str]
) -> TestItem | None:
    text, answer = (_plain(info.get(name)) for name in text_names)
    if text is None or answer is None:
        return None
    value, count = (_plain(info.get(name)) for name in rate_names)
    baseline = None
    if value is not None:
        baseline = SolveRate(value=float(value), num_graded=None if count is None else int(count))
    return TestItem(problem=Problem(text=str(text), answer=str(answer)), baseline=baseline, kind=kind)


def _plain(value: Any) -> Any:
    """Unwrap numpy scalars and one-element arrays; NaN, which pandas writes for null, is None."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
