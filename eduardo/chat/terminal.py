"""Lines from a person, and plain text to one. A pipe does as well as a terminal."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

_HELP = """\
  /view tutor      what the tutor has before it, its thinking included
  /view student    what the student has before it
  /view masked     what a student sees in the post-test (shows the test problem)
  /view judge      what the judge sees (shows the answer)
  /end             end the dialogue and go on to verdicts and post-test (a tutor may add last words: /end TEXT)
  /quit            leave without a score; so does the end of the input"""


class Quit(Exception):
    """The person left: nothing is scored."""


class Ended(Exception):
    """The person ended the dialogue, with these last words."""

    def __init__(self, last_words: str) -> None:
        super().__init__(last_words)
        self.last_words = last_words


class Terminal:
    """Asks for lines; answers /view and /help itself, through `view`: name → text, None for no such view."""

    def __init__(self, view: Callable[[str], str | None]) -> None:
        self._view = view
        self._is_person = sys.stdin.isatty()
        if self._is_person:
            import readline  # noqa: F401  (line editing in input())

    def say(self, text: str = "") -> None:
        """Print, without the control characters that a model might send to a terminal."""
        print("".join(char for char in text if char in "\n\t" or char.isprintable()), flush=True)

    def ask(self, who: str) -> str:
        """The next line that is neither empty nor a command. Raises Ended and Quit."""
        while True:
            line = self._read(f"{who}> ").strip()
            command, _, rest = line.partition(" ")
            if command == "/end":
                raise Ended(rest.strip())
            if command == "/quit":
                raise Quit
            if command == "/view":
                shown = self._view(rest.strip())
                self.say(_HELP if shown is None else shown)
            elif command.startswith("/"):
                self.say(_HELP)
            elif line:
                return line

    def _read(self, prompt: str) -> str:
        """Raises Quit at the end of the input, KeyboardInterrupt at Ctrl-C even while an event loop runs."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.default_int_handler) if in_main_thread else None
        try:
            line = input(prompt)
        except EOFError:
            raise Quit from None
        finally:
            if in_main_thread:
                signal.signal(signal.SIGINT, _handler(before))
        if not self._is_person:
            self.say(line)  # a terminal echoes what is typed; a pipe does not
        return line


def _handler(before: object) -> Callable[[int, FrameType | None], object] | int:
    """What was installed before; handlers that did not come from Python cannot be put back."""
    return before if callable(before) or isinstance(before, int) else signal.default_int_handler
