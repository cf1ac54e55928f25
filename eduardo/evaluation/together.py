"""Many pieces of work in one event loop, and one clear failure when one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from eduardo.errors import EduardoError


async def run_together(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all to their end. The first failure of ours ends the others and is raised as itself, not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except* EduardoError as failures:
        raise _first(failures) from None


def _first(failures: BaseException) -> BaseException:
    while isinstance(failures, BaseExceptionGroup):
        failures = failures.exceptions[0]
    return failures
