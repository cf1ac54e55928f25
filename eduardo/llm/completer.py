"""What student and judge need of a chat client, so that they can be asked without a server too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from eduardo.llm.replies import Completion
from eduardo.types import Message


class Completer(Protocol):
    """`ChatClient` is one."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        temperature: float,
        max_tokens: int,
        seed: int | None = None,
        response_format: Mapping[str, object] | None = None,
        extra_body: Mapping[str, object] | None = None,
    ) -> tuple[Completion, ...]:
        """Between 1 and `n` completions. Raises EndpointUnavailable for a passing fault, else EndpointRejected."""
        ...
