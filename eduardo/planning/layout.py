"""How a run is laid out over its GPUs, read from verl's part of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from omegaconf import DictConfig

_BYTES = {
    "fp32": 4, "float32": 4, "float": 4, "32": 4,
    "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2, "half": 2, "16": 2,
}  # fmt: skip
MASTER_DTYPE = "fp32"  # verl's choice for a trained model when model_dtype is null


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    num_nodes: int
    num_gpus: int
    num_shards: int  # GPUs that share one copy of weights, gradients and optimizer states
    master_bytes: int  # per trained parameter
    rollout_bytes: int  # per parameter that vLLM holds
    lora_rank: int  # 0: all parameters are trained
    offloads_weights: bool  # while vLLM works
    offloads_optimizer: bool
    checkpoints_gradients: bool
    materializes_logits: bool
    micro_batch_tokens: int  # of one GPU's longest micro-batch
    forward_tokens: int  # the same where log-probabilities are only computed
    tensor_parallel: int
    vllm_share: float  # of a GPU's memory
    frees_cache: bool  # vLLM gives its memory back while the policy is updated
    max_model_len: int
    num_problems: int  # of a step
    group_size: int  # dialogues per problem

    @classmethod
    def from_config(cls, config: DictConfig) -> Self:
        """From a resolved run configuration."""
        model, rollout = config.actor_rollout_ref.model, config.actor_rollout_ref.rollout
        actor = config.actor_rollout_ref.actor
        fsdp = actor.fsdp_config
        num_gpus = int(config.trainer.nnodes) * int(config.trainer.n_gpus_per_node)
        longest = int(config.data.max_prompt_length) + int(config.data.max_response_length)
        return cls(
            num_nodes=int(config.trainer.nnodes),
            num_gpus=num_gpus,
            num_shards=num_gpus if int(fsdp.fsdp_size) < 1 else min(num_gpus, int(fsdp.fsdp_size)),
            master_bytes=_BYTES[str(fsdp.get("model_dtype") or MASTER_DTYPE)],
            rollout_bytes=_BYTES[str(rollout.dtype)],
            lora_rank=int(model.get("lora_rank") or 0),
            offloads_weights=bool(fsdp.param_offload),
            offloads_optimizer=bool(fsdp.optimizer_offload),
            checkpoints_gradients=bool(model.enable_gradient_checkpointing),
            materializes_logits=not model.get("use_fused_kernels", False),
            micro_batch_tokens=(
                int(actor.ppo_max_token_len_per_gpu)
                if actor.use_dynamic_bsz
                else int(actor.ppo_micro_batch_size_per_gpu) * longest
            ),
            forward_tokens=(
                int(rollout.log_prob_max_token_len_per_gpu)
                if rollout.get("log_prob_use_dynamic_bsz")
                else int(rollout.log_prob_micro_batch_size_per_gpu or 1) * longest
            ),
            tensor_parallel=int(rollout.tensor_model_parallel_size),
            vllm_share=float(rollout.gpu_memory_utilization),
            frees_cache=bool(rollout.free_cache_engine),
            max_model_len=int(rollout.max_model_len),
            num_problems=int(config.data.train_batch_size),
            group_size=int(rollout.n),
        )

    @property
    def num_dialogues(self) -> int:
        return self.num_problems * self.group_size

    @property
    def num_replicas(self) -> int:
        """Copies of the policy that hold dialogues."""
        return max(1, self.num_gpus // self.tensor_parallel)

    @property
    def dialogues_per_replica(self) -> int:
        return -(-self.num_dialogues // self.num_replicas)
