"""Bring up whatever classroom a configuration asks for, and take it down again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eduardo.classroom import process
from eduardo.config import ClassroomSettings
from eduardo.serving import vllm_server


@contextmanager
def running_classroom(settings: ClassroomSettings, *, log_dir: Path) -> Iterator[ClassroomSettings]:
    """The settings with the addresses at which student and judge now answer.

    Endpoints that run elsewhere (`server.kind: none`) are left as they are. Raises UserError when a server of our own
    does not come up.
    """
    server = settings.server
    if server.kind == "none":
        yield settings
    elif server.kind == "simulated":
        with process.start(
            port=server.port, timeout_s=server.start_timeout_s, options=server.options
        ) as classroom:
            yield _at(settings, classroom.base_url)
    else:
        names = list(dict.fromkeys([settings.student.model, settings.judge.model]))
        with vllm_server.start(
            Path(str(server.model_path)),
            names=names,
            log_file=log_dir / "classroom.log",
            timeout_s=server.start_timeout_s,
            port=server.port,
            options=server.options,
            env=server.env,
        ) as vllm:
            yield _at(settings, vllm.base_url)


def _at(settings: ClassroomSettings, base_url: str) -> ClassroomSettings:
    moved = {
        name: getattr(settings, name).model_copy(update={"base_url": base_url})
        for name in ("student", "judge")
    }
    return settings.model_copy(update=moved)
