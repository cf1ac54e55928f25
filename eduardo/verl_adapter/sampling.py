"""verl's replay buffer, but a run can be stopped while dialogues are under way, and a dead rollout ends it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from eduardo.verl_adapter.stop import StopTraining, check_stop


class StoppableReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """Takes `run_dir`, `poll_interval_s` and `stall_timeout_s` from `trainer.v1.sampler.sampler_kwargs`."""

    def __init__(self, *, sampler_kwargs: Any, **kwargs: Any) -> None:
        super().__init__(
            sampler_kwargs=sampler_kwargs, poll_interval=sampler_kwargs.poll_interval_s, **kwargs
        )
        self._run_dir = Path(sampler_kwargs.run_dir)
        self._stall_timeout_s = sampler_kwargs.stall_timeout_s
        self._last_progress: tuple[object, float] = (None, 0.0)

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        check_stop(self._run_dir)
        self._check_progress(partition_id)
        waited: float = super()._wait_for_next_poll(partition_id, last_debug_time)
        return waited

    def _check_progress(self, partition_id: str) -> None:
        groups = (self.pending_keys, self.running_keys, self.finished_keys, self.failure_keys)
        seen = (partition_id, len(self.partitions[partition_id]), *(len(g[partition_id]) for g in groups))
        now = time.monotonic()
        if seen != self._last_progress[0]:
            self._last_progress = (seen, now)
        elif now - self._last_progress[1] > self._stall_timeout_s:
            raise StopTraining(f"no dialogue made progress for {self._stall_timeout_s:.0f} s", failed=True)
