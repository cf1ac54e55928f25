"""What came of a source problem: every round of every variant, and what was kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from eduardo.errors import EduardoError
from eduardo.llm import TokenUsage
from eduardo.types import SolveRate


class NotMeasured(EduardoError):
    """The endpoints owe a measurement: the row stays open, and says nothing about the variant."""


class Reason(StrEnum):
    """Why a variant was turned down. The value is what reports print."""

    UNREADABLE = "reply not readable"
    REFUSED = "rewriter refused"
    ENDPOINT_REFUSED = "endpoint refused the request"
    NEAR_COPY = "near-copy"
    UNCLEAN_ANSWER = "answer not clean"
    NOT_REPRODUCED = "answer not reproduced by a blind solve"
    GRADERS_DISAGREE = "two graders disagree about the answer"
    TOO_EASY = "solved too often"
    RATE_GAP = "too far from the source's solve rate"
    COPY_OF_OTHER_ROW = "near-copy of another problem's variant"

    @property
    def is_sound(self) -> bool:
        """Whether the variant itself is in order, only of another difficulty than its source."""
        return self in (Reason.TOO_EASY, Reason.RATE_GAP)


class Kept(StrEnum):
    ACCEPTED = "accepted"
    CLOSEST = "closest"  # no round brought an acceptable one; of the sound ones its rate is the closest


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A variant as the rewriter states it."""

    problem: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One try at a variant. `draft` is None where none could be read; `rate` where it was not asked for."""

    number: int  # from 1
    seed: int
    draft: Draft | None
    reason: Reason | None = None  # None: accepted
    detail: str = ""
    rate: SolveRate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """All rounds of one variant of a problem, and which of them was kept."""

    index: int  # from 1
    rounds: tuple[Round, ...]
    kept: Kept | None = None
    chosen: int | None = None  # number of the round that was kept

    @property
    def choice(self) -> Round | None:
        return next((one for one in self.rounds if one.number == self.chosen), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A source problem that is done with. Only measured facts: an open row is not recorded."""

    source_id: str
    source_rate: SolveRate | None  # None: the student's endpoint refused the problem
    variants: tuple[Variant, ...]
    rewriter_usage: TokenUsage
    student_usage: TokenUsage

    @property
    def refusal(self) -> Round | None:
        """The round that an endpoint refused, where a variant is missing because of it."""
        last = (variant.rounds[-1] for variant in self.variants if variant.kept is None)
        return next((one for one in last if one.reason is Reason.ENDPOINT_REFUSED), None)
