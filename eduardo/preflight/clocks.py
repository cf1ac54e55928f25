"""Whether the servers' clocks agree with this machine's."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import aiohttp

from eduardo.preflight.findings import Finding, Subject, passed, skipped
from eduardo.preflight.machine import clock_finding

NAME = "clocks of the servers"
RESOLUTION_S = 1.0  # of an HTTP date


async def check_clock(subject: Subject) -> Finding:
    """From the date of an HTTP reply, whatever the reply is."""
    settings = subject.settings
    skews = {}
    for endpoint in (settings.classroom.student, settings.classroom.judge):
        skew_s = await _skew_s(endpoint.base_url, timeout_s=endpoint.connect_timeout_s)
        if skew_s is not None:
            skews[endpoint.base_url] = skew_s
    if not skews:
        return skipped(NAME, "the servers tell no date")
    url, worst_s = max(skews.items(), key=lambda item: abs(item[1]))
    if abs(worst_s) <= RESOLUTION_S:
        return passed(NAME, f"within {RESOLUTION_S:g} s of this machine's")
    return clock_finding(NAME, worst_s, settings.preflight.max_clock_skew_s, url)


async def _skew_s(url: str, *, timeout_s: float) -> float | None:
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False) as reply,
        ):
            date = reply.headers.get("Date")
        return None if date is None else parsedate_to_datetime(date).timestamp() - time.time()
    except (aiohttp.ClientError, TimeoutError, ValueError):  # other checks say that a server is away
        return None
