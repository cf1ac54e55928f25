"""Student and judge of a run: servers that it starts itself or finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from eduardo.classroom.launch import policy_environment, running_classroom
from eduardo.config import TrainSettings
from eduardo.config.validate import validate
from eduardo.serving.watch import ServerWatch
from eduardo.settings import EndpointSettings

_FOUND = ("base_url", "model", "api_key_env", "api_key_file")  # what a started or published server decides


@contextmanager
def classroom(
    config: DictConfig, settings: TrainSettings, run_dir: Path, *, host: str, watch: ServerWatch
) -> Iterator[TrainSettings]:
    """Starts the classroom's own servers if it has any; yields the settings with the addresses that they got.
    They listen on `host`, where every node of the run has to reach them, and `watch` gets to know them.

    `config` gets them too, and the GPUs that the servers leave to the policy. Of keys it holds only where they lie.
    """
    with running_classroom(
        settings.classroom,
        log_dir=run_dir,
        wait_s=settings.run.endpoint_wait_s,
        host=host,
        watch=watch,
    ) as answering:
        for role in ("student", "judge"):
            endpoint: EndpointSettings = getattr(answering, role)
            config.classroom[role].update(endpoint.model_dump(include=set(_FOUND)))
        planned, rubric_judge = settings.classroom.judge.base_url, settings.rubric.judge
        has_moved = planned != answering.judge.base_url
        if has_moved and rubric_judge is not None and rubric_judge.base_url == planned:
            config.rubric.judge.update(answering.judge.model_dump(include=set(_FOUND) - {"model"}))
        config.run.env.update(policy_environment(answering))
        yield validate(config)
