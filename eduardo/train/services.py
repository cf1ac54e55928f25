"""Student and judge of a run: servers that it starts itself, and the check that they can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from eduardo.classroom.launch import policy_environment, running_classroom
from eduardo.config import ClassroomSettings, TrainSettings
from eduardo.config.validate import validate
from eduardo.llm import ChatClient
from eduardo.settings import EndpointSettings, RecipeSettings

_FOUND = ("base_url", "model", "api_key_env", "api_key_file")  # what a started or published server decides


@contextmanager
def classroom(
    config: DictConfig, settings: TrainSettings, run_dir: Path, *, host: str
) -> Iterator[TrainSettings]:
    """Starts the classroom's own servers if it has any; yields the settings with the addresses that they got.
    They listen on `host`, where every node of the run has to reach them.

    `config` gets them too, and the GPUs that the servers leave to the policy. Of keys it holds only where they lie.
    """
    with running_classroom(
        settings.classroom, log_dir=run_dir, wait_s=settings.run.endpoint_wait_s, host=host
    ) as answering:
        for role in ("student", "judge"):
            endpoint: EndpointSettings = getattr(answering, role)
            config.classroom[role].update(endpoint.model_dump(include=set(_FOUND)))
        rubric_judge = settings.rubric.judge
        if rubric_judge is not None and rubric_judge.base_url == settings.classroom.judge.base_url:
            config.rubric.judge.update(answering.judge.model_dump(include=set(_FOUND) - {"model"}))
        config.run.env.update(policy_environment(answering))
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
