"""How every entry point ends: our own failures become one line and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from eduardo.errors import EduardoError, UserError

USAGE_ERROR = 2
FAILURE = 1
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

Main = Callable[[list[str] | None], int]


def run_main(main: Main, argv: list[str] | None = None) -> int:
    """Exit status of `main(argv)`: 2 for bad input, 1 for another failure of ours, 130 when interrupted.

    Anything else is a bug and keeps its traceback. `argv` is without the program's name; None means
    `sys.argv[1:]`.
    """
    try:
        return main(argv)
    except UserError as error:
        return _fail(str(error), USAGE_ERROR)
    except EduardoError as error:
        return _fail(str(error), FAILURE)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) is gone; the interpreter would complain again while flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _fail(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status
