"""The keeper ends a command and all its processes: when told to, with the parent, and after the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

# A shell that starts a child of its own and writes both process ids down.
FAMILY = "sleep 600 & echo $$ $! > {pids}.tmp; mv {pids}.tmp {pids}; {then}"
KEEPER = [sys.executable, "-m", "eduardo.serving.keeper"]


def wait_for(fact: Callable[[], bool], timeout_s: float = 15.0) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while not fact() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return fact()


def family(pids: Path, then: str = "wait") -> list[str]:
    return ["bash", "-c", FAMILY.format(pids=pids, then=then)]


def are_gone(pids: Path) -> bool:
    return not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_told_to_stop_it_ends_the_command_and_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    keeper = subprocess.Popen([*KEEPER, str(os.getpid()), *family(pids)])
    assert wait_for(pids.exists)
    keeper.terminate()
    keeper.wait(15)
    assert are_gone(pids)


def test_a_parent_killed_outright_leaves_nothing_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    start = (
        "import os, subprocess, sys, time;"
        "subprocess.Popen([*sys.argv[1:4], str(os.getpid()), *sys.argv[4:]]);"
        "time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", start, *KEEPER, *family(pids)])
    assert wait_for(pids.exists)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_for(lambda: are_gone(pids))


def test_a_command_that_ends_by_itself_gives_its_status_and_leaves_no_child(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = subprocess.run([*KEEPER, str(os.getpid()), *family(pids, then="exit 7")], check=False, timeout=30)
    assert done.returncode == 7
    assert are_gone(pids)


def test_ctrl_c_is_left_to_the_parent(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    keeper = subprocess.Popen([*KEEPER, str(os.getpid()), *family(pids)])
    assert wait_for(pids.exists)
    keeper.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        keeper.wait(0.5)
    keeper.terminate()
    keeper.wait(15)
    assert are_gone(pids)


def test_a_command_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    short_grace = (
        "import sys, eduardo.serving.keeper as keeper;"
        "keeper.STOP_GRACE_S = 0.5;"
        "keeper.keep(int(sys.argv[1]), sys.argv[2:])"
    )
    stubborn = [
        "bash",
        "-c",
        f"trap '' TERM; echo $$ > {pids}.tmp; mv {pids}.tmp {pids}; while true; do sleep 1; done",
    ]
    keeper = subprocess.Popen([sys.executable, "-c", short_grace, str(os.getpid()), *stubborn])
    assert wait_for(pids.exists)
    keeper.terminate()
    keeper.wait(15)
    assert are_gone(pids)
