"""Typed view of configs/middle_turn.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eduardo.evaluation.settings import TutorSettings
from eduardo.settings import Count, RubricSettings, Settings


class DataSettings(Settings):
    format: Literal["mathdial", "eedi"]
    source: Annotated[str, Field(min_length=1)]  # a file, a folder, or a Hub id
    split: Annotated[str, Field(min_length=1)]  # of a Hub data set
    revision: str | None
    every_turn: bool  # all tutor turns that answer the student instead of the middle one of each dialogue
    num_moments: Count | None  # None: all


class RewardModelSettings(Settings):
    """A sequence classifier with one logit."""

    path: str | None  # folder or Hub id; None: no scores from a reward model
    revision: str | None
    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["auto", "float32", "bfloat16"]
    batch_size: Count
    max_tokens: Count  # longer conversations lose their beginning
    system_prompt_file: str | None  # None: the shipped wording


class MiddleTurnSettings(TutorSettings):
    data: DataSettings
    tutor_prompt: Literal["default", "compact"]
    tutor_sees_solution: bool
    reward_model: RewardModelSettings
    rubric: RubricSettings
    seed: Annotated[int, Field(ge=0)]
    max_at_once: Count
    out_dir: Annotated[str, Field(min_length=1)]
