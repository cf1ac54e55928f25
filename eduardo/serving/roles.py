"""Student, judge and tutor servers of this machine: started side by side, each with its GPUs and its key."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from eduardo.errors import UserError
from eduardo.serving import vllm_server
from eduardo.serving.endpoint_file import PublishedEndpoint, private_key_file
from eduardo.serving.gpus import split_gpus
from eduardo.serving.settings import Role, RoleServer, Servers
from eduardo.serving.vllm_server import VllmServer
from eduardo.settings import EndpointSettings

OnWait = Callable[[Role, float], None]


@dataclass(frozen=True, slots=True)
class RoleProcess:
    """A server that answers."""

    role: Role
    settings: RoleServer
    server: VllmServer
    key_file: Path

    @property
    def served_name(self) -> str:
        return served_name(self.settings)

    def endpoint(self, host: str) -> PublishedEndpoint:
        """What others need to know to reach it at `host`."""
        return PublishedEndpoint(
            role=self.role,
            host=host,
            port=int(self.server.base_url.removesuffix("/v1").rpartition(":")[2]),
            model=self.served_name,
            source=self.server.source,
            max_model_len=self.settings.max_model_len,
            api_key_file=self.key_file.name,
            pid=os.getpid(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def client(self, settings: EndpointSettings) -> EndpointSettings:
        """Settings of a client on this machine."""
        return settings.model_copy(
            update={
                "base_url": self.server.base_url,
                "model": self.served_name,
                "api_key_env": None,
                "api_key_file": str(self.key_file.absolute()),
            }
        )


def served_name(settings: RoleServer) -> str:
    return settings.served_name or str(settings.model)


@contextmanager
def running_roles(
    roles: Sequence[Role],
    servers: Servers,
    *,
    bind_host: str,
    key_dir: Path,
    log_dir: Path,
    api_key: str | None = None,
    num_kept_gpus: int = 0,
    on_wait: OnWait = lambda role, elapsed_s: None,
) -> Iterator[list[RoleProcess]]:
    """One server per role; yields once all answer and ends them all afterwards.

    Keys lie in private files in `key_dir`; without `api_key` each server gets a new one. The first `num_kept_gpus`
    devices are left alone. Raises UserError when a server cannot be started or does not come up in time.
    """
    split = split_gpus(roles, servers, num_kept=num_kept_gpus)
    with ExitStack() as stack:
        running = []
        for role in roles:
            key = api_key or secrets.token_urlsafe(32)
            name = f"{role}-{os.getpid()}-{secrets.token_hex(4)}.key"
            key_file = stack.enter_context(private_key_file(key_dir, name, key))
            settings: RoleServer = getattr(servers, role)
            server = stack.enter_context(
                _launch(role, settings, bind_host, key, log_dir, _devices(servers, split[role]))
            )
            running.append(RoleProcess(role, settings, server, key_file))
        try:
            _wait_for_all(running, servers.start_timeout_s, on_wait)
            yield running
        finally:
            for process in running:  # all at once: Slurm allows half a minute
                process.server.keeper.terminate()


def _launch(
    role: Role, settings: RoleServer, bind_host: str, key: str, log_dir: Path, devices: Mapping[str, str]
) -> VllmServer:
    if settings.model is None:
        raise UserError(f"servers.{role}.model is not set: name a model folder, as in `serve {role} FOLDER`")
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
    return vllm_server.launch(
        settings.model,
        names=[served_name(settings)],
        log_file=log_dir / f"{role}_{stamp}_{os.getpid()}.log",
        host=bind_host,
        port=settings.port,
        options=settings.vllm_options(),
        env={**devices, **settings.env},
        api_key=key,
    )


def _devices(servers: Servers, chosen: str | None) -> dict[str, str]:
    return {} if servers.gpu_variable is None or chosen is None else {servers.gpu_variable: chosen}


def _wait_for_all(running: Sequence[RoleProcess], timeout_s: float, on_wait: OnWait) -> None:
    """They load at the same time, so one limit counts for all, and the death of any ends the wait for each."""
    started_s = time.monotonic()

    def look_around(awaited: Role) -> None:
        for process in running:
            if not process.server.is_alive:
                raise vllm_server.ended_early(process.server)
        on_wait(awaited, time.monotonic() - started_s)

    for process in running:
        vllm_server.wait_until_healthy(
            process.server,
            timeout_s=timeout_s - (time.monotonic() - started_s),
            setting="servers.start_timeout_s",
            on_wait=partial(look_around, process.role),
        )
