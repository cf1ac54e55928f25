"""The process of a warm start: `python -m eduardo.verl_adapter.sft_runner CONFIG`, one per GPU.

`eduardo.sft` is the command for people; it resolves the configuration and prepares the environment.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time

import psutil
import torch
from omegaconf import DictConfig, OmegaConf
from verl.trainer.sft_trainer import SFTTrainer
from verl.utils.distributed import destroy_global_process_group, initialize_global_process_group

from eduardo.verl_adapter.leftovers import COMMAND_PID_VARIABLE

COMMAND_CHECK_S = 2.0


class WarmStart(SFTTrainer):  # type: ignore[misc]
    """verl's trainer with an order of dialogues from the run's seed, which also resumes at the end of an epoch."""

    def __init__(self, config: DictConfig) -> None:
        super().__init__(config)
        if self.resume_global_step and self.resume_global_step % self.steps_per_epoch == 0:
            # A loader that was saved at the end of an epoch would yield nothing for the whole next one.
            self._build_dataloader()
            self.ckpt_handler.train_dataloader = self.train_dataloader

    def _build_dataloader(self) -> None:
        super()._build_dataloader()
        self.train_sampler.seed = self.config.trainer.seed


def main(config_path: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(asctime)s:%(name)s: %(message)s")
    config = OmegaConf.load(config_path)
    assert isinstance(config, DictConfig)
    _end_with_command(int(os.environ[COMMAND_PID_VARIABLE]))
    torch.manual_seed(config.sft.trainer.seed)
    if config.sft.trainer.device == "cpu":
        # verl would ask for the backend `cpu:gloo,cpu:gloo`, which torch refuses.
        torch.distributed.init_process_group(
            "gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
        )
    else:
        initialize_global_process_group()
    WarmStart(config.sft).fit()
    destroy_global_process_group()


def _end_with_command(pid: int) -> None:
    """What was trained since the last checkpoint is lost, as after any kill."""

    def watch() -> None:
        while psutil.pid_exists(pid):
            time.sleep(COMMAND_CHECK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
