"""Faults of an inference endpoint, produced on purpose so that clients can be tested against them."""

from __future__ import annotations

import random
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from eduardo.errors import UserError


class FaultKind(StrEnum):
    SLOW = "slow"  # a good answer after `slow_s`
    DROP = "drop"  # connection reset before any header
    HALF_BODY = "half_body"  # connection reset in the middle of the body
    THROTTLE = "http_429"  # with a Retry-After header
    SERVER_ERROR = "http_500"
    GARBAGE = "garbage"  # 200, but the body is no JSON
    EMPTY = "empty"  # 200, but `choices` is empty
    BLANK = "blank"  # 200, but the message has no content


class FaultPlan(BaseModel):
    """Which share of requests fails, and how. One draw per request, so the shares may add up to 1 at most."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rates: dict[FaultKind, Annotated[float, Field(ge=0, le=1)]] = {}
    models: tuple[str, ...] = ()  # only requests for these served models; all when empty
    seed: int = 0
    slow_s: Annotated[float, Field(ge=0)] = 5.0
    retry_after_s: Annotated[float, Field(ge=0)] = 1.0

    @model_validator(mode="after")
    def _shares_fit(self) -> FaultPlan:
        if sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError(f"fault rates add up to {sum(self.rates.values()):g}; at most 1 is possible")
        return self


class FaultInjector:
    """Draws the fault of each request in order of arrival; the n-th draw depends on the seed and n alone."""

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self.num_drawn = 0
        self.num_injected = dict.fromkeys(FaultKind, 0)
        self._rng = random.Random(plan.seed)

    def draw(self, model: str) -> FaultKind | None:
        if not self.plan.rates or (self.plan.models and model not in self.plan.models):
            return None
        self.num_drawn += 1
        mark = self._rng.random()
        for kind, rate in self.plan.rates.items():
            mark -= rate
            if mark < 0:
                self.num_injected[kind] += 1
                return kind
        return None


def parse_rates(options: list[str]) -> dict[FaultKind, float]:
    """`["drop=0.1", "http_500=0.05"]` → rates by kind; raises UserError with the valid names."""
    rates: dict[FaultKind, float] = {}
    for option in options:
        name, _, value = option.partition("=")
        try:
            rates[FaultKind(name)] = float(value)
        except ValueError:
            kinds = ", ".join(FaultKind)
            raise UserError(
                f"--fault {option!r}: write KIND=RATE with KIND one of {kinds}, RATE in [0, 1]"
            ) from None
    return rates
