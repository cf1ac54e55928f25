"""Counters of one client."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from eduardo.llm.faults import FaultKind


@dataclass(slots=True)
class ClientStats:
    """Running totals; seconds are summed over calls and may exceed the wall time.

    A call is one `complete()` or one request of `check()`; a try is one HTTP request.
    """

    num_calls: int = 0
    num_tries: int = 0
    num_retries: int = 0
    num_unavailable: int = 0  # calls given up after their retries
    num_rejected: int = 0  # calls refused for good
    num_in_flight: int = 0  # calls that hold a slot now
    max_in_flight: int = 0
    queue_s: float = 0.0  # waiting for a slot
    backoff_s: float = 0.0  # waiting between tries
    faults: Counter[FaultKind] = field(default_factory=Counter)  # failed tries by kind

    def as_dict(self) -> dict[str, float]:
        """Flat numbers with the same keys every time, for a metric logger."""
        numbers: dict[str, float] = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name != "faults"
        }
        return numbers | {f"num_{kind.value}_tries": self.faults[kind] for kind in FaultKind}
