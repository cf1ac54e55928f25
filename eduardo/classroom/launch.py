"""Bring up whatever classroom a configuration asks for, and take it down again."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from eduardo.classroom import process
from eduardo.config import ClassroomSettings
from eduardo.errors import UserError
from eduardo.serving import vllm_server
from eduardo.serving.endpoint_file import find
from eduardo.serving.gpus import visible_gpus
from eduardo.serving.roles import running_roles
from eduardo.serving.watch import ServerWatch
from eduardo.settings import EndpointSettings

KEY_VARIABLE = "EDUARDO_CLASSROOM_KEY"


@contextmanager
def running_classroom(
    settings: ClassroomSettings,
    *,
    log_dir: Path,
    wait_s: float = 0,
    host: str = vllm_server.LOOPBACK,
    watch: ServerWatch | None = None,
    roles: Sequence[Literal["student", "judge"]] = ("student", "judge"),
) -> Iterator[ClassroomSettings]:
    """The settings with the addresses at which student and judge now answer.

    Endpoints that run elsewhere (`server.kind: none`) are left as they are; one that is `published:FOLDER` is looked
    up there, and awaited up to `wait_s`. Nobody but `roles` is looked up or served alone. Servers of our own listen on
    `host`, and `watch` gets to know them. Raises UserError when a server does not come up or is not found.
    """
    server = settings.server
    watch = watch or ServerWatch()
    if server.kind == "none":
        found: dict[str, EndpointSettings] = {
            role: find(getattr(settings, role), role, config_key=f"classroom.{role}", wait_s=wait_s)
            for role in roles
        }
        yield settings.model_copy(update=found)
    elif server.kind == "simulated":
        with (
            _key_variable(host) as variable,
            process.start(
                host=host,
                port=server.port,
                timeout_s=server.start_timeout_s,
                options=[*server.options, *(["--api-key-env", variable] if variable else [])],
            ) as classroom,
        ):
            watch.add("the simulated classroom", classroom)
            yield _at(settings, classroom.base_url, api_key_env=variable)
    elif server.kind == "vllm":
        if host != vllm_server.LOOPBACK:
            raise UserError(
                "classroom.server.kind=vllm serves this machine only: several nodes need servers with a key "
                "(`python -m eduardo.serve`, then classroom=vllm)"
            )
        names = list(dict.fromkeys([settings.student.model, settings.judge.model]))
        with vllm_server.start(
            str(server.model_path),
            names=names,
            log_file=log_dir / "classroom.log",
            timeout_s=server.start_timeout_s,
            port=server.port,
            options=server.options,
            env=server.env,
        ) as vllm:
            watch.add(f"the classroom's server ({vllm.log_file})", vllm)
            yield _at(settings, vllm.base_url)
    else:
        with running_roles(
            roles,
            server.servers,
            bind_host=host,
            key_dir=Path(server.key_dir),
            log_dir=log_dir,
            num_kept_gpus=server.policy_gpus,
        ) as running:
            clients: dict[str, EndpointSettings] = {
                process.role: process.client(getattr(settings, process.role)) for process in running
            }
            for started in running:
                watch.add(f"the {started.role}'s server ({started.server.log_file})", started.server)
            yield settings.model_copy(update=clients)


def policy_environment(settings: ClassroomSettings) -> dict[str, str]:
    """What shows a process beside the classroom's servers only the GPUs that they leave to the policy."""
    server = settings.server
    if server.kind != "vllm_colocated" or server.servers.gpu_variable is None:
        return {}
    visible = visible_gpus(server.servers.gpu_variable)
    return {} if visible is None else {server.servers.gpu_variable: ",".join(visible[: server.policy_gpus])}


@contextmanager
def _key_variable(host: str) -> Iterator[str | None]:
    """The environment variable with a new key, which all that is started in this block inherits; None on loopback."""
    if host == vllm_server.LOOPBACK:
        yield None
        return
    os.environ[KEY_VARIABLE] = secrets.token_urlsafe(32)
    try:
        yield KEY_VARIABLE
    finally:
        del os.environ[KEY_VARIABLE]


def _at(settings: ClassroomSettings, base_url: str, **update: str | None) -> ClassroomSettings:
    moved = {
        name: getattr(settings, name).model_copy(update={"base_url": base_url, **update})
        for name in ("student", "judge")
    }
    return settings.model_copy(update=moved)
