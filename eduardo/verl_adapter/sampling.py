"""verl's replay buffer, but a run can be stopped while dialogues are under way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from eduardo.verl_adapter.stop import check_stop


class StoppableReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """Takes `run_dir` and `poll_interval_s` from `trainer.v1.sampler.sampler_kwargs`.

    `on_progress` is called whenever a dialogue has come in or a group has changed its state.
    """

    def __init__(self, *, sampler_kwargs: Any, **kwargs: Any) -> None:
        super().__init__(
            sampler_kwargs=sampler_kwargs, poll_interval=sampler_kwargs.poll_interval_s, **kwargs
        )
        self.on_progress: Callable[[], None] = lambda: None
        self._run_dir = Path(sampler_kwargs.run_dir)
        self._seen: object = None

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        check_stop(self._run_dir)
        groups = (self.pending_keys, self.running_keys, self.finished_keys, self.failure_keys)
        seen = (partition_id, len(self.partitions[partition_id]), *(len(g[partition_id]) for g in groups))
        if seen != self._seen:
            self._seen = seen
            self.on_progress()
        waited: float = super()._wait_for_next_poll(partition_id, last_debug_time)
        return waited
