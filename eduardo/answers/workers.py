"""Worker processes that are killed and replaced when a pair takes too long.

They are plain subprocesses, not `multiprocessing` children: those would import the program's main module again (a
trainer's takes seconds and brings torch), and may not be started from daemonic processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from eduardo.answers.compare import Verdict
from eduardo.errors import EduardoError

_START_TIMEOUT_S = 120.0  # a cold import on a loaded machine
_MAX_PAIRS = 5000  # a worker is replaced after so many: libraries that cache keep its memory from being flat
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class GraderClosed(EduardoError):
    """The grader was used after it was closed."""


class PairTimeout(Exception):
    """The pair took longer than its limit, or took two workers down."""


class _Died(Exception):
    """The process ended without a reply."""


class _Worker:
    """One process and the pipe to it. Used by one thread at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(_PACKAGE_ROOT), *(entry for entry in sys.path if entry)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "eduardo.answers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        self.num_pairs = 0
        try:
            self._reply(_START_TIMEOUT_S)
        except (PairTimeout, _Died) as error:
            code = self.kill()
            raise EduardoError(
                f"the grading worker did not start (exit code {code}): try `{sys.executable} -m eduardo.answers.worker`"
            ) from error

    def judge(self, key: str, answer: str, limit_s: float) -> Verdict:
        assert self._process.stdin is not None
        self.num_pairs += 1
        try:
            self._process.stdin.write(json.dumps([key, answer, limit_s]).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise _Died from error
        return Verdict(self._reply(limit_s))

    def _reply(self, limit_s: float) -> str:
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        if not poll.poll(limit_s * 1000):
            raise PairTimeout
        line = self._process.stdout.readline()
        if not line:
            raise _Died
        return str(json.loads(line))

    def kill(self) -> int:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent input of a process that is gone
                    pipe.close()
        return self._process.wait()


class Workers:
    """`num_workers` threads with a process each; processes start with the first pair that reaches their thread."""

    def __init__(self, num_workers: int, limit_s: float) -> None:
        self._limit_s = limit_s
        self._threads = ThreadPoolExecutor(num_workers, thread_name_prefix="grading")
        self._local = threading.local()
        self._alive: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, key: str, answer: str) -> Future[Verdict]:
        """Verdict of the second comparison; the future raises PairTimeout."""
        return self._threads.submit(self._judge, key, answer)

    def close(self) -> None:
        """Kill all processes and wait for them; pairs still waiting are cancelled."""
        with self._lock:
            self._closed = True
            workers = list(self._alive)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        self._threads.shutdown(wait=True)

    def _judge(self, key: str, answer: str) -> Verdict:
        for _ in range(
            2
        ):  # one death may have come from outside; a pair that kills a second worker is the cause
            worker = self._worker()
            try:
                return worker.judge(key, answer, self._limit_s)
            except PairTimeout:
                self._drop(worker)
                self._start_early()
                raise
            except _Died:
                self._drop(worker)
        raise PairTimeout

    def _start_early(self) -> None:
        """Let the replacement start now, so that the next pair need not wait for it."""
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            self._threads.submit(self._worker)

    def _worker(self) -> _Worker:
        worker: _Worker | None = getattr(self._local, "worker", None)
        if worker is not None and worker.num_pairs >= _MAX_PAIRS:
            self._drop(worker)
            worker = None
        if worker is None:
            worker = _Worker()
            with self._lock:
                if self._closed:
                    worker.kill()
                    raise GraderClosed("the grader is closed")
                self._alive.add(worker)
            self._local.worker = worker
        return worker

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        with self._lock:
            self._alive.discard(worker)
        self._local.worker = None
