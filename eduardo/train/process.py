"""The training process and everything that it starts: one group, watched, stopped gently, never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from eduardo.cluster import new_token_env, sigterm_blocked
from eduardo.train.run_folder import RunFolder
from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE, kill_run

EXIT_GRACE_S = 20.0


def run_environment(folder: RunFolder, env: Mapping[str, str]) -> dict[str, str]:
    """Environment of all processes of a run: `env`, an id of the run, and a token for a Ray that is the run's own."""
    joins_existing_ray = "RAY_ADDRESS" in os.environ
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(p for p in [*_import_roots(), *_inherited_roots()] if p)),
        "TENSORBOARD_DIR": str(folder.path / "tensorboard"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        **({} if joins_existing_ray else new_token_env()),
        **env,
        RUN_ID_VARIABLE: uuid.uuid4().hex,
    }


class TrainingProcess:
    """verl in a session of its own, so that Ctrl-C reaches only the command. Output goes to the run's log.

    `env` comes from `run_environment`; Ray's sockets and logs go below `temp_root`, whose path has to be short.
    """

    def __init__(self, folder: RunFolder, env: Mapping[str, str], *, temp_root: str) -> None:
        self._run_id = env[RUN_ID_VARIABLE]
        self._ray_dir = tempfile.mkdtemp(prefix="eduardo-", dir=temp_root)
        self._log = folder.log.open("ab")
        with sigterm_blocked():
            self._child = subprocess.Popen(
                [sys.executable, "-m", "eduardo.verl_adapter.task_runner", str(folder.config)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**env, "RAY_TMPDIR": self._ray_dir},
            )

    def wait(self, timeout_s: float) -> int | None:
        """Exit status, or None while it runs."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def close(self, *, gently: bool = True) -> None:
        """End whatever is left of the run; not gently means without a chance to tidy up."""
        if gently and self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)
            self.wait(EXIT_GRACE_S)
        kill_run(self._run_id)
        self._child.wait()
        self._log.close()
        shutil.rmtree(self._ray_dir, ignore_errors=True)


def _import_roots() -> list[str]:
    """Where this package is imported from: Ray's workers must find it too."""
    return [str(Path(__file__).resolve().parents[2])]


def _inherited_roots() -> list[str]:
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)
