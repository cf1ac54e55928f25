"""verl's actor worker on CPU."""

from __future__ import annotations

import os
from typing import Any

import torch
from verl.workers.engine_workers import ActorRolloutRefWorker


class CpuActorRolloutRefWorker(ActorRolloutRefWorker):  # type: ignore[misc]
    """verl would ask for the backend `cpu:gloo,cpu:gloo`, which torch refuses; it keeps one that exists already."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group(
                "gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
            )
