"""How long a run is."""

from __future__ import annotations

import pyarrow.parquet as pq
from omegaconf import DictConfig


def num_steps(config: DictConfig) -> int:
    """Training steps of the whole run, as verl counts them."""
    if config.trainer.total_training_steps is not None:
        return int(config.trainer.total_training_steps)
    num_rows: int = sum(pq.read_metadata(name).num_rows for name in config.data.train_files)
    return num_rows // int(config.data.train_batch_size) * int(config.trainer.total_epochs)
