"""Calls to one endpoint: each is tried until it succeeds, is refused for good, or runs out of budget."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import orjson
from yarl import URL

from eduardo.errors import EndpointError, EndpointRejected, EndpointUnavailable, RequestRefused, UserError
from eduardo.llm import advice
from eduardo.llm.faults import Failure, Fault, FaultKind
from eduardo.llm.replies import ServedModel, decode_models
from eduardo.llm.retry import Outage, RetryPlan
from eduardo.llm.stats import ClientStats
from eduardo.llm.transport import Transport
from eduardo.settings import EndpointSettings

T = TypeVar("T")
_logger = logging.getLogger(__name__)
_NO_SUCH_ROUTE = (404, 405, 501)
_ABOUT_THE_REQUEST = (400, 413, 422)


class Endpoint:
    """One endpoint as seen from one event loop: its connections, concurrency limit, retries and counters.

    Failures are raised as EndpointUnavailable (retries did not help) or EndpointRejected (they could not).
    `config_key` is the part of the configuration that their messages tell the user to change.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self.stats = ClientStats()
        self.closed = False
        self._settings = settings
        self._transport = Transport(settings)
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._outage = Outage()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"{self._settings.model} at {self.url}"

    @property
    def url(self) -> URL:
        return self._transport.url

    async def close(self) -> None:
        self.closed = True
        await self._transport.close()

    async def post(
        self,
        path: str,
        fields: Mapping[str, object],
        decode: Callable[[bytes], T],
        *,
        config_key: str = "endpoint",
        budget_s: float | None = None,
    ) -> T:
        """Send `fields` as JSON. `budget_s` replaces the settings' retry budget."""
        try:
            body = orjson.dumps(fields)
        except TypeError as error:
            raise UserError(f"a request to {self!r} is not valid JSON: {error}") from error
        outcome = await self._call(lambda: self._transport.post(path, body, decode), budget_s=budget_s)
        if isinstance(outcome, Failure):
            raise await self._error(outcome, config_key)
        return outcome

    async def list_models(
        self, *, config_key: str, budget_s: float, outage_budget_s: float
    ) -> tuple[ServedModel, ...]:
        """Empty where the server has no such list. A server out of reach is waited for `outage_budget_s`."""
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
            plan = RetryPlan(self._settings, self._outage, budget_s=budget_s, outage_budget_s=outage_budget_s)
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
        if self.closed:
            raise RuntimeError(f"the client of {self!r} is closed")
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError(f"the client of {self!r} belongs to another event loop; make one per loop")

    async def _error(self, failure: Failure, config_key: str) -> EndpointError:
        settings = self._settings
        if failure.fault.kind is not FaultKind.REJECTED:
            self.stats.num_unavailable += 1
            return EndpointUnavailable(advice.unavailable(self.url, settings, failure, config_key=config_key))
        self.stats.num_rejected += 1
        served: tuple[ServedModel, ...] | Fault = ()
        if failure.fault.status == 404:
            served = await self._ask_for_models()
        if isinstance(served, Fault):
            served = ()
        refusal = RequestRefused if failure.fault.status in _ABOUT_THE_REQUEST else EndpointRejected
        return refusal(advice.rejected(self.url, settings, failure.fault, served, config_key=config_key))
