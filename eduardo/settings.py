"""Typed knobs. Values live in configs/ only: no field here has a default, and unknown keys are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from eduardo.errors import UserError

T = TypeVar("T")

Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=5)]
TopP = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]

PUBLISHED = "published:"  # start of a base_url that is looked up: see eduardo.serving.endpoint_file


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


NumberAsText = Annotated[str, BeforeValidator(_number_as_text)]
EnvironmentVariables = dict[str, NumberAsText]
"""Name → value. A bare number counts as its text, since `OMP_NUM_THREADS=1` is what people write."""


class Settings(BaseModel):
    """Strict (no silent conversion), closed (no unknown key) and frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class DialogueSettings(Settings):
    max_tutor_turns: Count
    min_tutor_turns_before_end: Annotated[int, Field(ge=0)]
    tutor_turn_tokens: Count  # hard cap on sampled tokens of one tutor turn, thinking included
    response_tokens: Count  # whole dialogue after the prompt: tutor turns with thinking, student turns, glue
    prompt_tokens: Count
    student_turn_tokens: Count
    student_temperature: Temperature
    end_tag: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _end_is_reachable(self) -> DialogueSettings:
        if self.min_tutor_turns_before_end >= self.max_tutor_turns:
            raise ValueError(
                "min_tutor_turns_before_end must be below max_tutor_turns, or the tutor can never end"
            )
        return self


class JudgeSettings(Settings):
    votes: Count
    temperature: Temperature
    max_tokens: Count
    structured_output: Literal["auto", "json_schema", "off"]
    detector_gate: bool  # the deterministic leak detector rejects too, beside the judge


class PostTestSettings(Settings):
    attempts: Count
    min_graded: Count  # fewer graded attempts make the dialogue void
    temperature: Temperature
    max_tokens: Count
    item: Literal["transfer", "source"]
    mask_tutor: bool

    @model_validator(mode="after")
    def _enough_attempts(self) -> PostTestSettings:
        if self.min_graded > self.attempts:
            raise ValueError("min_graded is above attempts: every dialogue would be void")
        return self


class RewardSettings(Settings):
    gate: Literal["hard", "soft", "off"]
    hard_reject_reward: float
    soft_reject_penalty: float
    length_decay: bool
    length_unit: Literal["tokens", "characters_over_4"]
    visible_target_tokens: Count
    thinking_target_tokens: Count
    end_bonus: Annotated[float, Field(ge=0)]
    end_penalty: Annotated[float, Field(ge=0)]  # subtracted when the tutor did not end the dialogue itself
    thinking_bonus: Annotated[float, Field(ge=0)]


class PreferenceSettings(Settings):
    """How a dialogue is compared with a reference, where there is no answer key."""

    estimate: Literal["majority", "share"]  # of each order's votes; a majority settles early
    length_decay: bool  # with the targets of the reward


class FaultSettings(Settings):
    max_void_share: Share  # per training step; above it the run saves a checkpoint and stops


class RecipeSettings(Settings):
    """Everything that decides what a dialogue is and what it earns."""

    dialogue: DialogueSettings
    judge: JudgeSettings
    post_test: PostTestSettings
    reward: RewardSettings
    preference: PreferenceSettings
    faults: FaultSettings


class GraderSettings(Settings):
    timeout_s: Seconds  # processor time per pair; what exceeds it is killed
    num_workers: Count
    cache_size: Annotated[int, Field(ge=0)]
    max_answer_chars: Count


class EndpointSettings(Settings):
    """One OpenAI-compatible endpoint. The key itself is never a setting, only where to find it."""

    # Ends in /v1; or `published:FOLDER`, where FOLDER holds the endpoint file of a server.
    base_url: Annotated[str, Field(pattern=rf"^(https?://\S+|{PUBLISHED}.+)$")]
    model: Annotated[str, Field(min_length=1)]
    api_key_env: str | None  # name of an environment variable
    api_key_file: str | None  # path of a file with mode 0600
    max_concurrency: Count
    connect_timeout_s: Seconds
    first_byte_timeout_s: Seconds
    total_timeout_s: Seconds
    max_retries: Annotated[int, Field(ge=0)]
    retry_budget_s: Seconds  # no retry starts later than this after the first try: survives a server restart
    retry_after_cap_s: Seconds
    top_p: TopP  # stated in every request: what a server would choose by itself is its model's affair
    extra_body: dict[str, object]  # sent with every request, e.g. chat_template_kwargs

    @property
    def request_fields(self) -> dict[str, object]:
        """What every request carries that the recipe does not set."""
        return {"top_p": self.top_p, **self.extra_body}


class RubricSettings(Settings):
    """The rubric judge: scores from 1 to 5, a diagnostic beside the reward."""

    judge: EndpointSettings | None  # None: nothing is rated
    ratings: Count  # per dialogue and rubric; their mean counts
    temperature: Temperature
    max_tokens: Count
    structured_output: Literal["auto", "json_schema", "off"]


def read_yaml(path: Path, kind: type[T]) -> T:
    """A YAML file checked as a `kind`: a Settings class, or a dict or list. Raises UserError naming file and key."""
    try:
        return TypeAdapter(kind).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        raise UserError(f"{path}: {first_problem(error)}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None


def first_problem(error: ValidationError) -> str:
    """One line: the key, what it was set to, and what is wrong with it."""
    problem = error.errors()[0]
    key = ".".join(map(str, problem["loc"]))
    given = problem.get("input")
    shown = f"={given!r}" if isinstance(given, str | int | float | bool | None) else ""
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    reason = f"{problem['msg'][0].lower()}{problem['msg'][1:]}{more}"
    return f"{key}{shown}: {reason}" if key else reason
