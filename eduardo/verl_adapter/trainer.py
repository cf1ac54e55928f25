"""The trainer: a failure budget, a graceful stop, and metrics of dialogues around verl's loop."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

import ray
import transfer_queue as tq
from omegaconf import open_dict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1 import register_trainer
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout.replica import RolloutReplicaRegistry
from verl.workers.utils.padding import response_from_nested

from eduardo.config.environments import NAMES
from eduardo.verl_adapter import advantage, dialogue_files, metrics
from eduardo.verl_adapter.journal import METRICS_FILE, MetricsJournal
from eduardo.verl_adapter.resumable_trainer import ResumableTrainer
from eduardo.verl_adapter.stop import StopTraining, check_stop, write_status
from eduardo.verl_adapter.watchdog import Watchdog

TRAINER_MODE = "eduardo"
register_adv_est(advantage.NAME)(advantage.group_advantage)
log = logging.getLogger("eduardo.trainer")


@register_trainer(TRAINER_MODE)
class TutorTrainer(ResumableTrainer):
    """verl's loop, in which void dialogues count nowhere, and which stops when it is asked to or ought to."""

    def __init__(self, config: Any) -> None:
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # what verl's own code asks for
        super().__init__(config)
        self._watchdog = Watchdog(self.run.stall_timeout_s, self._end_stalled)
        self.replay_buffer.on_progress = lambda: self._watchdog.beat("dialogues were held")

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

    # -- the loop -----------------------------------------------------------------------------------------------

    def fit(self, agent_loop_manager: Any) -> None:
        write_status(self.run_dir, step=self.completed_step)
        stop: StopTraining | None = None
        try:
            super().fit(agent_loop_manager)
        except StopTraining as error:
            stop = error
            log.warning("stopping after step %d: %s", self.completed_step, stop.reason)
            if self.completed_step > self.saved_step:
                self.global_steps = self.completed_step
                self._save_checkpoint()
        if self.config.trainer.save_freq > 0 and self.completed_step > self.saved_step:
            stop = StopTraining(
                f"the checkpoint of step {self.completed_step} could not be written", failed=True
            )
        self._watchdog.stop()
        write_status(self.run_dir, step=self.completed_step, stop=stop)

    def _end_stalled(self, message: str) -> None:
        """From the watchdog's thread: the main one waits for something that will not come."""
        write_status(self.run_dir, step=self.completed_step, stop=StopTraining(message, failed=True))
        os._exit(1)

    def on_step_begin(self) -> None:
        check_stop(self.run_dir)
        self._watchdog.beat("dialogues were held")

    def on_step_end(self) -> None:
        self._watchdog.beat("weights went to vLLM")
        super().on_step_end()

    def step(self, step_metrics: dict[str, Any], timing_raw: dict[str, float]) -> KVBatchMeta:
        batch = super().step(step_metrics, timing_raw)
        self.completed_step = self.global_steps
        dialogue_files.join_parts(self.run_dir, "train", self.global_steps)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, metrics: dict[str, Any], **kwargs: Any) -> KVBatchMeta:
        """First thing after sampling: refuse to learn from a step in which too much was not measured."""
        self._watchdog.beat("the policy was updated")
        self._step_metrics(self._reward_infos(batch), metrics)
        return super()._balance_batch(batch, metrics, **kwargs)

    def _step_metrics(self, dialogues: list[metrics.DialogueNumbers], into: dict[str, Any]) -> None:
        num_expected = self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n
        numbers = self._dialogue_metrics(dialogues, num_expected, prefix="dialogue")
        into.update(numbers)
        share, limit = numbers["dialogue/void_share"], self.config.recipe.faults.max_void_share
        if share > limit:
            self.logger.log(numbers, step=self.global_steps)  # the loop ends before it would
            dialogue_files.join_parts(self.run_dir, "train", self.global_steps)
            raise StopTraining(
                f"{share:.0%} of the dialogues of step {self.global_steps} are void, recipe.faults.max_void_share "
                f"allows {limit:.0%}; why is in {dialogue_files.step_file(self.run_dir, 'train', self.global_steps)}",
                failed=True,
            )

    def _dialogue_metrics(
        self, dialogues: Sequence[metrics.DialogueNumbers], num_expected: int, *, prefix: str
    ) -> dict[str, float]:
        numbers = metrics.step_metrics(dialogues, num_expected=num_expected, prefix=prefix)
        if len(self.config.environment.shares) > 1:
            numbers |= metrics.metrics_by_environment(dialogues, NAMES, prefix=prefix)
        return numbers

    @staticmethod
    def _reward_infos(batch: KVBatchMeta) -> list[metrics.DialogueNumbers]:
        data = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"]
        )
        return [fields["reward_extra_info"] for fields in list(data["extra_fields"])]

    def _compute_old_log_prob(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        first = self.completed_step == self.resumed_step
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

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        groups = [key.rsplit("_", 2)[0] for key in batch.keys]  # UID_SESSION_INDEX, as verl names its rows
        with open_dict(self.config.algorithm):
            self.config.algorithm[advantage.TIED_GROUPS] = advantage.tied_groups(
                groups, self._reward_infos(batch)
            )
        return super()._compute_advantage(batch, metrics)

    def _compute_metrics(self, batch: KVBatchMeta, *args: Any, **kwargs: Any) -> None:
        """verl's own means skip padding rows; void dialogues are marked as such so that they skip them too."""
        infos = self._reward_infos(batch)
        for tag, info in zip(batch.tags, infos, strict=True):
            tag["is_padding"] = tag.get("is_padding", False) or metrics.is_void(info)
        super()._compute_metrics(batch, *args, **kwargs)

    # -- validation ---------------------------------------------------------------------------------------------

    def _validate(self) -> dict[str, float]:
        self._watchdog.beat("validation dialogues were held")
        try:
            numbers: dict[str, float] = super()._validate()
        except StopTraining:
            if self.completed_step == self.resumed_step:
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
        return self._dialogue_metrics(infos, num_expected, prefix="val")

    def _save_checkpoint(self) -> None:
        self._watchdog.beat("a checkpoint was written")
        super()._save_checkpoint()
