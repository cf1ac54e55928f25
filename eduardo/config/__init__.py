"""The configuration of a run: composed with Hydra, then checked as a whole before anything starts."""

from eduardo.config.compose import compose
from eduardo.config.load import check_model, load_settings
from eduardo.config.settings import ClassroomSettings, ClusterSettings, RunSettings, TrainSettings
from eduardo.config.validate import validate

__all__ = [
    "ClassroomSettings",
    "ClusterSettings",
    "RunSettings",
    "TrainSettings",
    "check_model",
    "compose",
    "load_settings",
    "validate",
]
