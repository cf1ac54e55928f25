"""verl's synchronous trainer with an exact resume: its own order of problems, and checkpoints that are whole."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import open_dict
from ray.exceptions import RayTaskError
from tensordict import TensorDict
from verl.trainer.ppo.v1 import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from eduardo.chat_template import ChatTemplate
from eduardo.config.environments import split_batch
from eduardo.verl_adapter import checkpoints, dialogue_files
from eduardo.verl_adapter.data_order import make_order
from eduardo.verl_adapter.prompts import check_prompts
from eduardo.verl_adapter.tasks import environment_of, id_of

log = logging.getLogger("eduardo.trainer")


class ResumableTrainer(PPOTrainerSync):  # type: ignore[misc]
    """Steps count from 1. `completed_step` is the last one whose update is in the weights, `resumed_step` where
    this process began, `saved_step` the last one with a checkpoint."""

    total_training_steps: int

    def __init__(self, config: Any) -> None:
        self.run = config.run
        self.run_dir = Path(config.run.dir)
        self.completed_step = self.resumed_step = self.saved_step = 0
        super().__init__(config)

    # -- data ---------------------------------------------------------------------------------------------------

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        # verl would leave its loop after the last epoch without the last checkpoint and validation.
        in_epochs = self.steps_per_epoch * self.config.trainer.total_epochs
        self.total_training_steps = min(self.total_training_steps, in_epochs)
        template = ChatTemplate(
            self.tokenizer, template_kwargs=dict(self.config.data.apply_chat_template_kwargs)
        )
        log.info("chat template: %s", template.report)
        for dataset in (self.train_dataset, self.val_dataset):
            check_prompts(dataset.dataframe, template, limit=self.config.recipe.dialogue.prompt_tokens)
        self.order = make_order(
            [(id_of(row), environment_of(row)) for row in self.train_dataset.dataframe],
            split_batch(self.config.environment.shares, self.config.data.train_batch_size),
            seed=self.run.seed,
        )

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        """The batch of the current step, whatever was trained before in this process."""
        rows = [self.train_dataset[row] for row in self.order.rows(self.global_steps)]
        batch = collate_fn(rows)
        batch["uid"] = np.array([self._uid(row) for row in rows], dtype=object)
        tensors = tu.get_tensordict(batch)
        tu.assign_non_tensor_data(tensors, "global_steps", self.global_steps)
        return tensors

    def _uid(self, row: dict[str, Any]) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.run.seed}/{self.global_steps}/{id_of(row)}"))

    # -- checkpoints --------------------------------------------------------------------------------------------

    @property
    def _checkpoint_root(self) -> Path:
        return Path(self.config.trainer.default_local_dir)

    def _load_checkpoint(self) -> None:
        found = self._checkpoint_to_resume()
        if found is None:
            super()._load_checkpoint()
        else:
            self.order.check_state(found.state(), found.step)
            with open_dict(self.config):
                self.config.trainer.resume_mode = "resume_path"
                self.config.trainer.resume_from_path = str(found.path)
            super()._load_checkpoint()
            log.info("resumed from %s", found.path)
        self.completed_step = self.saved_step = self.resumed_step = self.global_steps
        dialogue_files.discard_after(self.run_dir, self.completed_step)

    def _checkpoint_to_resume(self) -> checkpoints.Checkpoint | None:
        if self.run.resume == "never":
            return None
        if self.run.resume == "auto":
            return checkpoints.newest_complete(self._checkpoint_root, report=log.warning)
        return checkpoints.open_checkpoint(Path(self.run.resume))

    def _save_checkpoint(self) -> None:
        step = self.global_steps
        if not checkpoints.has_room_for_another(self._checkpoint_root):
            log.error("checkpoint of step %d not written: no space left on the disk", step)
            return
        try:
            with checkpoints.writing(self._checkpoint_root, step, self.order.state(step)) as folder:
                self.actor_rollout_wg.save_checkpoint(
                    str(folder / "actor"), None, step, max_ckpt_to_keep=None
                )
        except (
            OSError,
            RayTaskError,
        ) as error:  # a full disk, mostly: the run lives on the previous checkpoint
            log.error("checkpoint of step %d not written: %s", step, error)
            return
        self.saved_step = step
        checkpoints.remove_old(self._checkpoint_root, keep=self.run.keep_checkpoints)
