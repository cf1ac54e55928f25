"""Why a row is not used: faults of the data, and choices of the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from eduardo.dataset.location import Location


class Rule(StrEnum):
    """The value is what reports print."""

    WRONG_TYPE = "wrong type"
    BAD_TEXT = "text not storable as UTF-8"
    MISSING_PROBLEM = "problem missing"
    MISSING_ANSWER = "answer missing"
    BAD_RATE = "rate not in [0, 1]"
    UNGRADABLE_KEY = "answer not gradable"
    CONFLICT = "conflicting answers"
    DUPLICATE = "duplicate"
    BACKGROUND = "background incomplete"
    SPEAKER = "unknown speaker"
    EMPTY = "nothing said"
    TOO_LONG = "too long"
    NO_VARIANT = "no variant"
    NO_RATE = "rate not measured"
    FEW_GRADED = "too few graded samples"
    RATE_BAND = "rate outside the band"
    SHORT = "too few tutor turns"
    NEAR_TEST = "near-duplicate of a test row"
    NEAR_VAL = "near-duplicate of a validation row"
    NOT_SAMPLED = "more rows than asked for"

    @property
    def is_fault(self) -> bool:
        """True for a fault of the data, which --strict turns into an error."""
        return self not in _CHOICES


_CHOICES = frozenset(
    {
        Rule.NO_VARIANT,
        Rule.NO_RATE,
        Rule.FEW_GRADED,
        Rule.RATE_BAND,
        Rule.SHORT,
        Rule.NEAR_TEST,
        Rule.NEAR_VAL,
        Rule.NOT_SAMPLED,
    }
)


@dataclass(frozen=True, slots=True)
class Dropped:
    """One row that was left out."""

    where: Location
    rule: Rule
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"
