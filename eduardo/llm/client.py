"""The chat client: what is asked of an endpoint, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from eduardo.errors import EndpointRejected, UserError
from eduardo.llm import advice, usage
from eduardo.llm.endpoint import Endpoint
from eduardo.llm.replies import Completion, TokenCompletion, decode_chat, decode_counted_chat, decode_tokens
from eduardo.llm.report import EndpointReport
from eduardo.llm.stats import ClientStats
from eduardo.settings import EndpointSettings
from eduardo.types import Message

_OWN_FIELDS = frozenset(
    {"model", "messages", "n", "temperature", "top_p", "max_tokens", "seed", "response_format", "stream"}
)
# The shape of a dialogue, so that a chat template that refuses a system message or a second turn is met at once.
_PREFLIGHT_CHAT = (
    {"role": "system", "content": "You are a student."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "What is 1 + 1?"},
)


class ChatClient:
    """Client of one endpoint for one event loop; an async context manager.

    At most `settings.max_concurrency` calls hold a slot at a time; the others wait, and their retry budget
    starts only when they get one. A call keeps its slot while it pauses between tries, so a struggling server
    meets fewer requests, not more. Calls are independent: a failure or cancellation touches no other call.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        """Reads the API key. Raises UserError when the settings cannot work."""
        _check_extra_body(settings.extra_body)
        self.settings = settings
        self._endpoint = Endpoint(settings)

    def __repr__(self) -> str:
        return f"ChatClient({self._endpoint!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def stats(self) -> ClientStats:
        return self._endpoint.stats

    @property
    def closed(self) -> bool:
        return self._endpoint.closed

    async def close(self) -> None:
        await self._endpoint.close()

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
        """Sample `n` completions with one request; between 1 and `n` come back.

        `extra_body` wins over the settings' own, key by key.
        Raises EndpointUnavailable when retries did not help and EndpointRejected when they could not.
        """
        fields: dict[str, object] = {
            "model": self.settings.model,
            "messages": list(messages),
            "n": n,
            "temperature": temperature,
            "max_tokens": max_tokens,
            **self.settings.request_fields,
        }
        if extra_body is not None:
            _check_extra_body(extra_body)
            fields.update(extra_body)
        if seed is not None:
            fields["seed"] = seed
        if response_format is not None:
            fields["response_format"] = response_format
        completions, used = await self._endpoint.post(
            "chat/completions", fields, partial(decode_counted_chat, n=n)
        )
        usage.note(used)
        return completions

    async def complete_tokens(
        self,
        prompt_ids: Sequence[int],
        *,
        max_tokens: int,
        temperature: float,
        top_p: float,
        seed: int | None,
        stop_token_ids: Sequence[int],
    ) -> TokenCompletion:
        """Continue a prompt of token ids by sampled ids, without any text in between (vLLM's `return_token_ids`).

        Raises EndpointUnavailable and EndpointRejected as `complete` does.
        """
        fields: dict[str, object] = {
            "model": self.settings.model,
            "prompt": list(prompt_ids),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "top_k": -1,
            "seed": seed,
            "stop_token_ids": list(stop_token_ids),
            "logprobs": 1,
            "return_token_ids": True,
        }
        return await self._endpoint.post("completions", fields, decode_tokens)

    async def check(
        self, *, config_key: str = "endpoint", min_context_tokens: int = 0, wait_s: float = 0.0
    ) -> EndpointReport:
        """Preflight: does the server listen, serve the model, have room for the context, and answer a dialogue?

        `config_key` is the part of the configuration that messages tell the user to change, e.g.
        "classroom.student". A server that is not there yet is waited for at most `wait_s`; other faults are
        retried for `connect_timeout_s` or `wait_s`, whichever is longer.
        Raises EndpointUnavailable or EndpointRejected with one line that says what to do.
        """
        url = self._endpoint.url
        budget_s = max(wait_s, self.settings.connect_timeout_s)
        served = await self._endpoint.list_models(
            config_key=config_key, budget_s=budget_s, outage_budget_s=wait_s
        )
        card = next((card for card in served if card.name == self.settings.model), None)
        if served and card is None:
            raise EndpointRejected(advice.not_served(url, self.settings, served, config_key=config_key))
        context_tokens = card.context_tokens if card is not None else None
        if context_tokens is not None and context_tokens < min_context_tokens:
            raise EndpointRejected(
                advice.context_too_short(url, self.settings, context_tokens, min_context_tokens)
            )
        fields: dict[str, object] = {
            "model": self.settings.model,
            "messages": _PREFLIGHT_CHAT,
            "max_tokens": 1,
            **self.settings.request_fields,
        }
        start = time.monotonic()
        await self._endpoint.post(
            "chat/completions", fields, partial(decode_chat, n=1), config_key=config_key, budget_s=budget_s
        )
        return EndpointReport(
            url=str(url),
            model=self.settings.model,
            served_models=tuple(card.name for card in served),
            context_tokens=context_tokens,
            latency_s=time.monotonic() - start,
        )


def _check_extra_body(extra_body: Mapping[str, object]) -> None:
    clash = sorted(_OWN_FIELDS & extra_body.keys())
    if clash:
        raise UserError(f"extra_body must not hold {', '.join(clash)}: the client sets it itself")
