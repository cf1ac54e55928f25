"""verl's task runner with our trainer, and the training process that starts it.

`python -m eduardo.verl_adapter.task_runner CONFIG` expects a resolved configuration and the environment that
`eduardo.train` prepares; `eduardo.train` is the command for people.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig, OmegaConf
from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config

import eduardo.verl_adapter.agent_loop
import eduardo.verl_adapter.trainer  # noqa: F401  both register themselves with verl
from eduardo.verl_adapter.stop import request_stop

PARENT_CHECK_S = 2.0


class TutorTaskRunner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[misc]
    """Runs in the training process itself: verl would start one more process and import everything again."""

    @classmethod
    def remote(cls) -> TutorTaskRunner:
        return cls()

    @property
    def run(self) -> _InPlace:
        return _InPlace(super().run)


class _InPlace:
    """A method that is called the way that verl calls a method of a Ray actor."""

    def __init__(self, method: Callable[..., None]) -> None:
        self._method = method

    def remote(self, *args: Any) -> ray.ObjectRef[None]:
        self._method(*args)
        return ray.put(None)


def main(config_path: str) -> None:
    _log_to_stderr()
    config = OmegaConf.load(config_path)
    assert isinstance(config, DictConfig)
    _stop_with_parent(Path(config.run.dir))
    validate_config(
        config=config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config)
    )
    try:
        run_ppo(config, task_runner_class=TutorTaskRunner)
    finally:
        ray.shutdown()


def _log_to_stderr() -> None:
    """A handler of our own: libraries that are imported on the way rearrange the root logger."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s:%(asctime)s:%(name)s: %(message)s"))
    logger = logging.getLogger("eduardo")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _stop_with_parent(run_dir: Path) -> None:
    """Save and end when the command that started this process is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        request_stop(run_dir, "the command that started the run is gone")

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
