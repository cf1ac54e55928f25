"""Why a row is not used: faults of the data (complaints) and choices of the user (filters)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from eduardo.dataset.location import Location


class Rule(StrEnum):
    """The value is what reports print. Members up to DUPLICATE are faults of the data."""

    WRONG_TYPE = "wrong type"
    BAD_TEXT = "text not storable as UTF-8"
    MISSING_PROBLEM = "problem missing"
    MISSING_ANSWER = "answer missing"
    BAD_RATE = "rate not in [0, 1]"
    UNGRADABLE_KEY = "answer not gradable"
    CONFLICT = "conflicting answers"
    DUPLICATE = "duplicate problem"
    NO_VARIANT = "no variant"
    NO_RATE = "rate not measured"
    FEW_GRADED = "too few graded samples"
    RATE_BAND = "rate outside the band"
    NEAR_TEST = "near-duplicate of a test row"
    NEAR_VAL = "near-duplicate of a validation row"
    NOT_SAMPLED = "more rows than asked for"

    @property
    def is_fault(self) -> bool:
        """True for what --strict turns into an error."""
        return self in _FAULTS


_FAULTS = frozenset(
    {
        Rule.WRONG_TYPE,
        Rule.BAD_TEXT,
        Rule.MISSING_PROBLEM,
        Rule.MISSING_ANSWER,
        Rule.BAD_RATE,
        Rule.UNGRADABLE_KEY,
        Rule.CONFLICT,
        Rule.DUPLICATE,
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
