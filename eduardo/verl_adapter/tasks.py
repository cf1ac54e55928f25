"""What the rows of training data ask for: a problem with a post-test, or a lesson with a preference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from eduardo.config.environments import NAMES
from eduardo.dataset import from_row
from eduardo.education_dialogue.conversation import Conversation
from eduardo.education_dialogue.rows import DATA_SOURCE as EDUCATION_DIALOGUE
from eduardo.education_dialogue.rows import from_rl_row
from eduardo.types import TransferPair

Task: TypeAlias = TransferPair | Conversation


def task_of(row: Mapping[str, Any]) -> Task:
    return from_rl_row(row) if environment_of(row) == EDUCATION_DIALOGUE else from_row(row)


def id_of(row: Mapping[str, Any]) -> str:
    return str(row["extra_info"]["id"])


def environment_of(row: Mapping[str, Any]) -> str:
    """Raises ValueError for a row of an environment that is unknown here."""
    name = str(row["data_source"])
    if name not in NAMES:
        raise ValueError(f"row {id_of(row)} belongs to {name!r}; known environments are {', '.join(NAMES)}")
    return name


def environment_index(task: Task) -> float:
    """Number of the task's environment in `NAMES`, for tables that hold numbers only."""
    return float(NAMES.index("education_dialogue" if isinstance(task, Conversation) else "near_transfer"))
