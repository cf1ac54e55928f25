"""Ask an endpoint for an object by schema, and without one where it takes none."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from eduardo.errors import EndpointRejected
from eduardo.json_reply.schema import StructuredOutput
from eduardo.llm import Completer, Completion
from eduardo.types import Message

_logger = logging.getLogger(__name__)


class SchemaClient:
    """A chat client whose replies should be objects of one schema."""

    def __init__(
        self, client: Completer, schema: Mapping[str, object], mode: StructuredOutput, *, role: str
    ) -> None:
        """`schema` is a `response_format`; `role` names the endpoint in the log."""
        self._client, self._schema, self._mode, self._role = client, schema, mode, role
        self._sends_schema = mode != "off"

    async def complete(
        self, messages: Sequence[Message], *, n: int, temperature: float, max_tokens: int, seed: int
    ) -> tuple[Completion, ...]:
        """Between 1 and `n` replies. Raises EndpointError as `Completer.complete` does."""
        ask = partial(
            self._client.complete, messages, n=n, temperature=temperature, max_tokens=max_tokens, seed=seed
        )
        if not self._sends_schema:
            return await ask()
        try:
            return await ask(response_format=self._schema)
        except EndpointRejected as error:
            if self._mode == "json_schema":
                raise
            completions = await ask()
            # Only here has the server taken the same request without a schema: so the schema was the matter.
            self._sends_schema = False
            _logger.warning(
                "the %s's endpoint takes no JSON schema, asking without from now on: %s", self._role, error
            )
            return completions
