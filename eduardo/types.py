"""The nouns of one episode. Standard library only; every other module imports from here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, TypeAlias

Message: TypeAlias = dict[str, str]
"""One message of a chat: its `role` and `content`."""


class Speaker(StrEnum):
    TUTOR = "tutor"
    STUDENT = "student"


class TurnFault(StrEnum):
    """What was wrong with the form of a tutor turn. A fault of form, not of teaching."""

    THINKING_TRUNCATED = "thinking_truncated"  # the token limit fell inside the thinking: nothing visible
    THINKING_MALFORMED = "thinking_malformed"  # orphan, nested or repeated thinking tags
    REPLY_TRUNCATED = "reply_truncated"  # the token limit fell inside the visible reply
    BLANK = "blank"  # nothing visible remained
    EARLY_END_TAG = "early_end_tag"  # end tag before it was allowed; ignored and removed


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    OTHER = "other"  # content filter, tool call, or nothing stated


class EndReason(StrEnum):
    TUTOR_ENDED = "tutor_ended"
    STUDENT_ENDED = "student_ended"  # only in environments that let the student end
    TURN_LIMIT = "turn_limit"
    TOKEN_BUDGET = "token_budget"
    TUTOR_FAILED = "tutor_failed"
    STUDENT_FAILED = "student_failed"

    @property
    def is_failure(self) -> bool:
        """True when infrastructure, not teaching, ended the dialogue; such a dialogue is void."""
        return self in (EndReason.TUTOR_FAILED, EndReason.STUDENT_FAILED)


class Criterion(StrEnum):
    NO_HANDOVER = "no_handover"
    FACTUAL = "factual_correctness"


class Decision(StrEnum):
    ACCEPT = "accept"
    REJECT = "reject"


class ItemKind(StrEnum):
    """Which problem a post-test poses."""

    TRANSFER = "transfer"
    SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    text: str
    answer: str  # as published: raw LaTeX or text, never a number


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRate:
    """Share of graded attempts that were right, in [0, 1]. Unmeasured is None at the place of use, never 0."""

    value: float
    num_graded: int | None = None  # None where the source does not state it

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and 0.0 <= self.value <= 1.0):
            raise ValueError(f"solve rate must lie in [0, 1], got {self.value!r}")
        if self.num_graded is not None and self.num_graded < 1:
            raise ValueError(f"a solve rate needs at least one graded attempt, got {self.num_graded}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestItem:
    """A problem that can be posed in a post-test, with the student's cold solve rate on it."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting the class

    problem: Problem
    baseline: SolveRate | None
    kind: ItemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPair:
    """A source problem and, where one passed validation, its near-transfer variant."""

    id: str  # stable over runs and splits
    source: TestItem
    variant: TestItem | None
    notes: str | None = None  # worked solution for the tutor's eyes only; None where the data has none


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTokens:
    """Lengths in tokens of the tutor's (or student's) own tokenizer."""

    visible: int
    thinking: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    speaker: Speaker
    text: str  # what others see: no thinking, no end tag
    raw: str = ""  # as generated (tutor); empty when it equals text
    thinking: str = ""
    ends_dialogue: bool = False
    faults: tuple[TurnFault, ...] = ()
    tokens: TurnTokens | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One dialogue about one problem. `turns[0]` is the scripted opener, a student turn."""

    problem: Problem
    turns: tuple[Turn, ...]
    end_reason: EndReason | None = None  # None while the dialogue is running
    error: str | None = None  # what failed, when end_reason.is_failure

    @property
    def tutor_turns(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.speaker is Speaker.TUTOR)

    @property
    def student_turns(self) -> tuple[Turn, ...]:
        """Student turns, the opener included."""
        return tuple(turn for turn in self.turns if turn.speaker is Speaker.STUDENT)

    def with_turn(self, turn: Turn) -> Transcript:
        return replace(self, turns=(*self.turns, turn))

    def ended(self, reason: EndReason, error: str | None = None) -> Transcript:
        return replace(self, end_reason=reason, error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One judge reply. `decision` is None when the vote was lost (no parsable verdict); that is no reject."""

    decision: Decision | None
    reason: str = ""
    quote: str = ""  # the tutor words that a reject rests on
    fault: str | None = None  # why the vote was lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Votes on one criterion. `decision` is None when too few valid votes came back: the dialogue is void."""

    criterion: Criterion
    decision: Decision | None
    votes: tuple[Vote, ...]


