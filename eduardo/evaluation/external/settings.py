"""Typed view of configs/external.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eduardo.evaluation.settings import ServingSettings
from eduardo.settings import Count, Seconds, Settings, Temperature


class MathTutorBenchSettings(Settings):
    python: Annotated[str, Field(min_length=1)]
    tasks: list[str] | None
    is_chat: bool
    temperature: Temperature
    max_tokens: Count
    score_generations: bool
    task_timeout_s: Seconds


class ExternalSettings(Settings):
    serving: ServingSettings
    mathtutorbench: MathTutorBenchSettings
    out_dir: Annotated[str, Field(min_length=1)]
