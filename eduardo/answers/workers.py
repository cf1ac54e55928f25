"""Worker processes for the second comparison, each served by a thread of its own.

They are plain subprocesses, not `multiprocessing` children: those would import the program's main module again (a
trainer's takes seconds and brings torch), and may not be started from daemonic processes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from eduardo.answers.verdict import Verdict
from eduardo.errors import EduardoError

_START_TIMEOUT_S = 120.0  # a cold import on a loaded machine
_PATIENCE = 20.0  # a pair may wait so many times its limit for its share of a busy machine
_GRACE_S = 2.0  # the worker itself keeps the limits of a pair; this long after them it counts as dead
_NO_ROOM = frozenset({errno.EAGAIN, errno.ENOMEM})  # why a process could not start: the machine is full
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class GraderClosed(EduardoError):
    """The grader was closed while it was grading."""


class PairUnjudged(Exception):
    """The second comparison gave no verdict on a pair."""


class PairTimeout(PairUnjudged):
    """The pair used up its processor time, or crashed what judged it."""


class PairLost(PairUnjudged):
    """No fault of the pair: workers died, or the machine was too busy or too full, twice."""


class _TryLost(Exception):
    pass


class _WorkerDied(_TryLost):
    pass


class _Worker:
    """One process and the pipes to it. Used by one thread at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(_PACKAGE_ROOT), *(entry for entry in sys.path if entry)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "eduardo.answers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is the parent's to handle; and one signal reaches the worker's forks too
        )
        try:
            self._reply(_START_TIMEOUT_S)
        except _WorkerDied as error:
            code = self.remove()
            raise EduardoError(
                f"the grading worker did not start (exit code {code}): "
                f"see what `{sys.executable} -m eduardo.answers.worker` says"
            ) from error

    def judge(self, key: str, answer: str, limit_s: float) -> Verdict:
        assert self._process.stdin is not None
        patience_s = _PATIENCE * limit_s
        try:
            self._process.stdin.write(json.dumps([key, answer, limit_s, patience_s]).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise _WorkerDied from error
        reply = self._reply(patience_s + _GRACE_S)
        if reply == "timeout":
            raise PairTimeout
        if reply == "lost":
            raise _TryLost
        return Verdict(reply)

    def _reply(self, limit_s: float) -> str:
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        line = self._process.stdout.readline() if poll.poll(limit_s * 1000) else b""
        if not line:
            raise _WorkerDied
        return str(json.loads(line))

    def kill(self) -> None:
        """End the process and its forks; a thread that waits for a reply sees the end of it."""
        if self._process.returncode is None:  # not waited for, so the id still belongs to it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def remove(self) -> int:
        """End the process and release what it holds; return its exit code."""
        self.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent input of a process that is gone
                    pipe.close()
        return code


class Workers:
    """`num_workers` threads with a process each, started with the first pair that reaches the thread."""

    def __init__(self, num_workers: int, limit_s: float) -> None:
        self._limit_s = limit_s
        self._threads = ThreadPoolExecutor(num_workers, thread_name_prefix="grading")
        self._local = threading.local()
        self._alive: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, key: str, answer: str) -> Future[Verdict]:
        """Verdict of the second comparison; the future raises PairUnjudged, or EduardoError if no worker can start."""
        return self._threads.submit(self._judge, key, answer)

    def close(self) -> None:
        """Kill all processes and wait for them; pairs that still wait are cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closed = True
            for worker in self._alive:
                worker.kill()
        self._threads.shutdown(wait=True)
        for worker in self._alive:
            worker.remove()
        self._alive.clear()

    def _judge(self, key: str, answer: str) -> Verdict:
        for _ in range(2):
            try:
                return self._worker().judge(key, answer, self._limit_s)
            except _WorkerDied:
                self._drop(self._local.worker)
            except _TryLost:
                continue
        raise PairLost

    def _worker(self) -> _Worker:
        """This thread's worker, started where it has none. Raises _TryLost when the machine has no room for one."""
        worker: _Worker | None = getattr(self._local, "worker", None)
        if worker is None:
            self._check_open()
            try:
                worker = self._local.worker = _Worker()
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                raise _TryLost from error
            with self._lock:
                self._alive.add(worker)
            self._check_open()
        return worker

    def _check_open(self) -> None:
        if self._closed:
            raise GraderClosed("the grader was closed while it was grading")

    def _drop(self, worker: _Worker) -> None:
        with self._lock:
            self._alive.discard(worker)
        worker.remove()
        self._local.worker = None
