"""What `ChatClient.check()` found out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointReport:
    url: str
    model: str
    served_models: tuple[str, ...]  # empty where the server lists none
    context_tokens: int | None  # None where the server does not tell
    latency_s: float  # of a one-token completion
