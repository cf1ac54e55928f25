"""Ray over the nodes of a job: the head on this one, a worker on each of the others, all with one token."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Self

from eduardo.cluster.network import free_ports
from eduardo.cluster.ray_commands import NodeResources, head_command, srun_command
from eduardo.cluster.ray_id import daemon_env, kill_ray
from eduardo.cluster.signals import sigterm_blocked
from eduardo.errors import EduardoError
from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE

POLL_S = 0.5
END_GRACE_S = 30.0  # for the other nodes to tidy up


class NodeFault(EduardoError):
    """A node did not join, or Ray on it ended; the message names it."""


class RayCluster:
    """Context manager; `gather` has to succeed before `address` is of use.

    `env` is the environment of Ray and of all that it starts, with the token and the run's id; what the processes
    print goes to the end of `log`.
    """

    def __init__(
        self,
        here: str,
        others: Sequence[str],
        *,
        host: str,
        temp_root: str,
        join_timeout_s: float,
        resources: NodeResources,
        env: Mapping[str, str],
        log: Path,
    ) -> None:
        self.nodes = (here, *others)
        self._host = host
        self._port = free_ports(1)[0]
        self._timeout_s = join_timeout_s
        self._resources = resources
        self._env = dict(env)
        self._log_path = log
        self._log_start = log.stat().st_size if log.exists() else 0
        self._temp_dir = tempfile.mkdtemp(prefix="eduardo-", dir=temp_root)
        self._head: subprocess.Popen[bytes] | None = None
        self._workers: subprocess.Popen[bytes] | None = None
        self._roll_call: subprocess.Popen[bytes] | None = None
        self._joined = Path(self._temp_dir) / "joined"

    @property
    def address(self) -> str:
        return f"{self._host}:{self._port}"

    def __enter__(self) -> Self:
        with ExitStack() as unless_started:
            unless_started.callback(self._close)
            self._start()
            unless_started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def gather(self, give_up: Callable[[], bool]) -> bool:
        """Waits until every node has joined; False when `give_up` said so first. Raises NodeFault."""
        assert self._roll_call is not None
        deadline_s = time.monotonic() + self._timeout_s
        while self._roll_call.poll() is None or self._missing():
            if give_up():
                return False
            if (fault := self.fault()) is not None:
                raise NodeFault(fault)
            if time.monotonic() > deadline_s:
                raise NodeFault(
                    f"{_names(self._missing())} did not join Ray within {self._timeout_s:g} s "
                    f"(cluster.join_timeout_s){self._last_words()}"
                )
            time.sleep(POLL_S)
        return True

    def fault(self) -> str | None:
        """What ended too early, by name; None while all is well."""
        missing = self._missing()
        if self._workers is not None and self._workers.poll() is not None:
            who = f"{_names(missing)} did not join Ray" if missing else "Ray ended on a node of the job"
            return f"{who}{self._last_words()}"
        if self._head is not None and self._head.poll() is not None:
            return f"Ray ended on node {self.nodes[0]}{self._last_words()}"
        if missing and self._roll_call is not None and self._roll_call.poll():
            return f"Ray on node {self.nodes[0]} refuses its own run{self._last_words()}"
        return None

    def _start(self) -> None:
        run_id = self._env[RUN_ID_VARIABLE]
        head = head_command(
            address=self._host,
            port=self._port,
            name=self.nodes[0],
            temp_dir=self._temp_dir,
            resources=self._resources,
        )
        task = [sys.executable, "-m", "eduardo.cluster.worker", "--head", self.address, "--run-id", run_id]
        task += ["--resources", json.dumps(asdict(self._resources)), "--temp-dir", self._temp_dir]
        task += ["--timeout-s", f"{self._timeout_s:g}"]
        # srun ends with the other nodes' tasks, and they with its input: it does not bear the id of those that are
        # killed on this node.
        srun_env = {name: value for name, value in self._env.items() if name != RUN_ID_VARIABLE}
        names = [self._host, str(self._port), *self.nodes]
        roll_call = [sys.executable, "-m", "eduardo.cluster.roll_call", *names]
        with self._log_path.open("ab") as log, self._joined.open("wb") as joined, sigterm_blocked():
            self._head = subprocess.Popen(
                head,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=daemon_env(self._env),
                start_new_session=True,
            )
            self._roll_call = subprocess.Popen(
                roll_call,
                stdin=subprocess.DEVNULL,
                stdout=joined,
                stderr=log,
                env=self._env,
                start_new_session=True,
            )
            self._workers = subprocess.Popen(
                srun_command(self.nodes[1:], task),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=srun_env,
                start_new_session=True,
            )

    def _missing(self) -> list[str]:
        joined = set(self._joined.read_text().split())
        return [name for name in self.nodes if name not in joined]

    def _last_words(self) -> str:
        """The last thing that srun or a node's own process complained about."""
        with self._log_path.open("rb") as file:
            file.seek(self._log_start)
            text = file.read().decode("utf-8", errors="replace")
        names = "|".join(map(re.escape, self.nodes))
        said = re.findall(rf"^(?:srun: error: .*|(?:{names}): .*)$", text, re.MULTILINE)
        return f": {said[-1]} (log: {self._log_path})" if said else f" (log: {self._log_path})"

    def _close(self) -> None:
        if self._workers is not None:
            assert self._workers.stdin is not None
            self._workers.stdin.close()
            _wait(self._workers, END_GRACE_S)
        for process in (self._workers, self._roll_call, self._head):
            if process is not None:
                process.kill()
                process.wait()
        kill_ray(self._env[RUN_ID_VARIABLE])
        shutil.rmtree(self._temp_dir, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.terminate()  # srun then has Slurm end the tasks
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return


def _names(nodes: Sequence[str]) -> str:
    return f"node{'s' if len(nodes) > 1 else ''} {', '.join(nodes)}"
