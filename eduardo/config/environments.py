"""Which environments a run trains in, and how the problems of a step are dealt to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from eduardo.errors import UserError
from eduardo.settings import Settings

EnvironmentName = Literal["near_transfer", "education_dialogue"]
NAMES: tuple[str, ...] = get_args(EnvironmentName)


class EnvironmentSettings(Settings):
    shares: Annotated[dict[EnvironmentName, Annotated[float, Field(gt=0)]], Field(min_length=1)]


def split_batch(shares: Mapping[str, float], batch_size: int) -> dict[str, int]:
    """How many of a step's problems each environment gets, by largest remainder. Raises UserError for none."""
    total = sum(shares.values())
    exact = {name: batch_size * share / total for name, share in shares.items()}
    counts = {name: int(number) for name, number in exact.items()}
    by_remainder = sorted(shares, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: batch_size - sum(counts.values())]:
        counts[name] += 1
    for name, count in counts.items():
        if count == 0:
            raise UserError(
                f"environment.shares: {name} gets none of the {batch_size} problems of a step; raise its share or "
                "data.train_batch_size"
            )
    return counts
