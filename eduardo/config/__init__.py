"""The configuration of a training run: composed with Hydra, then checked as a whole before anything starts."""

from eduardo.config.compose import compose
from eduardo.config.settings import ClassroomSettings, RunSettings, TrainSettings
from eduardo.config.validate import validate

__all__ = ["ClassroomSettings", "RunSettings", "TrainSettings", "compose", "validate"]
