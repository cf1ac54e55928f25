"""Parameters of the simulated student, judge and rewriter. Values live in `configs/sim/`."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import Field, model_validator

from eduardo.resources import configs_dir
from eduardo.settings import Count, Settings, Share, read_yaml


class StudentParams(Settings):
    """The learner model; every number is a probability or a share unless its name says otherwise."""

    ease_spread: Share
    cold_min: Share
    cold_max: Share
    attempt_right: Share
    attempt_declined: Share
    attempt_guess: Share
    max_attempts: Count
    step_right: Share
    step_unsure: Share
    max_tries: Count
    ceiling: Share
    written_weight: Share
    explained_weight: Share
    told_weight: Share
    bare_weight: Share
    misconception: Share
    recall: Share

    @model_validator(mode="after")
    def _ordered(self) -> StudentParams:
        if not self.cold_min <= self.cold_max <= self.ceiling:
            raise ValueError(
                "cold_min <= cold_max <= ceiling must hold, or tutoring could make a student worse"
            )
        if self.told_weight > self.written_weight:
            raise ValueError(
                "told_weight is above written_weight: this student would learn best by being told"
            )
        return self


class JudgeParams(Settings):
    vote_error: Annotated[float, Field(ge=0, lt=0.5)]
    standing_error_rejects: bool


class RewriterParams(Settings):
    """Shares of the variants that are bad, and how."""

    near_copy: Share
    unreadable: Share
    wrong_answer: Share
    other_structure: Share
    blind_error: Share  # chance that its own solution of a problem is wrong

    @model_validator(mode="after")
    def _shares_fit(self) -> RewriterParams:
        shares = self.near_copy + self.unreadable + self.wrong_answer + self.other_structure
        if shares > 1 + 1e-9:
            raise ValueError(
                f"near_copy, unreadable, wrong_answer and other_structure add up to {shares:g}, above 1"
            )
        return self


class SimSettings(Settings):
    student: StudentParams
    judge: JudgeParams
    rewriter: RewriterParams


@lru_cache(maxsize=8)
def load_sim_settings(name: str = "default") -> SimSettings:
    """The settings in `configs/sim/<name>.yaml`. Raises UserError when they are missing or malformed."""
    return read_yaml(configs_dir() / "sim" / f"{name}.yaml", SimSettings)