class Outcome(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    UNGRADABLE = "ungradable"  # the key is unusable: never counted as right or wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    outcome: Outcome
    answer: str | None  # the extracted final answer, None when the attempt gave none
    timed_out: bool = False
    stages_disagree: bool = False  # the two independent comparisons differed


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One post-test attempt. `grade` is None when it was not measured; `fault` then says why."""

    text: str
    grade: Grade | None
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PostTest:
    item: TestItem
    masked: bool  # True when tutor turns were hidden
    attempts: tuple[Attempt, ...]

    @property
    def num_graded(self) -> int:
        return sum(
            1 for a in self.attempts if a.grade is not None and a.grade.outcome is not Outcome.UNGRADABLE
        )

    @property
    def num_right(self) -> int:
        return sum(1 for a in self.attempts if a.grade is not None and a.grade.outcome is Outcome.RIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Votes on a dialogue against a reference, shown in one order. A vote accepts when it prefers the dialogue."""

    dialogue_first: bool
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """How a judge compares a dialogue with a reference about the same background.

    `background` is what the student's simulator and the judge were told. `value` is the judge's preference for
    the dialogue in [0, 1], the mean of both orders; None when either order was not measured: the dialogue is void.
    """

    background: dict[str, str]
    reference: tuple[Turn, ...]
    reference_ended_by: Speaker | None
    comparisons: tuple[Comparison, ...] = ()
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardBreakdown:
    """Named parts that add up to the total. Diagnostics beside them are not summed.

    The gain (or preference) after length decay is `gain + length_decay`: `length_decay` is the (non-positive)
    part that decay takes away, so that the sum stays a plain sum.
    """

    gain: float = 0.0  # normalized learning gain; 0 when gated
    preference: float = 0.0  # in place of the gain where a reference takes the place of an answer key
    length_decay: float = 0.0
    gate: float = 0.0  # penalty of a rejected dialogue
    end_bonus: float = 0.0
    end_penalty: float = 0.0
    thinking_bonus: float = 0.0
    # diagnostics
    pre: float | None = None
    post: float | None = None
    decay_visible: float = 1.0
    decay_thinking: float = 1.0
    gated: bool = False

    @property
    def parts(self) -> dict[str, float]:
        return {
            "gain": self.gain,
            "preference": self.preference,
            "length_decay": self.length_decay,
            "gate": self.gate,
            "end_bonus": self.end_bonus,
            "end_penalty": self.end_penalty,
            "thinking_bonus": self.thinking_bonus,
        }

    @property
    def total(self) -> float:
        return math.fsum(self.parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredDialogue:
    """A dialogue with all that was measured on it. `reward` is None exactly when it is void."""

    pair_id: str
    transcript: Transcript
    verdicts: tuple[Verdict, ...] = ()
    post_test: PostTest | None = None
    preference: Preference | None = None  # exactly for dialogues that are compared with a reference
    reward: RewardBreakdown | None = None
    void_reason: str | None = None
    detector: tuple[str, ...] = ()  # findings of the deterministic leak detector, logged beside the judge
    labels: dict[str, str | int | float | bool | None] = field(
        default_factory=dict
    )  # run, step, seed, split ...

    def __post_init__(self) -> None:
        if (self.reward is None) != (self.void_reason is not None):
            raise ValueError("a dialogue has either a reward or a reason why it is void")

    @property
    def is_void(self) -> bool:
        return self.reward is None
