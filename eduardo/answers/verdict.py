"""What a comparison says."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Verdict(Enum):
    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"  # this comparison cannot tell


def verdict_of(value: bool | None) -> Verdict:
    """The verdict of a three-valued test; None is unknown."""
    if value is None:
        return Verdict.UNKNOWN
    return Verdict.RIGHT if value else Verdict.WRONG


def all_right(verdicts: Sequence[Verdict]) -> Verdict:
    """Wrong when any part is wrong, else unknown when any part is unknown."""
    if Verdict.WRONG in verdicts:
        return Verdict.WRONG
    return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts else Verdict.RIGHT
