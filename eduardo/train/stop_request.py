"""Signals that stop a run: the first saves and ends, the second ends at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from eduardo.train.failure import read_status
from eduardo.train.run_folder import RunFolder
from eduardo.verl_adapter.stop import request_stop


@dataclass(slots=True)
class StopRequest:
    """First signal: save and end; before training began there is nothing to save. Second: end at once."""

    folder: RunFolder
    signal_number: int | None = None
    now: bool = False
    _messages: list[str] = field(default_factory=list)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        again = self.signal_number not in (
            None,
            signal.SIGUSR1,
        )  # a time limit sends SIGUSR1, and SIGTERM when it is over
        if again or read_status(self.folder.status) is None:
            self.now = True
        else:
            request_stop(self.folder.path, f"{signal.Signals(number).name} received")
            self._messages.append("stopping: the checkpoint is saved first; once more to end at once")
        self.signal_number = number

    def take_messages(self) -> list[str]:
        messages, self._messages = self._messages, []
        return messages


@contextmanager
def stop_signals(stop: StopRequest) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = {number: signal.signal(number, stop.on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
