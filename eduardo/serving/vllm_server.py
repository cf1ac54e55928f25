"""`vllm serve` as a child process: started, waited for, stopped, and never left behind."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from eduardo.errors import EduardoError, UserError
from eduardo.files import names_folder
from eduardo.serving.health import is_healthy
from eduardo.serving.keeper import STOP_GRACE_S

POLL_S = 0.5
LOOPBACK = "127.0.0.1"
KEY_VARIABLE = "VLLM_API_KEY"
# vLLM itself demands the key below /v1 only, and generates at /invocations without it.
KEY_GUARD = "eduardo.serving.key_guard.KeyGuard"
# Nobody asked for reports about its use.
QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


class ServerFailed(EduardoError):
    """A server ended although nobody stopped it; the message is the line that says why."""


@dataclass(slots=True)
class VllmServer:
    """A started server. `base_url` ends in /v1. Use as a context manager, or call `stop()`."""

    base_url: str
    source: str  # absolute path of the model folder, or a name on the model hub
    log_file: Path
    keeper: subprocess.Popen[bytes]

    @property
    def is_alive(self) -> bool:
        return self.keeper.poll() is None

    def stop(self) -> None:
        """Ends the server and its processes; calling it again is harmless."""
        self.keeper.terminate()
        try:
            self.keeper.wait(3 * STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self.keeper.kill()
            self.keeper.wait()

    def last_words(self) -> str:
        """The last error in the log with the two lines after it, where pydantic says what was wrong."""
        text = self.log_file.read_text(errors="replace")
        text = re.sub(r"^\(\w+ pid=\d+\)\s*", "", text, flags=re.MULTILINE)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [
            number
            for number, line in enumerate(lines)
            if re.match(r"[\w.]*(Error|Exception)\b|.*error:", line)
        ]
        last = lines[errors[-1] : errors[-1] + 3] if errors else lines[-1:]
        return " ".join(last)[:400] or "no output"

    def __enter__(self) -> VllmServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(
    model: Path | str,
    *,
    names: Sequence[str],
    log_file: Path,
    timeout_s: float,
    port: int = 0,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> VllmServer:
    """`launch` on loopback, and return once it answers. Raises UserError when that takes over `timeout_s`."""
    server = launch(model, names=names, log_file=log_file, port=port, options=options, env=env)
    with ExitStack() as unless_healthy:
        unless_healthy.callback(server.stop)
        wait_until_healthy(server, timeout_s=timeout_s)
        unless_healthy.pop_all()
    return server


def launch(
    model: Path | str,
    *,
    names: Sequence[str],
    log_file: Path,
    host: str = LOOPBACK,
    port: int = 0,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    api_key: str | None = None,
) -> VllmServer:
    """Start serving `model` under every one of `names`; it does not answer yet.

    `model` is a folder or a name on the model hub. `host` is the address to listen on, `port` 0 takes a free one;
    `options` go to `vllm serve`, `env` is added to the environment. What a request leaves open means vLLM's neutral
    value, not one from the model's generation_config.json, unless an option says so; the end tokens there count all
    the same. With `api_key` every path but /health demands it; the key goes through the environment only. The server's
    output goes to `log_file`. It ends with this process, even after a SIGKILL. Raises UserError when there is no model
    or the port is taken.
    """
    is_local = _check_model(str(model))
    port = _usable_port(host, port)
    serve = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model)]
    serve += ["--host", host, "--port", str(port), "--served-model-name", *names]
    serve += ["--generation-config", "vllm", *options]
    extra = {**QUIET, **({"HF_HUB_OFFLINE": "1"} if is_local else {}), **(env or {})}
    if api_key is not None:
        serve += ["--middleware", KEY_GUARD]
        extra |= {KEY_VARIABLE: api_key, "PYTHONPATH": _with_our_root(extra)}
    command = [sys.executable, "-m", "eduardo.serving.keeper", str(os.getpid()), *serve]
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("wb") as log:
        # A session of its own: Ctrl-C reaches the caller only, which may need the server to finish a step.
        keeper = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **extra},
            start_new_session=True,
        )
    reachable = LOOPBACK if host in ("0.0.0.0", LOOPBACK) else host
    source = str(Path(model).absolute()) if is_local else str(model)
    return VllmServer(f"http://{reachable}:{port}/v1", source, log_file, keeper)


def wait_until_healthy(
    server: VllmServer,
    *,
    timeout_s: float,
    setting: str = "classroom.server.start_timeout_s",
    on_wait: Callable[[], None] = lambda: None,
) -> None:
    """Returns once the server answers. `on_wait` is called twice a second until then.

    Raises UserError with the server's own reason when it ended, and naming `setting` after `timeout_s`.
    """
    deadline_s = time.monotonic() + timeout_s
    while not is_healthy(server.base_url):
        if not server.is_alive:
            raise ended_early(server)
        if time.monotonic() > deadline_s:
            raise UserError(
                f"vllm serve did not answer in time: {setting} allows {timeout_s:g} s; see {server.log_file}"
            )
        on_wait()
        time.sleep(POLL_S)


def ended_early(server: VllmServer) -> UserError:
    return UserError(f"vllm serve ended before it answered: {server.last_words()}; see {server.log_file}")


def _check_model(model: str) -> bool:
    """Whether it is a local folder, which must hold a model; anything else is left to the model hub."""
    is_local = names_folder(model)
    if is_local and not (Path(model) / "config.json").is_file():
        raise UserError(
            f"{model} holds no model (no config.json): put one there first "
            "(`python -m eduardo.classroom.smollm2` writes SmolLM2, `python -m eduardo.merge` a trained tutor)"
        )
    return is_local


def _with_our_root(env: Mapping[str, str]) -> str:
    """PYTHONPATH by which the server's processes find the key guard, wherever this package lies."""
    inherited = env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    return os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[2]), inherited]))


def _usable_port(host: str, port: int) -> int:
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError as error:
            if port == 0:
                raise UserError(f"cannot listen on {host}: {error.strerror or error}") from None
            raise UserError(
                f"port {port} is in use: stop the program that holds it, or let any free one be taken (port 0)"
            ) from None
        return int(probe.getsockname()[1])
