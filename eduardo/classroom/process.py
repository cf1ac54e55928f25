"""The classroom server as a child process: started, checked, stopped, and never left behind."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

from eduardo.errors import UserError
from eduardo.serving.health import is_healthy

STOP_GRACE_S = 5.0


@dataclass(slots=True)
class ClassroomProcess:
    """A running server. `base_url` ends in /v1. Use as a context manager, or call `stop()`."""

    base_url: str
    child: subprocess.Popen[str]

    @property
    def is_alive(self) -> bool:
        return self.child.poll() is None

    def last_words(self) -> str:
        """How it ended; what it wrote went to this process's own error output."""
        return f"exit status {self.child.poll()}"

    def stop(self) -> None:
        """Ends the server within a few seconds; calling it again is harmless."""
        if self.is_alive:
            self.child.terminate()
            try:
                self.child.wait(STOP_GRACE_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()

    def __enter__(self) -> ClassroomProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(
    *, host: str = "127.0.0.1", port: int = 0, timeout_s: float = 60.0, options: Sequence[str] = ()
) -> ClassroomProcess:
    """Starts the server on an address of this machine and returns once it answers.

    `port` 0 takes a free one. `options` are further options of `python -m eduardo.classroom serve`. The
    server watches this process and ends with it, even after a SIGKILL. Raises UserError when the port is
    taken or the server does not come up in time.
    """
    command = [sys.executable, "-m", "eduardo.classroom", "serve", "--host", host, "--port", str(port)]
    command += ["--parent-pid", str(os.getpid()), *options]
    # A session of its own: Ctrl-C reaches the caller only, which may need the server to finish a step.
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    with ExitStack() as unless_healthy:
        unless_healthy.callback(ClassroomProcess("", child).stop)
        base_url = _announced_url(child, time.monotonic() + timeout_s)
        if not is_healthy(base_url):
            raise UserError(f"the classroom server at {base_url} started but does not answer /health")
        unless_healthy.pop_all()
    return ClassroomProcess(base_url, child)


def _announced_url(child: subprocess.Popen[str], deadline_s: float) -> str:
    """The server prints one JSON line: its URL once it listens, or why it cannot."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], max(0.0, deadline_s - time.monotonic()))
    line = child.stdout.readline() if ready else ""
    if not line:
        raise UserError(
            "the classroom server did not come up; run `python -m eduardo.classroom serve` to see why"
        )
    announced = json.loads(line)
    if "error" in announced:
        raise UserError(announced["error"])
    return str(announced["base_url"])
