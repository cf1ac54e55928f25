"""Memory of one GPU in the two phases of a step: while vLLM holds dialogues, and while the policy is updated.

verl keeps offloaded weights and optimizer states on the GPU during the update and in host memory during the rollout, so
offloading makes room for vLLM and not for the update.
"""

from __future__ import annotations

from dataclasses import dataclass

from eduardo.planning.architecture import Architecture
from eduardo.planning.layout import Layout
from eduardo.planning.settings import MemorySettings

GIB = 2**30
COMPUTE_BYTES = 2  # activations and gathered weights are bfloat16
ADAM_STATES = 2
GATHERED_LAYERS = 2  # the one that computes and the one that is fetched meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """GiB on one GPU."""

    weights: float  # this GPU's shard, in the optimizer's precision
    gradients: float
    optimizer: float
    gathered: float  # bfloat16 copies of what computes
    activations: float  # of the longest micro-batch
    logits: float
    reserve: float
    vllm_awake: float  # vLLM's share, where it is not put to sleep for the update
    resident: float  # what of the trainer stays while vLLM works
    vllm_budget: float
    vllm_weights: float
    kv_cache: float  # what is left of the budget
    kv_per_dialogue: float  # of the longest one
    dialogues_at_once: int  # longest ones that fit into the cache of one replica

    @property
    def update(self) -> float:
        """Peak while the policy is updated."""
        states = self.weights + self.gradients + self.optimizer
        return states + self.gathered + self.activations + self.logits + self.reserve + self.vllm_awake

    @property
    def rollout(self) -> float:
        return self.resident + self.vllm_budget + self.reserve


def estimate_memory(
    model: Architecture, layout: Layout, settings: MemorySettings, *, gpu_gib: float
) -> MemoryEstimate:
    trained = model.num_lora_parameters(layout.lora_rank) if layout.lora_rank else model.num_parameters
    held = model.num_parameters + (trained if layout.lora_rank else 0)
    weights = held * layout.master_bytes / layout.num_shards
    gradients = trained * layout.master_bytes / layout.num_shards
    optimizer = ADAM_STATES * gradients
    resident = (0 if layout.offloads_weights else weights) + (0 if layout.offloads_optimizer else optimizer)
    activations, logits = _activations(model, layout, settings)
    budget = layout.vllm_share * gpu_gib * GIB
    vllm_weights = model.num_parameters * layout.rollout_bytes / layout.tensor_parallel
    cache = max(0.0, budget - vllm_weights - settings.vllm_overhead_gib * GIB)
    per_dialogue = _cache_bytes_per_dialogue(model, layout)
    return MemoryEstimate(
        weights=weights / GIB,
        gradients=gradients / GIB,
        optimizer=optimizer / GIB,
        gathered=_gathered(model) / GIB,
        activations=activations / GIB,
        logits=logits / GIB,
        reserve=settings.reserve_gib,
        vllm_awake=0.0 if layout.frees_cache else budget / GIB,
        resident=resident / GIB,
        vllm_budget=budget / GIB,
        vllm_weights=vllm_weights / GIB,
        kv_cache=cache / GIB,
        kv_per_dialogue=per_dialogue / GIB,
        dialogues_at_once=int(cache // per_dialogue),
    )


def _gathered(model: Architecture) -> float:
    """FSDP2 holds the root (embeddings, head, vision tower's ends) gathered through forward and backward."""
    return COMPUTE_BYTES * (GATHERED_LAYERS * model.largest_layer + model.num_embedding_parameters)


def _activations(model: Architecture, layout: Layout, settings: MemorySettings) -> tuple[float, float]:
    """Bytes inside the layers and of the logits at the worse of two moments: update, and log-probs without one."""
    inside = COMPUTE_BYTES * layout.micro_batch_tokens
    if layout.checkpoints_gradients:
        update = inside * (model.num_layers * model.hidden_size + 2 * model.layer_outputs)
    else:
        update = inside * model.num_layers * model.layer_outputs
    if not layout.materializes_logits:
        return update, 0.0
    per_token = COMPUTE_BYTES * model.vocab_size
    update_logits = settings.logit_copies * per_token * layout.micro_batch_tokens
    forward = COMPUTE_BYTES * layout.forward_tokens * 2 * model.layer_outputs
    forward_logits = settings.forward_logit_copies * per_token * layout.forward_tokens
    return max((update, update_logits), (forward, forward_logits), key=sum)


def _cache_bytes_per_dialogue(model: Architecture, layout: Layout) -> float:
    """Of the longest dialogue, on one GPU of a replica. Key and value heads are copied where they are too few."""
    split = min(layout.tensor_parallel, model.num_kv_heads)
    keys_and_values = model.kv_bytes_per_token(layout.rollout_bytes) * layout.max_model_len / split
    return keys_and_values + model.state_bytes_per_sequence / layout.tensor_parallel


def checkpoint_bytes(model: Architecture, layout: Layout) -> float:
    """One checkpoint on disk, all ranks together: weights and optimizer states in the optimizer's precision."""
    trained = model.num_lora_parameters(layout.lora_rank) if layout.lora_rank else model.num_parameters
    held = model.num_parameters + (trained if layout.lora_rank else 0)
    return float((held + ADAM_STATES * trained) * layout.master_bytes)
