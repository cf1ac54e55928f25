"""Processes of a run, found by an environment variable that all of them inherit, and ended when the run is over."""

from __future__ import annotations

import os
import signal
import time

import psutil

RUN_ID_VARIABLE = "EDUARDO_RUN_ID"
COMMAND_PID_VARIABLE = "EDUARDO_COMMAND_PID"  # of the command that a warm start ends with
PATIENCE_S = 20.0


def kill_run(run_id: str) -> None:
    """Kill every other process that belongs to the run, and wait until none is left."""
    deadline_s = time.monotonic() + PATIENCE_S
    while (left := processes_of(run_id)) and time.monotonic() < deadline_s:
        for process in left:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=1.0)


def processes_of(run_id: str) -> list[psutil.Process]:
    """All living processes of the run but this one; those of other users are not looked at."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(RUN_ID_VARIABLE) == run_id:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return [process for process in found if process.pid != os.getpid()]
