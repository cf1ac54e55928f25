"""No process of a run outlives it, not even one that left its parent and session."""

import subprocess
import sys
import time

from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE, kill_run, processes_of

# A grandchild in a session of its own whose parent is gone, as vLLM's engine is after a crash.
ORPHAN = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
"""


def test_orphans_of_a_run_are_killed_and_other_runs_are_not(monkeypatch):
    monkeypatch.setenv(RUN_ID_VARIABLE, "run-a")
    subprocess.run([sys.executable, "-c", ORPHAN], check=True, timeout=30)
    monkeypatch.setenv(RUN_ID_VARIABLE, "run-b")
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        assert len(processes_of("run-a")) == 1
        started = time.monotonic()
        kill_run("run-a")
        assert processes_of("run-a") == []
        assert time.monotonic() - started < 10
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_killing_a_run_that_is_gone_is_harmless():
    kill_run("run-that-never-was")
