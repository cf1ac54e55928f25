"""The chat client: one call is tried until it succeeds, is refused for good, or runs out of budget."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar

import orjson

from eduardo.errors import EndpointError, EndpointRejected, EndpointUnavailable, UserError
from eduardo.llm import advice
from eduardo.llm.faults import Failure, Fault, FaultKind
from eduardo.llm.replies import (
    Completion,
    Message,
    ServedModel,
    TokenCompletion,
    decode_chat,
    decode_models,
    decode_tokens,
)
from eduardo.llm.report import EndpointReport
from eduardo.llm.retry import Outage, RetryPlan
from eduardo.llm.stats import ClientStats
from eduardo.llm.transport import Transport
from eduardo.settings import EndpointSettings

T = TypeVar("T")
_logger = logging.getLogger(__name__)
_OWN_FIELDS = frozenset(
    {"model", "messages", "n", "temperature", "max_tokens", "seed", "response_format", "stream"}
)
_NO_SUCH_ROUTE = (404, 405, 501)


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
        self.stats = ClientStats()
        self._transport = Transport(settings)
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._outage = Outage()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"ChatClient(model={self.settings.model!r}, url={str(self._transport.url)!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def closed(self) -> bool:
        return self._closed

    async def close(self) -> None:
        self._closed = True
        await self._transport.close()

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
            **self.settings.extra_body,
        }
        if extra_body is not None:
            _check_extra_body(extra_body)
            fields.update(extra_body)
        if seed is not None:
            fields["seed"] = seed
        if response_format is not None:
            fields["response_format"] = response_format
        return await self._complete(fields, n=n, config_key="endpoint")

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
            "seed": seed,
            "stop_token_ids": list(stop_token_ids),
            "logprobs": 1,
            "return_token_ids": True,
        }
        body = orjson.dumps(fields)

        async def attempt() -> TokenCompletion | Fault:
            return await self._transport.post("completions", body, decode_tokens)

        outcome = await self._call(attempt)
        if isinstance(outcome, Failure):
            raise await self._error(outcome, "endpoint")
        return outcome

    async def check(
        self, *, config_key: str = "endpoint", min_context_tokens: int = 0, wait_s: float = 0.0
    ) -> EndpointReport:
        """Preflight: does the server listen, serve the model, have room for the context, and answer?

        `config_key` is the part of the configuration that messages tell the user to change, e.g.
        "classroom.student". A server that is not there yet is waited for at most `wait_s`; other faults are
        retried for `connect_timeout_s` or `wait_s`, whichever is longer.
        Raises EndpointUnavailable or EndpointRejected with one line that says what to do.
        """
        url = self._transport.url
        budget_s = max(wait_s, self.settings.connect_timeout_s)
        served = await self._list_models(config_key, budget_s=budget_s, outage_budget_s=wait_s)
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
            "messages": [{"role": "user", "content": "Hello"}],
            "max_tokens": 1,
            **self.settings.extra_body,
        }
        start = time.monotonic()
        await self._complete(fields, n=1, config_key=config_key, budget_s=budget_s)
        return EndpointReport(
            url=str(url),
            model=self.settings.model,
            served_models=tuple(card.name for card in served),
            context_tokens=context_tokens,
            latency_s=time.monotonic() - start,
        )

    async def _complete(
        self, fields: Mapping[str, object], *, n: int, config_key: str, budget_s: float | None = None
    ) -> tuple[Completion, ...]:
        try:
            body = orjson.dumps(fields)
        except TypeError as error:
            raise UserError(
                f"a request for model {self.settings.model!r} is not valid JSON: {error}"
            ) from error

        async def attempt() -> tuple[Completion, ...] | Fault:
            return await self._transport.post("chat/completions", body, lambda reply: decode_chat(reply, n=n))

        outcome = await self._call(attempt, budget_s=budget_s)
        if isinstance(outcome, Failure):
            raise await self._error(outcome, config_key)
        return outcome

    async def _list_models(
        self, config_key: str, *, budget_s: float, outage_budget_s: float
    ) -> tuple[ServedModel, ...]:
        """Empty where the server has no such list, which is no fault: a one-token call follows anyway."""
        outcome = await self._call(self._ask_for_models, budget_s=budget_s, outage_budget_s=outage_budget_s)
        if isinstance(outcome, Failure):
            if outcome.fault.status in _NO_SUCH_ROUTE:
                return ()
            raise await self._error(outcome, config_key)
        return outcome

    async def _ask_for_models(self) -> tuple[ServedModel, ...] | Fault:
        return await self._transport.get("models", decode_models)

    async def _call(
        self,
        attempt: Callable[[], Awaitable[T | Fault]],
        *,
        budget_s: float | None = None,
        outage_budget_s: float | None = None,
    ) -> T | Failure:
        """The only retry loop: nothing below or above it tries again."""
        async with self._slot():
            plan = RetryPlan(self.settings, self._outage, budget_s=budget_s, outage_budget_s=outage_budget_s)
            while True:
                self.stats.num_tries += 1
                outcome = await attempt()
                self._outage.note(outcome)
                if not isinstance(outcome, Fault):
                    return outcome
                self.stats.faults[outcome.kind] += 1
                delay_s = plan.next_delay_s(outcome)
                if delay_s is None:
                    return Failure(fault=outcome, num_tries=plan.num_faults, elapsed_s=plan.elapsed_s)
                _logger.info("%r: %s (%s), next try in %.1f s", self, outcome.kind, outcome.detail, delay_s)
                self.stats.num_retries += 1
                self.stats.backoff_s += delay_s
                await asyncio.sleep(delay_s)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        self._check_usable()
        stats = self.stats
        stats.num_calls += 1
        start = time.monotonic()
        async with self._slots:
            stats.queue_s += time.monotonic() - start
            stats.num_in_flight += 1
            stats.max_in_flight = max(stats.max_in_flight, stats.num_in_flight)
            try:
                yield
            finally:
                stats.num_in_flight -= 1

    def _check_usable(self) -> None:
        loop = asyncio.get_running_loop()
        if self._closed:
            raise RuntimeError(f"{self!r} is closed")
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError(f"{self!r} belongs to another event loop; make one client per loop")

    async def _error(self, failure: Failure, config_key: str) -> EndpointError:
        url = self._transport.url
        if failure.fault.kind is not FaultKind.REJECTED:
            self.stats.num_unavailable += 1
            return EndpointUnavailable(advice.unavailable(url, self.settings, failure, config_key=config_key))
        self.stats.num_rejected += 1
        served: tuple[ServedModel, ...] | Fault = ()
        if failure.fault.status == 404:
            served = await self._ask_for_models()
        if isinstance(served, Fault):
            served = ()
        return EndpointRejected(
            advice.rejected(url, self.settings, failure.fault, served, config_key=config_key)
        )


def _check_extra_body(extra_body: Mapping[str, object]) -> None:
    clash = sorted(_OWN_FIELDS & extra_body.keys())
    if clash:
        raise UserError(f"extra_body must not hold {', '.join(clash)}: the client sets it itself")
