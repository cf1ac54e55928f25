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
from eduardo.preflight.context import judge_context, rubric_context, student_context
from eduardo.preflight.findings import CannotCheck, Finding, Subject, failed, passed, skipped, warned
from eduardo.preflight.probes import LOAD, SPEED, TEST, VOTE, Probes
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
    try:
        probes = Probes(subject)
    except CannotCheck as reason:
        return [*findings, *_skip_speed(str(reason)), await check_clock(subject)]
    try:
        async with asyncio.timeout(settings.preflight.endpoint_timeout_s):
            measured: Sequence[Finding] = await probes.run()
            clock = await check_clock(subject)
    except TimeoutError:
        return [*findings, *probes.findings, await _too_slow(subject, probes)]
    return [*findings, *measured, step_time.check_step_time(subject, probes.speed), clock]


async def _too_slow(subject: Subject, probes: Probes) -> Finding:
    """A slow server makes a run slow, which is a matter of taste; one that has stopped answering ends it."""
    settings = subject.settings
    timeout_s = settings.preflight.endpoint_timeout_s
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(*(_answers(endpoint, wait_s=0) for endpoint in _endpoints(settings)))
    except EduardoError as error:
        return failed(SPEED, error)
    except TimeoutError:
        gone = EndpointUnavailable(
            f"student or judge answered at first, and now not one token in {timeout_s:g} s; look into the servers' logs"
        )
        return failed(SPEED, gone)
    return warned(
        SPEED,
        f"the timed calls were not done after {timeout_s:g} s, though the servers answer: "
        f"{step_time.at_least(subject, num_calls=probes.num_calls, elapsed_s=timeout_s)}",
        "take faster servers, a smaller batch or lower token limits, or raise preflight.endpoint_timeout_s to measure "
        "them; a call that takes longer than classroom.ROLE.total_timeout_s is lost, and its dialogue may be void",
    )


def _endpoints(settings: TrainSettings) -> list[_Endpoint]:
    classroom, rubric = settings.classroom, settings.rubric
    endpoints = [
        _Endpoint("student", "classroom.student", classroom.student, student_context(settings)),
        _Endpoint("judge", "classroom.judge", classroom.judge, judge_context(settings)),
    ]
    # One that is still to be found is the judge's own server, which is asked above.
    if rubric.judge is not None and not rubric.judge.base_url.startswith(PUBLISHED):
        endpoints.append(_Endpoint("rubric judge", "rubric.judge", rubric.judge, rubric_context(settings)))
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
