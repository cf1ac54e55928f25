"""Typed view of configs/evaluate.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from eduardo.config import ClassroomSettings, load_settings
from eduardo.settings import (
    Count,
    EndpointSettings,
    EnvironmentVariables,
    GraderSettings,
    RecipeSettings,
    Seconds,
    Settings,
    Share,
    Temperature,
    TopP,
)


class ServingSettings(Settings):
    """How `vllm serve` runs a checkpoint."""

    options: list[str]
    env: EnvironmentVariables
    start_timeout_s: Seconds


class ValiditySettings(Settings):
    """Above these shares an evaluation is marked invalid."""

    max_void_share: Share
    max_token_cap_share: Share  # dialogues with a turn cut by its token cap, or ended by the token budget
    max_blank_turn_share: Share
    max_judge_detector_disagreement: Share


class TutorSettings(Settings):
    """What it takes to run a tutor, whatever it is tested on."""

    recipe: RecipeSettings
    serving: ServingSettings
    tutor_endpoint: EndpointSettings
    endpoint_thinking: Literal["optional", "prefilled"]
    endpoint_tokenizer: (
        str | None
    )  # model folder whose tokenizer counts an endpoint tutor's tokens; None: estimated
    apply_chat_template_kwargs: dict[str, object]  # of a checkpoint; before its chat template's own defaults
    temperature: Temperature
    top_p: TopP

    @model_validator(mode="after")
    def _one_top_p(self) -> Self:
        if self.tutor_endpoint.top_p != self.top_p:
            raise ValueError("tutor_endpoint.top_p follows top_p: set top_p")
        return self


class EvaluationSettings(TutorSettings):
    classroom: ClassroomSettings
    grader: GraderSettings
    validity: ValiditySettings
    data_file: Annotated[str, Field(min_length=1)]
    num_problems: Count | None  # None: all
    num_samples: Count  # dialogues per problem
    difficulty_bands: list[Share]  # edges of the cold solve rate, from 0 to 1
    seed: Annotated[int, Field(ge=0)]
    max_dialogues_at_once: Count
    out_dir: Annotated[str, Field(min_length=1)]

    @field_validator("classroom")
    @classmethod
    def _one_kind_of_student(cls, classroom: ClassroomSettings) -> ClassroomSettings:
        if classroom.personas is not None:
            raise ValueError(
                "personas are a mixture for training; `evaluate students` tests one after the other"
            )
        return classroom

    @field_validator("difficulty_bands")
    @classmethod
    def _cover_all_rates(cls, edges: list[float]) -> list[float]:
        if edges[:1] != [0.0] or edges[-1:] != [1.0] or sorted(set(edges)) != edges:
            raise ValueError("bands need rising edges from 0.0 to 1.0, e.g. [0.0, 0.25, 0.5, 1.0]")
        return edges


def evaluation_settings(overrides: Sequence[str]) -> EvaluationSettings:
    """configs/evaluate.yaml with overrides. Raises UserError with the key that is wrong."""
    return load_settings(EvaluationSettings, overrides, config_name="evaluate", allow_missing=False)
