"""`vllm serve` as a child process: started, waited for, stopped, and never left behind."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from eduardo.classroom.keeper import STOP_GRACE_S
from eduardo.classroom.process import is_healthy
from eduardo.errors import UserError

POLL_S = 0.5
# A local folder needs no hub, and nobody asked for reports about its use.
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


@dataclass(slots=True)
class VllmServer:
    """A running server. `base_url` ends in /v1. Use as a context manager, or call `stop()`."""

    base_url: str
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

    def __enter__(self) -> VllmServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(
    model_path: Path,
    *,
    names: Sequence[str],
    log_file: Path,
    timeout_s: float,
    port: int = 0,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> VllmServer:
    """Serve `model_path` on loopback under every one of `names`; returns once it answers.

    `port` 0 takes a free one; `options` go to `vllm serve`, `env` is added to the environment. The server's
    output goes to `log_file`. It ends with this process, even after a SIGKILL. Raises UserError when there is
    no model, the port is taken, or the server does not come up in time.
    """
    if not (model_path / "config.json").is_file():
        raise UserError(
            f"{model_path} holds no model (no config.json): put one there first "
            "(`python -m eduardo.classroom.smollm2` writes SmolLM2)"
        )
    port = _usable_port(port)
    serve = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model_path)]
    serve += ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", *names, *options]
    command = [sys.executable, "-m", "eduardo.classroom.keeper", str(os.getpid()), *serve]
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("wb") as log:
        # A session of its own: Ctrl-C reaches the caller only, which may need the server to finish a step.
        keeper = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **QUIET, **(env or {})},
            start_new_session=True,
        )
    server = VllmServer(f"http://127.0.0.1:{port}/v1", log_file, keeper)
    try:
        _wait_until_healthy(server, timeout_s)
    except BaseException:
        server.stop()
        raise
    return server


def _wait_until_healthy(server: VllmServer, timeout_s: float) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not is_healthy(server.base_url):
        if not server.is_alive:
            raise UserError(
                f"vllm serve ended before it answered: {_last_words(server.log_file)}; see {server.log_file}"
            )
        if time.monotonic() > deadline_s:
            raise UserError(
                f"vllm serve did not answer within {timeout_s:g} s (classroom.server.start_timeout_s); "
                f"see {server.log_file}"
            )
        time.sleep(POLL_S)


def _last_words(log_file: Path) -> str:
    """The last error in the log with the two lines after it, where pydantic says what was wrong."""
    text = re.sub(r"^\(\w+ pid=\d+\)\s*", "", log_file.read_text(errors="replace"), flags=re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [
        number for number, line in enumerate(lines) if re.match(r"[\w.]*(Error|Exception)\b|.*error:", line)
    ]
    last = lines[errors[-1] : errors[-1] + 3] if errors else lines[-1:]
    return " ".join(last)[:400] or "no output"


def _usable_port(port: int) -> int:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise UserError(
                f"port {port} is in use: stop the program that holds it, or set classroom.server.port=0 (any)"
            ) from None
        return int(probe.getsockname()[1])
