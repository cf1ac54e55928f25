"""Hours and GPU-hours of a run from stated throughputs. Nothing here is measured."""

from __future__ import annotations

from dataclasses import dataclass

from eduardo.planning.architecture import Architecture
from eduardo.planning.layout import Layout
from eduardo.planning.settings import PlanningSettings
from eduardo.planning.workload import Workload

FORWARD_FLOPS = 2  # per parameter and token
BACKWARD_FLOPS = 4
TERA = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """Seconds of one step by who works, and the run's hours."""

    rollout_s: float
    student_s: float
    judge_s: float
    update_s: float
    overhead_s: float
    val_share: float  # validation dialogues of an average step, per training dialogue
    num_steps: int
    num_policy_gpus: int
    num_server_gpus: int

    @property
    def validation_s(self) -> float:
        """Averaged over steps, as in the fastest one."""
        return self.val_share * max(self.rollout_s, self.student_s, self.judge_s)

    @property
    def fastest_step_s(self) -> float:
        """Tutor, student and judge work at the same time, on different dialogues."""
        return self._step_s(max(self.rollout_s, self.student_s, self.judge_s))

    @property
    def slowest_step_s(self) -> float:
        """They wait for each other."""
        return self._step_s(self.rollout_s + self.student_s + self.judge_s)

    def _step_s(self, dialogues_s: float) -> float:
        return (1 + self.val_share) * dialogues_s + self.update_s + self.overhead_s

    @property
    def hours(self) -> tuple[float, float]:
        """From the fastest step and from the slowest."""
        return self.num_steps * self.fastest_step_s / 3600, self.num_steps * self.slowest_step_s / 3600

    @property
    def gpu_hours(self) -> tuple[float, float]:
        num_gpus = self.num_policy_gpus + self.num_server_gpus
        low, high = self.hours
        return num_gpus * low, num_gpus * high


def estimate_cost(
    model: Architecture,
    layout: Layout,
    workload: Workload,
    settings: PlanningSettings,
    *,
    num_steps: int,
    val_dialogues_per_step: float,
    recomputes_logprobs: bool,
) -> RunCost:
    """`val_dialogues_per_step`: validation dialogues divided by the steps between validations."""
    speed, flops = settings.throughput, layout.num_gpus * settings.gpu.peak_tflops * TERA
    rollout_s = (
        FORWARD_FLOPS
        * model.num_text_parameters
        * workload.sampled_tokens
        / (flops * speed.rollout_utilization)
    )
    student_s = workload.student_tokens / speed.student_tokens_per_s
    judge_s = workload.judge_tokens / speed.judge_tokens_per_s
    per_token = model.num_text_parameters * _flops_per_parameter(layout, recomputes_logprobs)
    return RunCost(
        rollout_s=rollout_s,
        student_s=student_s,
        judge_s=judge_s,
        update_s=per_token * workload.sequence_tokens / (flops * speed.update_utilization),
        overhead_s=speed.step_overhead_s,
        val_share=val_dialogues_per_step / workload.num_dialogues,
        num_steps=num_steps,
        num_policy_gpus=layout.num_gpus,
        num_server_gpus=settings.servers.student_gpus + settings.servers.judge_gpus,
    )


def _flops_per_parameter(layout: Layout, recomputes_logprobs: bool) -> int:
    """Of one token in an update. Attention's own products, a few per cent at these lengths, are left out."""
    recomputed = FORWARD_FLOPS if layout.checkpoints_gradients else 0
    logprobs = FORWARD_FLOPS if recomputes_logprobs else 0
    return FORWARD_FLOPS + BACKWARD_FLOPS + recomputed + logprobs
