"""Settings, data and model of a warm start, checked before anything starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import Field, ValidationError

from eduardo.errors import UserError
from eduardo.settings import Count, EnvironmentVariables, Settings, first_problem

_REMEDY = "write it with `python -m eduardo.process_dataset --dataset education_dialogue --format sft`"


class WarmStartRun(Settings):
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    dir: Annotated[str, Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)]
    keep_checkpoints: Count
    env: EnvironmentVariables


def resolve(config: DictConfig, base: Path) -> tuple[DictConfig, WarmStartRun]:
    """What the training process needs of a composed configuration, paths absolute, and our typed part of it.

    The groups of `train` fill in more than a warm start uses; only `run` and `sft` are kept. Raises UserError.
    """
    try:
        plain = {
            name: OmegaConf.to_container(config[name], resolve=True, throw_on_missing=True)
            for name in ("run", "sft")
        }
        run = WarmStartRun.model_validate(plain["run"])
    except OmegaConfBaseException as error:
        raise UserError(
            f"{getattr(error, 'full_key', None) or 'sft'}: {str(error).splitlines()[0]}"
        ) from None
    except ValidationError as error:
        raise UserError(f"run.{first_problem(error)}") from None
    resolved = OmegaConf.create(plain)
    run = run.model_copy(update={"dir": str(base / run.dir)})
    resolved.run.dir = run.dir
    resolved.sft.trainer.default_local_dir = str(base / resolved.sft.trainer.default_local_dir)
    for key in ("train_files", "val_files"):
        names = resolved.sft.data[key] or []
        names = [names] if isinstance(names, str) else names
        resolved.sft.data[key] = [str(base / name) for name in names] or None
    if (base / resolved.sft.model.path).exists():
        resolved.sft.model.path = str(base / resolved.sft.model.path)
    return resolved, run


def check_inputs(sft: DictConfig) -> int:
    """Number of training dialogues. Raises UserError that names the file or key and says what to do."""
    batch, num_ranks = sft.data.train_batch_size, sft.trainer.n_gpus_per_node
    if sft.trainer.nnodes != 1:
        raise UserError("trainer.nnodes: a warm start runs on one node; set trainer.nnodes=1")
    if batch % num_ranks:
        raise UserError(
            f"sft.data.train_batch_size={batch} must be a multiple of trainer.n_gpus_per_node={num_ranks}"
        )
    num_train = sum(_check_file(Path(name), "sft.data.train_files") for name in sft.data.train_files or ())
    num_val = sum(_check_file(Path(name), "sft.data.val_files") for name in sft.data.val_files or ())
    if num_train < batch:
        raise UserError(
            f"sft.data.train_files hold {num_train} dialogues, fewer than sft.data.train_batch_size={batch}: lower it"
        )
    if sft.data.val_files and num_val < batch:
        raise UserError(
            f"sft.data.val_files hold {num_val} dialogues, fewer than sft.data.train_batch_size={batch}, which is also "
            "the batch of validation: lower it, prepare more, or set sft.data.val_files=null"
        )
    _check_model(Path(sft.model.path), sft.data.max_length)
    return num_train


def num_steps(sft: DictConfig, num_train: int) -> int:
    """Steps of the whole run: what its epochs hold, or fewer when that was asked for."""
    in_epochs = num_train // int(sft.data.train_batch_size) * int(sft.trainer.total_epochs)
    limit = sft.trainer.total_training_steps
    return in_epochs if limit is None else min(in_epochs, int(limit))


def _check_file(path: Path, key: str) -> int:
    if not path.is_file():
        raise UserError(f"{key}: {path} does not exist; {_REMEDY}")
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(
            f"{key}: {path} is not a Parquet file ({str(error).splitlines()[0]}); {_REMEDY}"
        ) from None
    if "messages" not in file.schema_arrow.names:
        raise UserError(f"{key}: {path} has no column messages; {_REMEDY}")
    return int(file.metadata.num_rows)


def _check_model(folder: Path, max_length: int) -> None:
    """A local folder must hold a model; a name that is no local path is left to the model hub."""
    if not (folder.is_absolute() or str(folder).startswith((".", "models/"))):
        return
    if not (folder / "config.json").is_file():
        raise UserError(
            f"actor_rollout_ref.model.path: {folder} holds no model (no config.json); "
            "`python -m eduardo.classroom warm-start` makes the tiny tutor"
        )
    facts: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    limit = facts.get("max_position_embeddings")
    if limit is not None and max_length > limit:
        raise UserError(
            f"the model in {folder} takes {limit} tokens, sft.data.max_length={max_length} is more: lower it"
        )
