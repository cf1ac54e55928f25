"""What can go wrong with one try of a request, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    UNREACHABLE = "unreachable"  # no connection: the server never saw the request
    DROPPED = "dropped"  # connection lost before the whole reply was here
    TIMED_OUT = "timed_out"  # connected, but no (whole) reply in time
    THROTTLED = "throttled"  # 429
    SERVER_ERROR = "server_error"  # 5xx
    UNUSABLE = "unusable"  # a good status without a usable completion
    REJECTED = "rejected"  # permanent: the same request can never succeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One failed try. `detail` is one line and free of secrets."""

    kind: FaultKind
    detail: str
    status: int | None = None
    retry_after_s: float | None = None  # what the server asked for, uncapped


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A call that was given up: its last fault and what it took to get there."""

    fault: Fault
    num_tries: int
    elapsed_s: float


class UnusableReplyError(Exception):
    """A reply arrived that holds no usable answer. Never leaves this package."""
