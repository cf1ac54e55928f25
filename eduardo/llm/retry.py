"""How long to wait before the next try of a request, and when to give up."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from eduardo.llm.faults import Fault, FaultKind
from eduardo.settings import EndpointSettings

BACKOFF_BASE_S = 0.5
BACKOFF_CAP_S = 30.0
# A refused connection costs a server nothing, and a short cap finds it again soon after a restart.
UNREACHABLE_BACKOFF_CAP_S = 5.0


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for (RFC 9110: delay in seconds or HTTP date), never negative.

    None when the header is missing or makes no sense; 0 for a date in the past.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return None
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (date - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


class Outage:
    """How long an endpoint has been out of reach, seen by all calls of its client together.

    When a server dies for good, each waiting call fails after one try instead of waiting out its own budget.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None

    def note(self, outcome: object) -> None:
        """Take in what one try brought."""
        if not (isinstance(outcome, Fault) and outcome.kind is FaultKind.UNREACHABLE):
            self._since = None
        elif self._since is None:
            self._since = self._clock()

    @property
    def elapsed_s(self) -> float:
        return 0.0 if self._since is None else self._clock() - self._since


class RetryPlan:
    """Decides about one call. It starts its clock when it is made, just before the first try.

    Only tries that reached the server count against `max_retries`: refused connections fail within
    milliseconds, so a restarting server would use the count up long before it is back. Time bounds them.
    No retry of any kind starts later than `budget_s` (by default `retry_budget_s`) after the first try.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        outage: Outage,
        *,
        budget_s: float | None = None,
        outage_budget_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outage = outage
        self._budget_s = settings.retry_budget_s if budget_s is None else budget_s
        self._outage_budget_s = self._budget_s if outage_budget_s is None else outage_budget_s
        self._retry_after_cap_s = settings.retry_after_cap_s
        self._retries_left = settings.max_retries
        self._clock = clock
        self._start = clock()
        self.num_faults = 0

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._start

    def next_delay_s(self, fault: Fault) -> float | None:
        """Seconds to sleep before the next try, or None to give up now."""
        unreachable = fault.kind is FaultKind.UNREACHABLE
        doublings = min(self.num_faults, 16)
        self.num_faults += 1
        if not unreachable:
            self._retries_left -= 1
        remaining_s = self._remaining_s(unreachable)
        if fault.kind is FaultKind.REJECTED or self._retries_left < 0 or remaining_s <= 0:
            return None
        if fault.retry_after_s:
            # A little jitter on top, so that a throttled wave does not come back as a wave.
            delay_s = min(fault.retry_after_s, self._retry_after_cap_s) * random.uniform(1.0, 1.1)
            return delay_s if delay_s <= remaining_s else None
        cap_s = UNREACHABLE_BACKOFF_CAP_S if unreachable else BACKOFF_CAP_S
        backoff_s = min(cap_s, BACKOFF_BASE_S * float(1 << doublings)) * random.uniform(0.5, 1.0)
        return min(backoff_s, remaining_s)

    def _remaining_s(self, unreachable: bool) -> float:
        own_s = self._budget_s - self.elapsed_s
        return min(own_s, self._outage_budget_s - self._outage.elapsed_s) if unreachable else own_s
