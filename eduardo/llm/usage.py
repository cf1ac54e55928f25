"""How many tokens a piece of work cost, whoever made the calls for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class TokenUsage:
    """Tokens as servers count them, of replies that arrived. A try that failed has cost nothing here."""

    num_requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, other: TokenUsage) -> None:
        self.num_requests += other.num_requests
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens


_current: ContextVar[TokenUsage | None] = ContextVar("token_usage", default=None)


@contextmanager
def counted(usage: TokenUsage) -> Iterator[None]:
    """Adds to `usage` what chat calls inside the block cost, those of tasks that it starts included."""
    token = _current.set(usage)
    try:
        yield
    finally:
        _current.reset(token)


def note(usage: TokenUsage) -> None:
    """Add the cost of one reply to whatever is being counted."""
    counter = _current.get()
    if counter is not None:
        counter.add(usage)
