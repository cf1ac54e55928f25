"""Runs a command while the parent lives: `python -m eduardo.serving.keeper PARENT_PID COMMAND ...`.

A server with processes of its own would outlive a parent that was killed. The keeper gives the command a
process group, and ends the whole group when it is told to stop, when the parent is gone, or when the command
itself ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

POLL_S = 0.25
STOP_GRACE_S = 8.0


def keep(parent_pid: int, command: list[str]) -> int:
    """Exit status of `command`. Stops on SIGTERM and with the parent; SIGINT is the parent's to handle."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(command, start_new_session=True)
    try:
        while child.poll() is None and os.getppid() == parent_pid and not stop.wait(POLL_S):
            pass
    finally:
        _end_group(child)
    return child.returncode


def _end_group(child: subprocess.Popen[bytes]) -> None:
    # The group is signalled even when the command has ended: its own children may still be there.
    _signal_group(child.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(STOP_GRACE_S)
    deadline_s = time.monotonic() + STOP_GRACE_S
    while _signal_group(child.pid, 0) and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()


def _signal_group(group: int, number: int) -> bool:
    """Whether the group still had a process. Signal 0 only asks."""
    with suppress(ProcessLookupError):
        os.killpg(group, number)
        return True
    return False


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), sys.argv[2:]))
