"""Data files and model of a run, checked before anything starts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from omegaconf import DictConfig

from eduardo.dataset import SCHEMA
from eduardo.errors import UserError


def check_inputs(config: DictConfig) -> None:
    """Raises UserError that names the file and what to do."""
    num_rows = sum(_check_data_file(Path(name), key="data.train_files") for name in config.data.train_files)
    for name in config.data.val_files:
        _check_data_file(Path(name), key="data.val_files")
    if num_rows < config.data.train_batch_size:
        raise UserError(
            f"data.train_files hold {num_rows} rows, fewer than data.train_batch_size={config.data.train_batch_size}: "
            "lower it or prepare more data"
        )
    _check_model(
        config.actor_rollout_ref.model.path, max_model_len=config.actor_rollout_ref.rollout.max_model_len
    )


def _check_data_file(path: Path, *, key: str) -> int:
    """Number of rows of a file of ours."""
    todo = "write it with `python -m eduardo.process_dataset`, or name another file"
    if not path.is_file():
        raise UserError(f"{key}: {path} does not exist; {todo}")
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{key}: {path} is not a Parquet file ({_first_line(error)}); {todo}") from None
    missing = _missing_columns(file.schema_arrow)
    if missing:
        raise UserError(f"{key}: {path} lacks {', '.join(missing)}; {todo}")
    if file.metadata.num_rows == 0:
        raise UserError(
            f"{key}: {path} has no rows; widen the filters of `python -m eduardo.process_dataset`"
        )
    return int(file.metadata.num_rows)


def _missing_columns(schema: pa.Schema) -> list[str]:
    needed = dict(_paths(SCHEMA))
    there = dict(_paths(schema))
    return [name for name in needed if name not in there]


def _paths(fields: Iterable[pa.Field], prefix: str = "") -> Iterable[tuple[str, pa.DataType]]:
    for field in fields:
        yield f"{prefix}{field.name}", field.type
        if pa.types.is_struct(field.type):
            yield from _paths(field.type, f"{prefix}{field.name}.")


def _check_model(path: str, *, max_model_len: int) -> None:
    """A local folder must hold a model; a name that is no local path is left to the model hub."""
    folder = Path(path)
    looks_local = folder.is_absolute() or folder.exists() or path.startswith((".", "models/"))
    if not looks_local:
        return
    if not (folder / "config.json").is_file():
        raise UserError(
            f"actor_rollout_ref.model.path: {folder} holds no model (no config.json); "
            "`python -m eduardo.classroom --help` tells how the embedded tutor is made"
        )
    if not any(folder.glob("tokenizer*")):
        raise UserError(f"actor_rollout_ref.model.path: {folder} holds no tokenizer")
    limit = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
    if limit is not None and max_model_len > limit:
        raise UserError(
            f"the model in {folder} takes {limit} tokens, but recipe.dialogue.prompt_tokens and response_tokens "
            f"add up to {max_model_len}: lower them or take another model"
        )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
