"""Student and judge of a run: servers that it starts itself, and the check that they can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from eduardo.classroom import process, vllm_server
from eduardo.config import ClassroomSettings, TrainSettings
from eduardo.config.validate import validate
from eduardo.llm import ChatClient
from eduardo.settings import EndpointSettings, RecipeSettings


@contextmanager
def classroom(config: DictConfig, settings: TrainSettings, run_dir: Path) -> Iterator[TrainSettings]:
    """Starts the classroom's own server if it has one; yields the settings with the address that it got."""
    server = settings.classroom.server
    if server.kind == "none":
        yield settings
        return
    started: process.ClassroomProcess | vllm_server.VllmServer
    if server.kind == "simulated":
        started = process.start(port=server.port, timeout_s=server.start_timeout_s, options=server.options)
    else:
        assert server.model_path is not None
        started = vllm_server.start(
            Path(server.model_path),
            names=list(dict.fromkeys([settings.classroom.student.model, settings.classroom.judge.model])),
            log_file=run_dir / "classroom.log",
            timeout_s=server.start_timeout_s,
            port=server.port,
            options=server.options,
            env=settings.run.env,
        )
    with started:
        for role in ("student", "judge"):
            config.classroom[role].base_url = started.base_url
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
