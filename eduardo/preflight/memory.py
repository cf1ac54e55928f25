"""Whether policy, optimizer, cache and the longest batch fit: on the GPUs of this machine, or in its memory."""

from __future__ import annotations

import os
from collections.abc import Sequence

import psutil

from eduardo.errors import UserError
from eduardo.planning import MemoryEstimate, PlannedRun
from eduardo.planning.memory import GIB
from eduardo.preflight.findings import CannotCheck, Finding, Subject, failed, passed, warned
from eduardo.preflight.gpus import Gpu, visible_gpus

_BUSY_GIB = 1.0  # what another program may hold before it is in the way
_SMALLER = (
    "lower actor_rollout_ref.actor.ppo_max_token_len_per_gpu and .rollout.log_prob_max_token_len_per_gpu (at least "
    "rollout.max_model_len), set actor_rollout_ref.model.use_fused_kernels=true, take more GPUs or adapters (LoRA)"
)
_ROLLOUT_SMALLER = (
    "lower actor_rollout_ref.rollout.gpu_memory_utilization, or offload (actor.fsdp_config.param_offload, "
    "optimizer_offload)"
)


def check_memory(subject: Subject) -> Finding:
    run = planned_run(subject)
    if subject.config.trainer.device == "cpu":
        return _in_host_memory(run)
    # A dry run may be on a login node, whose GPU is not the one that counts.
    gpus = [] if subject.dry_run else visible_gpus()
    if not gpus:
        return _without_gpu(subject, run)
    needed = int(subject.config.trainer.n_gpus_per_node)
    if len(gpus) < needed:
        raise UserError(
            f"trainer.n_gpus_per_node={needed}, but this machine has {len(gpus)} (CUDA_VISIBLE_DEVICES): lower it or "
            "ask for more"
        )
    return _on_gpus(run, gpus[:needed])


def planned_run(subject: Subject) -> PlannedRun:
    """Raises CannotCheck when the model's shape is not known."""
    settings = subject.settings
    try:
        # The number of steps plays no part in memory or in the time of one step.
        return PlannedRun.from_config(subject.config, settings.recipe, settings.planning, num_steps=1)
    except UserError as error:
        raise CannotCheck(str(error)) from None


def _on_gpus(run: PlannedRun, gpus: Sequence[Gpu]) -> Finding:
    """Against what is free. Raises UserError when that is too little, whoever holds the rest."""
    total = min(gpu.total_gib for gpu in gpus)
    free = min(gpu.free_gib for gpu in gpus)
    busy = max(gpu.used_gib for gpu in gpus)
    where = f"{len(gpus)} GPUs of {total:.0f} GiB here"
    if busy <= _BUSY_GIB:
        return _judge(run, run.memory(gpu_gib=total), free, where)
    other = f"another program holds {busy:.1f} GiB of a GPU"
    finding = _judge(run, run.memory(gpu_gib=total), free, f"{where}, {free:.0f} free: {other}")
    todo = f"end it, or lower gpu_memory_utilization{f'; {finding.todo}' if finding.todo else ''}"
    return warned("memory", finding.text if other in finding.text else f"{finding.text}; {other}", todo)


def _without_gpu(subject: Subject, run: PlannedRun) -> Finding:
    gib = subject.settings.planning.gpu.memory_gib
    if not subject.dry_run and "RAY_ADDRESS" not in os.environ:
        raise UserError(
            "trainer.device=cuda, but this machine has no NVIDIA GPU (nvidia-smi): start the run on a GPU node, or "
            "choose hardware=cpu"
        )
    try:
        return _judge(run, run.memory(), gib, f"GPUs of {gib:g} GiB (planning.gpu.memory_gib)")
    except UserError as error:  # no failure: the GPUs that will do the work may be larger
        finding = failed("memory", error)
        return warned(
            "memory", finding.text, f"{finding.todo}; or set planning.gpu.memory_gib to what yours have"
        )


def _judge(run: PlannedRun, memory: MemoryEstimate, gib: float, where: str) -> Finding:
    """What is estimated against what is there. Raises UserError when it does not fit."""
    text = f"estimated {memory.update:.0f} GiB in the update, {memory.rollout:.0f} in the rollout; {where}"
    if memory.update > gib:
        raise UserError(f"{text}; {_SMALLER}")
    if memory.rollout > gib or memory.dialogues_at_once < 1:
        raise UserError(f"{text}; {_ROLLOUT_SMALLER}")
    if max(memory.update, memory.rollout) > run.settings.memory.warn_above * gib:
        return warned("memory", f"narrow: {text}", _SMALLER)
    if memory.dialogues_at_once < run.layout.dialogues_per_replica:
        return warned(
            "memory",
            f"the cache holds {memory.dialogues_at_once} of a copy's {run.layout.dialogues_per_replica} longest "
            "dialogues: others wait",
            "raise gpu_memory_utilization or tensor_model_parallel_size; or accept slower steps",
        )
    return passed("memory", text)


def _in_host_memory(run: PlannedRun) -> Finding:
    """Trainer and vLLM side by side in one machine's memory."""
    memory = run.memory(gpu_gib=0)
    needed = memory.update + memory.vllm_weights
    free = psutil.virtual_memory().available / GIB
    text = f"estimated {needed:.1f} GiB beside vLLM's cache; {free:.1f} GiB free"
    if needed > free:
        return warned("memory", text, "end other programs or lower ppo_micro_batch_size_per_gpu")
    return passed("memory", text)
