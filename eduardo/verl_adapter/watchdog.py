"""Ends a run that has stopped moving, such as one that waits for a dead vLLM engine, instead of waiting for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

CHECKS_PER_TIMEOUT = 20


class Watchdog:
    """Calls `on_stall(message)` once, from a thread of its own, when no `beat` came for `timeout_s`."""

    def __init__(self, timeout_s: float, on_stall: Callable[[str], None]) -> None:
        self._timeout_s = timeout_s
        self._on_stall = on_stall
        self._last: tuple[float, str] | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def beat(self, doing: str) -> None:
        """Something moved; `doing` says what is under way now. The first beat starts the watch."""
        self._last = (time.monotonic(), doing)
        if not self._thread.is_alive() and not self._stopped.is_set():
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(self._timeout_s / CHECKS_PER_TIMEOUT):
            assert self._last is not None
            at_s, doing = self._last
            if time.monotonic() - at_s > self._timeout_s:
                self._stopped.set()
                self._on_stall(
                    f"nothing moved for {self._timeout_s:.0f} s (run.stall_timeout_s) while {doing}"
                )
