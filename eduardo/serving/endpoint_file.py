"""The file by which a training finds a server, and the private file with the server's key beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from eduardo.errors import UserError
from eduardo.files import write_whole
from eduardo.serving.health import is_healthy
from eduardo.serving.settings import Role
from eduardo.settings import PUBLISHED, EndpointSettings, Settings

_POLL_S = 2.0


class PublishedEndpoint(Settings):
    """A server as its endpoint file describes it."""

    role: Role
    host: str
    port: int
    model: str  # served name
    source: str  # what it was loaded from
    max_model_len: int
    api_key_file: str  # file name, in the folder of the endpoint file
    pid: int
    started: str  # UTC

    @property
    def base_url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/v1"

    @property
    def file_name(self) -> str:
        return f"{self.role}-{self.host.replace(':', '_')}-{self.port}.json"


@contextmanager
def private_key_file(folder: Path, name: str, key: str) -> Iterator[Path]:
    """A file with mode 0600 that holds `key` as long as the block runs. Raises UserError."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}); choose another endpoints_dir"
        ) from None
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(key + "\n")
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def published(folder: Path, endpoint: PublishedEndpoint) -> Iterator[Path]:
    """The endpoint file as long as the block runs. Raises UserError."""
    path = folder / endpoint.file_name
    write_whole(path, (endpoint.model_dump_json(indent=1) + "\n").encode())
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def find(settings: EndpointSettings, role: Role, *, config_key: str, wait_s: float = 0) -> EndpointSettings:
    """Settings with the address of the server that `published:FOLDER` stands for; any other address is left alone.

    Waits up to `wait_s` for one that answers. Raises UserError when there is none, more than one, or one of another
    model; `config_key` is what the message tells to change.
    """
    folder = folder_of(settings)
    if folder is None:
        return settings
    found = locate(folder, role, config_key=config_key, wait_s=wait_s)
    if found.model != settings.model:
        raise UserError(
            f"{folder / found.file_name}: this {role} server serves {found.model!r}, but "
            f"{config_key}.model={settings.model}: serve that, or set {config_key}.model={found.model}"
        )
    if settings.api_key_env or settings.api_key_file:
        return settings.model_copy(update={"base_url": found.base_url})
    key_file = str((folder / found.api_key_file).absolute())
    return settings.model_copy(update={"base_url": found.base_url, "api_key_file": key_file})


def folder_of(settings: EndpointSettings) -> Path | None:
    """FOLDER of `published:FOLDER`; None when an address is given."""
    if not settings.base_url.startswith(PUBLISHED):
        return None
    return Path(settings.base_url.removeprefix(PUBLISHED)).expanduser()


def locate(folder: Path, role: Role, *, config_key: str, wait_s: float = 0) -> PublishedEndpoint:
    """The one server of `role` that answers, waited for up to `wait_s`. Raises UserError."""
    deadline_s = time.monotonic() + wait_s
    while isinstance(found := _look(folder, role, config_key), str):
        if time.monotonic() >= deadline_s:
            raise UserError(found)
        time.sleep(_POLL_S)
    return found


def _look(folder: Path, role: Role, config_key: str) -> PublishedEndpoint | str:
    """The one server that answers, or why there is none. Raises UserError for several or a broken file."""
    known = list(filter(None, map(_read, sorted(folder.glob(f"{role}-*.json")))))
    alive = [endpoint for endpoint in known if is_healthy(endpoint.base_url)]
    if len(alive) > 1:
        names = ", ".join(endpoint.file_name for endpoint in alive)
        raise UserError(
            f"{len(alive)} {role} servers answer ({names} in {folder}): stop all but one, or choose with "
            f"{config_key}.base_url and {config_key}.api_key_file"
        )
    if alive:
        return alive[0]
    if known:
        last = max(known, key=lambda endpoint: endpoint.started)
        return (
            f"{folder / last.file_name}: the {role} server at {last.host}:{last.port} (started {last.started}) does "
            f"not answer: start one with `python -m eduardo.serve {role}`, and delete this file when that one is gone"
        )
    return (
        f"no {role} server is published in {folder}: start one with `python -m eduardo.serve {role}` "
        f"(sbatch scripts/serve.sbatch {role}), or set {config_key}.base_url"
    )


def _read(path: Path) -> PublishedEndpoint | None:
    try:
        return PublishedEndpoint.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None  # its server has just stopped
    except (OSError, ValidationError) as error:
        raise UserError(f"{path}: no endpoint file ({str(error).splitlines()[0]}): delete it") from None
