"""Typed view of configs/education_dialogue.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eduardo.config import ClassroomSettings
from eduardo.evaluation.settings import TutorSettings
from eduardo.settings import Count, Share


class LessonTestSettings(TutorSettings):
    classroom: ClassroomSettings
    data_file: Annotated[str, Field(min_length=1)]
    num_backgrounds: Count | None  # None: all
    num_samples: Count  # lessons per background
    seed: Annotated[int, Field(ge=0)]
    max_dialogues_at_once: Count
    max_void_share: Share
    out_dir: Annotated[str, Field(min_length=1)]
