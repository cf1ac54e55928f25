"""Parameters of the simulated student with preferences and of its judge. Values live in `configs/sim/`."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import Field

from eduardo.resources import configs_dir
from eduardo.settings import Count, Settings, Share, read_yaml


class StudentParams(Settings):
    adapts: Share
    understands_after: Count
    leaves_after: Count
    long_turn_words: Count


class JudgeParams(Settings):
    fit_weight: Share
    activity_weight: Share
    room_weight: Share
    ending_weight: Share
    sharpness: Annotated[float, Field(gt=0)]


class PreferenceSettings(Settings):
    student: StudentParams
    judge: JudgeParams


@lru_cache(maxsize=1)
def load_preference_settings() -> PreferenceSettings:
    """The settings in `configs/sim/preferences.yaml`. Raises UserError when they are missing or malformed."""
    return read_yaml(configs_dir() / "sim" / "preferences.yaml", PreferenceSettings)
