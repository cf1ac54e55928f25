"""The classroom as a child process: it answers, refuses clearly, stops when told and when its parent dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from eduardo.classroom import process
from eduardo.classroom.__main__ import main
from eduardo.classroom.serve import listen
from eduardo.errors import UserError
from eduardo.serving.health import is_healthy

ORPHANING_PARENT = """
import os, sys
from eduardo.classroom import process
from eduardo.classroom.__main__ import main
from eduardo.classroom.serve import listen
server = process.start()
print(server.child.pid, flush=True)
sys.stdin.read()
"""


def gone_within(pid: int, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_it_answers_while_it_runs_and_leaves_nothing_behind() -> None:
    with process.start() as server:
        assert server.child.poll() is None and is_healthy(server.base_url)
        port = int(server.base_url.split(":")[2].split("/")[0])
        with pytest.raises(UserError, match=f"port {port} is in use"):
            process.start(port=port)
    assert not server.is_alive and not is_healthy(server.base_url)
    server.stop()


def test_a_bad_option_is_one_clear_message() -> None:
    with pytest.raises(UserError, match=r"add up to 1\.2"):
        process.start(options=["--fault", "drop=0.6", "--fault", "slow=0.6"])


def test_it_ends_with_its_parent_even_when_the_parent_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHANING_PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    server_pid = int(parent.stdout.readline())
    assert psutil.pid_exists(server_pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert gone_within(server_pid, limit_s=10)
    parent.communicate()


def test_nothing_listens_beyond_loopback_without_a_key() -> None:
    with pytest.raises(UserError, match="--api-key-env"):
        main(["serve", "--host", "0.0.0.0", "--port", "0"])


def test_a_taken_port_is_never_shared() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UserError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])
