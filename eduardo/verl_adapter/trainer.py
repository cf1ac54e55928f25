"""verl's synchronous trainer with exact resume, atomic checkpoints, a failure budget and a graceful stop."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import ray
import transfer_queue as tq
from omegaconf import open_dict
from ray.exceptions import RayTaskError
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout.replica import RolloutReplicaRegistry
from verl.workers.utils.padding import response_from_nested

from eduardo.chat_template import ChatTemplate
from eduardo.dataset import from_row
from eduardo.verl_adapter import advantage, checkpoints, dialogue_files, metrics
from eduardo.verl_adapter.data_order import DataOrder
from eduardo.verl_adapter.journal import METRICS_FILE, MetricsJournal
from eduardo.verl_adapter.prompts import check_prompts
from eduardo.verl_adapter.stop import StopTraining, check_stop, write_status

TRAINER_MODE = "eduardo"
register_adv_est(advantage.NAME)(advantage.group_advantage)
log = logging.getLogger("eduardo.trainer")


@register_trainer(TRAINER_MODE)
class TutorTrainer(PPOTrainerSync):  # type: ignore[misc]
    """Steps count from 1. `completed_step` is the last one whose update is in the weights."""

    total_training_steps: int

    def __init__(self, config: Any) -> None:
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # what verl's own code asks for
        self.run = config.run
        self.run_dir = Path(config.run.dir)
        self.completed_step = 0
        self._saved_step = 0
        self._dialogues: list[metrics.DialogueNumbers] = []
        super().__init__(config)

    # -- seams to verl ------------------------------------------------------------------------------------------

    @property
    def logger(self) -> Any:
        return self._journal

    @logger.setter
    def logger(self, tracking: Any) -> None:
        self._journal = MetricsJournal(
            tracking, self.run_dir / METRICS_FILE, resumed_step=self.completed_step
        )

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        if self.config.trainer.device != "cpu":
            return
        from eduardo.verl_adapter.vllm_cpu import load_cpu_replica
        from eduardo.verl_adapter.workers import CpuActorRolloutRefWorker

        RolloutReplicaRegistry.register("vllm", load_cpu_replica)
        for role, worker in self.role_worker_mapping.items():
            if issubclass(worker.__ray_metadata__.modified_class, ActorRolloutRefWorker):
                self.role_worker_mapping[role] = ray.remote(CpuActorRolloutRefWorker)

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
        ids = [from_row(row).id for row in self.train_dataset.dataframe]
        self.order = DataOrder(ids, batch_size=self.config.data.train_batch_size, seed=self.run.seed)

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        """The batch of the current step, whatever was trained before in this process."""
        rows = [self.train_dataset[row] for row in self.order.rows(self.global_steps)]
        batch = collate_fn(rows)
        batch["uid"] = np.array([self._uid(row) for row in rows], dtype=object)
        tensors = tu.get_tensordict(batch)
        tu.assign_non_tensor_data(tensors, "global_steps", self.global_steps)
        return tensors

    def _uid(self, row: dict[str, Any]) -> str:
        pair_id = from_row(row).id
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.run.seed}/{self.global_steps}/{pair_id}"))

    # -- the loop -----------------------------------------------------------------------------------------------

    def fit(self, agent_loop_manager: Any) -> None:
        write_status(self.run_dir, step=self.completed_step)
        stop: StopTraining | None = None
        try:
            super().fit(agent_loop_manager)
        except StopTraining as error:
            stop = error
            log.warning("stopping after step %d: %s", self.completed_step, stop.reason)
            if self.completed_step > self._saved_step:
                self.global_steps = self.completed_step
                self._save_checkpoint()
        if self.config.trainer.save_freq > 0 and self.completed_step > self._saved_step:
            stop = StopTraining(
                f"the checkpoint of step {self.completed_step} could not be written", failed=True
            )
        write_status(self.run_dir, step=self.completed_step, stop=stop)

    def on_step_begin(self) -> None:
        check_stop(self.run_dir)
        super().on_step_begin()

    def step(self, step_metrics: dict[str, Any], timing_raw: dict[str, float]) -> KVBatchMeta:
        batch = super().step(step_metrics, timing_raw)
        self.completed_step = self.global_steps
        dialogue_files.join_parts(self.run_dir, "train", self.global_steps)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, metrics: dict[str, Any], **kwargs: Any) -> KVBatchMeta:
        """First thing after sampling: refuse to learn from a step in which too much was not measured."""
        self._dialogues = self._reward_infos(batch)
        self._step_metrics(metrics)
        return super()._balance_batch(batch, metrics, **kwargs)

    def _step_metrics(self, into: dict[str, Any]) -> None:
        num_expected = self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n
        numbers = metrics.step_metrics(self._dialogues, num_expected=num_expected, prefix="dialogue")
        into.update(numbers)
        share, limit = numbers["dialogue/void_share"], self.config.recipe.faults.max_void_share
        if share > limit:
            dialogue_files.join_parts(self.run_dir, "train", self.global_steps)
            raise StopTraining(
                f"{share:.0%} of the dialogues of step {self.global_steps} are void, recipe.faults.max_void_share "
                f"allows {limit:.0%}; why is in {dialogue_files.step_file(self.run_dir, 'train', self.global_steps)}",
                failed=True,
            )

    @staticmethod
    def _reward_infos(batch: KVBatchMeta) -> list[metrics.DialogueNumbers]:
        data = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"]
        )
        return [fields["reward_extra_info"] for fields in list(data["extra_fields"])]

    def _compute_old_log_prob(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        first = self.completed_step == self._resumed_step
        every = self.run.logprob_check_freq
        if first or (every > 0 and self.global_steps % every == 0):
            metrics.update(self._logprob_gap(batch))
        return super()._compute_old_log_prob(batch, metrics)

    def _logprob_gap(self, batch: KVBatchMeta) -> dict[str, float]:
        """How far the trainer's log-probs are from the rollout's on the same tokens and weights."""
        batch.extra_info.update(
            calculate_entropy=False,
            compute_loss=False,
            temperature=self.config.actor_rollout_ref.rollout.temperature,
        )
        self.actor_rollout_wg.compute_log_prob(batch)
        fields = ["log_probs", "response_mask", "rollout_log_probs"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        data["log_probs"] = response_from_nested(data["log_probs"], data["response_mask"])
        padded = data.to_padded_tensor()
        return metrics.logprob_gap(padded["log_probs"], padded["rollout_log_probs"], padded["response_mask"])

    def _compute_metrics(self, batch: KVBatchMeta, *args: Any, **kwargs: Any) -> None:
        """verl's own means skip padding rows; void dialogues are marked as such so that they skip them too."""
        infos = self._reward_infos(batch)
        for tag, info in zip(batch.tags, infos, strict=True):
            tag["is_padding"] = tag.get("is_padding", False) or metrics.is_void(info)
        super()._compute_metrics(batch, *args, **kwargs)

    # -- validation ---------------------------------------------------------------------------------------------

    def _validate(self) -> dict[str, float]:
        try:
            numbers: dict[str, float] = super()._validate()
        except StopTraining:
            if self.completed_step == self._resumed_step:
                raise
            return {}  # the step's own metrics are still to be written; the next step's begin stops
        return numbers

    def _val_metrics_update(
        self, data_sources: Any, sample_uids: Any, reward_extra_infos_dict: Any, *args: Any, **kwargs: Any
    ) -> dict[str, float]:
        columns = {key: values for key, values in reward_extra_infos_dict.items() if key != "reward"}
        infos = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        dialogue_files.join_parts(self.run_dir, "val", self.global_steps)
        num_expected = len(self.val_dataset) * self.config.actor_rollout_ref.rollout.val_kwargs.n
        return metrics.step_metrics(infos, num_expected=num_expected, prefix="val")

    # -- checkpoints --------------------------------------------------------------------------------------------

    @property
    def _checkpoint_root(self) -> Path:
        return Path(self.config.trainer.default_local_dir)

    def _load_checkpoint(self) -> None:
        self._resumed_step = 0
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
        self.completed_step = self._saved_step = self._resumed_step = self.global_steps
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
        self._saved_step = step
        checkpoints.remove_old(self._checkpoint_root, keep=self.run.keep_checkpoints)
