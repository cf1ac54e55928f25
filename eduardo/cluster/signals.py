"""Processes that outlive a SIGTERM sent to everybody.

Slurm may send the SIGTERM of `scancel` to every process of a job. Those that a checkpoint is made of must still be
there when the command, which handles it, asks for one. A blocked signal stays blocked in all descendants, whatever
handlers they install; they are ended with SIGKILL when their time has come.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def sigterm_blocked() -> Iterator[None]:
    """What is started in this block, and all that it starts, never sees SIGTERM."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def keep_sigterm_blocked() -> None:
    """For the start of a process that was started in such a block and uses `multiprocessing`.

    Python's resource tracker blocks SIGTERM while it is started, and afterwards unblocks it without looking how it was.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    resource_tracker._HAVE_SIGMASK = False  # type: ignore[attr-defined]  # noqa: SLF001  it has no public switch
