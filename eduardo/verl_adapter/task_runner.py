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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray
import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf
from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
from verl.trainer.ppo.v1 import get_trainer_cls
from verl.utils.logging_utils import configure_verl_logging

import eduardo.verl_adapter.agent_loop
import eduardo.verl_adapter.trainer  # noqa: F401  both register themselves with verl
from eduardo.cluster.ray_id import kill_ray
from eduardo.cluster.signals import keep_sigterm_blocked
from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE, kill_run
from eduardo.verl_adapter.stop import request_stop
from eduardo.verl_adapter.verl_check import check_with_verl

PARENT_CHECK_S = 2.0


class TutorTaskRunner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[misc]
    """Runs in the training process itself: verl would start one more process and import everything again."""

    @classmethod
    def remote(cls) -> TutorTaskRunner:
        return cls()

    @property
    def run(self) -> _InPlace:
        return _InPlace(self._run)

    def _run(self, config: DictConfig) -> None:
        """What verl's runner does, but the queue of experience comes up while models are loaded."""
        configure_verl_logging()
        self.config = config
        exit_code = 1
        with ThreadPoolExecutor(max_workers=1) as pool:
            queue = pool.submit(tq.init, config.transfer_queue)
            try:
                self.trainer = get_trainer_cls(config.trainer.v1.trainer_mode)(config=config)
                self.trainer.init()
                queue.result()
                self.init_agent_loop_manager()
                self.trainer.fit(self.agent_loop_manager)
                exit_code = 0
            finally:
                if (tracking := getattr(self.trainer, "logger", None)) is not None:
                    tracking.finish(exit_code=exit_code)
                tq.close()


class _InPlace:
    """A method that is called the way that verl calls a method of a Ray actor."""

    def __init__(self, method: Callable[..., None]) -> None:
        self._method = method

    def remote(self, *args: Any) -> ray.ObjectRef[None]:
        self._method(*args)
        return ray.put(None)


def main(config_path: str) -> None:
    keep_sigterm_blocked()
    _log_to_stderr()
    config = OmegaConf.load(config_path)
    assert isinstance(config, DictConfig)
    parent = os.getppid()
    _stop_with_parent(parent, Path(config.run.dir))
    # Ray's workers on this node inherit these; those on other nodes get them from here.
    names = [*config.run.env, "PYTHONPATH", RUN_ID_VARIABLE]
    runtime_env = config.ray_kwargs.ray_init.runtime_env
    runtime_env.env_vars = {n: os.environ[n] for n in names if n in os.environ}
    runtime_env.worker_process_setup_hook = (
        f"{keep_sigterm_blocked.__module__}.{keep_sigterm_blocked.__name__}"
    )
    if "RAY_ADDRESS" in os.environ:  # a cluster that is there already has what it has
        config.ray_kwargs.ray_init.update(num_cpus=None, num_gpus=None)
    check_with_verl(config)
    try:
        run_ppo(config, task_runner_class=TutorTaskRunner)
    finally:
        ray.shutdown()
        run_id = os.environ[RUN_ID_VARIABLE]
        kill_run(run_id)
        if os.getppid() != parent:  # the command is gone, which else ends what it has started
            kill_ray(run_id)


def _log_to_stderr() -> None:
    """A handler of our own: libraries that are imported on the way rearrange the root logger."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s:%(asctime)s:%(name)s: %(message)s"))
    logger = logging.getLogger("eduardo")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _stop_with_parent(parent: int, run_dir: Path) -> None:
    """Save and end when the command that started this process is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        request_stop(run_dir, "the command that started the run is gone")

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
