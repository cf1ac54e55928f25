"""How long a run is."""

from __future__ import annotations

import pyarrow.parquet as pq
from omegaconf import DictConfig


def num_steps(config: DictConfig, *, num_rows: int | None = None) -> int:
    """Training steps of the whole run: what its epochs hold, or fewer when that was asked for.

    `num_rows`: rows of the training files, where these are not at hand.
    """
    if num_rows is None:
        num_rows = sum(pq.read_metadata(name).num_rows for name in config.data.train_files)
    in_epochs = num_rows // int(config.data.train_batch_size) * int(config.trainer.total_epochs)
    limit = config.trainer.total_training_steps
    return in_epochs if limit is None else min(in_epochs, int(limit))
