"""What the estimates assume: the chip, what a dialogue looks like, how fast servers and GPUs are."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eduardo.settings import Count, Settings, Share

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class GpuSettings(Settings):
    memory_gib: Positive
    peak_tflops: Positive  # bfloat16, dense


class MemorySettings(Settings):
    reserve_gib: NotNegative
    vllm_overhead_gib: NotNegative
    logit_copies: Positive
    forward_logit_copies: Positive
    warn_above: Share


class ExpectedSettings(Settings):
    """An average dialogue. Token counts above the recipe's limits count as the limit."""

    tutor_turns_share: Share  # of recipe.dialogue.max_tutor_turns
    prompt_tokens: Count
    tutor_turn_tokens: Count  # visible and thinking
    student_turn_tokens: Count
    attempt_tokens: Count
    vote_tokens: Count
    rejected_share: Share
    disagreement_share: Share  # of criteria whose first votes do not settle them
    train_problems: Count  # where the data is not at hand
    val_problems: Annotated[int, Field(ge=0)]


class ThroughputSettings(Settings):
    update_utilization: Share
    rollout_utilization: Share
    student_tokens_per_s: Positive
    judge_tokens_per_s: Positive
    step_overhead_s: NotNegative


class ServerGpuSettings(Settings):
    student_gpus: Annotated[int, Field(ge=0)]
    judge_gpus: Annotated[int, Field(ge=0)]


class PlanningSettings(Settings):
    architecture: (
        dict[str, object] | None
    )  # figures of the model's config.json; None: read them from its folder
    gpu: GpuSettings
    memory: MemorySettings
    expected: ExpectedSettings
    throughput: ThroughputSettings
    servers: ServerGpuSettings
