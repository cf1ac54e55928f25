"""Student, judge and rubric judge before a run: do they answer as asked, and how fast?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from omegaconf import DictConfig

from eduardo.config import TrainSettings
from eduardo.errors import EduardoError, EndpointUnavailable
from eduardo.llm import ChatClient
from eduardo.preflight import step_time
from eduardo.preflight.clocks import check_clock
from eduardo.preflight.findings import CannotCheck, Finding, Subject, failed, passed, skipped
from eduardo.preflight.probes import LOAD, TEST, VOTE, Probes
from eduardo.settings import PUBLISHED, EndpointSettings


@dataclass(frozen=True, slots=True)
class _Endpoint:
    role: str
    key: str  # of the configuration
    settings: EndpointSettings
    context_tokens: int  # that it must have room for


def check_classroom(config: DictConfig, settings: TrainSettings, *, wait_s: float) -> list[Finding]:
    """Asks the endpoints that `settings` name; those that are not there yet are waited for at most `wait_s`.

    One vote and one post-test are timed, then several at once. Nothing is raised.
    """
    return asyncio.run(_check_all(Subject(config, settings, dry_run=False), wait_s))


def require_endpoints(settings: TrainSettings, *, wait_s: float) -> None:
    """Only what a run cannot do without: one token from each. Raises EndpointError that says what to do."""

    async def answer() -> None:
        await asyncio.gather(*(_answers(endpoint, wait_s) for endpoint in _endpoints(settings)))

    asyncio.run(answer())


def skip_classroom(why: str) -> list[Finding]:
    """The findings of a check that cannot be made."""
    return [*(skipped(name, why) for name in ("student", "judge")), *_skip_speed(why)]


def _skip_speed(why: str) -> list[Finding]:
    return [skipped(name, why) for name in (VOTE, TEST, LOAD, step_time.NAME)]


async def _check_all(subject: Subject, wait_s: float) -> list[Finding]:
    settings = subject.settings
    findings = await asyncio.gather(*(_check_endpoint(e, wait_s) for e in _endpoints(settings)))
    if any(finding.error for finding in findings):
        return list(findings)
    timeout_s = settings.preflight.endpoint_timeout_s
    try:
        probes = Probes(subject)
    except CannotCheck as reason:
        return [*findings, *_skip_speed(str(reason)), await check_clock(subject)]
    try:
        async with asyncio.timeout(timeout_s):
            measured: Sequence[Finding] = await probes.run()
            clock = await check_clock(subject)
    except TimeoutError:
        slow = EndpointUnavailable(
            f"student or judge took more than {timeout_s:g} s for a few calls; look into the servers' logs, or raise "
            "preflight.endpoint_timeout_s"
        )
        return [*findings, *probes.findings, failed("speed of the servers", slow)]
    return [*findings, *measured, step_time.check_step_time(subject, probes.speed), clock]


def _endpoints(settings: TrainSettings) -> list[_Endpoint]:
    recipe, classroom, rubric = settings.recipe, settings.classroom, settings.rubric
    response = recipe.dialogue.response_tokens
    endpoints = [
        _Endpoint("student", "classroom.student", classroom.student, recipe.post_test.max_tokens + response),
        _Endpoint("judge", "classroom.judge", classroom.judge, recipe.judge.max_tokens + response),
    ]
    # One that is still to be found is the judge's own server, which is asked above.
    if rubric.judge is not None and not rubric.judge.base_url.startswith(PUBLISHED):
        endpoints.append(
            _Endpoint("rubric judge", "rubric.judge", rubric.judge, rubric.max_tokens + response)
        )
    return endpoints


async def _check_endpoint(endpoint: _Endpoint, wait_s: float) -> Finding:
    try:
        return passed(endpoint.role, await _answers(endpoint, wait_s))
    except EduardoError as error:
        return failed(endpoint.role, error)


async def _answers(endpoint: _Endpoint, wait_s: float) -> str:
    async with ChatClient(endpoint.settings) as client:
        report = await client.check(
            config_key=endpoint.key, min_context_tokens=endpoint.context_tokens, wait_s=wait_s
        )
    context = (
        f"context {report.context_tokens} of {endpoint.context_tokens} needed"
        if report.context_tokens is not None
        else "context not told"
    )
    return f"{report.model} answers at {report.url}, {context}"
