"""The second comparison, by math-verify, outside the program: `python -m eduardo.answers.worker`.

Each pair is judged by a fork of this process, which has math-verify loaded and warm: a pair that takes too long is
killed on time, the next one need not wait for a start, and whatever a pair allocates or caches is gone after it.

Protocol: one JSON line `[key, answer, limit_s, patience_s]` in, one JSON line "right", "wrong", "unknown", "timeout" or
"lost" out, in that order; the first line out is "ready". The process ends when its input does.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import resource
import select
import signal
import sys
from typing import Any

_MAX_MEMORY_BYTES = 2 << 30
# How a fork dies through what it computes: its processor time is used up, or the interpreter crashed.
_OWN_DEATHS = frozenset({signal.SIGPROF, signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL})
_WARM_UP = (
    (r"\sqrt{8}", r"2\sqrt{2}"),
    (r"\frac{1+\sqrt{5}}{2}", "1.6"),
    ("y=3x+13", "3x-y+13=0"),
    ("x^2-1", "(x-1)(x+1)"),
)


def judge(key: str, answer: str) -> str:
    """Verdict of math-verify on two undelimited answers.

    "unknown" when it reads only one of them, or when its verdict depends on the order.
    """
    from math_verify import verify

    left, right = _parse(key), _parse(answer)
    if left is None or right is None:
        return "unknown"
    verdicts = {verify(*pair, timeout_seconds=None) for pair in ((left, right), (right, left))}
    return "unknown" if len(verdicts) > 1 else "right" if verdicts.pop() else "wrong"


def _parse(text: str) -> Any:
    """The expression that math-verify reads from all of `text`, or None."""
    from math_verify import LatexExtractionConfig, parse

    if "$" in text.replace("\\$", ""):
        return None
    read = parse(f"${text}$", (LatexExtractionConfig(),), fallback_mode="no_fallback", parsing_timeout=None)
    return read[0] if read else None


def judge_in_fork(key: str, answer: str, limit_s: float, patience_s: float) -> str:
    """`judge` in a child that may use `limit_s` of processor time; "timeout" when it does, or crashes.

    "lost" when that tells nothing about the pair: no child could start, it was killed from outside, or a busy machine
    gave it no more than a part of its time within `patience_s`.
    """
    read_end, write_end = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        return "lost"
    if child == 0:
        # Nothing handles these: no child outlives its time, nor a killed parent.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.setitimer(signal.ITIMER_REAL, patience_s + limit_s)
        verdict = "unknown"
        with contextlib.suppress(
            Exception
        ):  # whatever the library stumbles over in model text, it has no verdict
            verdict = judge(key, answer)
        os.write(write_end, verdict.encode())
        os._exit(0)
    os.close(write_end)
    # The input has something to read only when it is closed: nobody waits for the verdict any more.
    if read_end not in select.select([read_end, 0], [], [], patience_s)[0]:
        os.kill(child, signal.SIGKILL)
    verdict = os.read(read_end, 64).decode()
    os.close(read_end)
    status = os.waitpid(child, 0)[1]
    if verdict:
        return verdict
    return "timeout" if os.WIFSIGNALED(status) and os.WTERMSIG(status) in _OWN_DEATHS else "lost"


def main() -> None:
    """Serve pairs until the input ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not look like a reply
    logging.disable(logging.CRITICAL)
    for pair in _WARM_UP:
        judge(*pair)
    gc.freeze()  # forks share what is loaded for longer
    with contextlib.suppress(ValueError, OSError):  # not every system can cap memory
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    print(json.dumps("ready"), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(judge_in_fork(*json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
