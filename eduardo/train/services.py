"""Student and judge of a run: servers that it starts itself, and the check that they can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from eduardo.classroom.launch import running_classroom
from eduardo.config import ClassroomSettings, TrainSettings
from eduardo.config.validate import validate
from eduardo.llm import ChatClient
from eduardo.settings import EndpointSettings, RecipeSettings


@contextmanager
def classroom(config: DictConfig, settings: TrainSettings, run_dir: Path) -> Iterator[TrainSettings]:
    """Starts the classroom's own server if it has one; yields the settings with the address that it got."""
    with running_classroom(settings.classroom, log_dir=run_dir) as answering:
        for role in ("student", "judge"):
            config.classroom[role].base_url = getattr(answering, role).base_url
        yield validate(config)


def check_endpoints(settings: ClassroomSettings, recipe: RecipeSettings, *, wait_s: float) -> None:
    """Asks student and judge for one token each. Raises EndpointError with one line that says what to do."""
    student_tokens = recipe.post_test.max_tokens + recipe.dialogue.response_tokens
    judge_tokens = recipe.judge.max_tokens + recipe.dialogue.response_tokens

    async def check_both() -> None:
        await asyncio.gather(
            _check(settings.student, "classroom.student", student_tokens, wait_s),
            _check(settings.judge, "classroom.judge", judge_tokens, wait_s),
        )

    asyncio.run(check_both())


async def _check(settings: EndpointSettings, key: str, min_context_tokens: int, wait_s: float) -> None:
    async with ChatClient(settings) as client:
        await client.check(config_key=key, min_context_tokens=min_context_tokens, wait_s=wait_s)
