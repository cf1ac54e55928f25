"""The second comparison, by math-verify: a process that may be killed, `python -m eduardo.answers.worker`.

Protocol: one JSON line `[key, answer, limit_s]` in, one JSON line "right", "wrong" or "unknown" out, in that order;
the first line out is "ready". The process ends when its input does. A pair that takes longer than its limit ends the
process from inside too (an alarm that nothing handles), so that no worker outlives a killed parent.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import signal
import sys
from typing import Any

_MAX_MEMORY_BYTES = 2 << 30


def judge(key: str, answer: str) -> str:
    """Verdict of math-verify on two undelimited answers; "unknown" when it reads only one, or depends on the order."""
    left, right = _parse(key), _parse(answer)
    if left is None or right is None:
        return "unknown"
    from math_verify import verify

    verdicts = {verify(*pair, timeout_seconds=None) for pair in ((left, right), (right, left))}
    return "unknown" if len(verdicts) > 1 else "right" if verdicts.pop() else "wrong"


def _parse(text: str) -> Any:
    """The expression that math-verify reads from all of `text`, or None."""
    from math_verify import LatexExtractionConfig, parse

    if "$" in text.replace("\\$", ""):
        return None
    read = parse(f"${text}$", (LatexExtractionConfig(),), fallback_mode="no_fallback", parsing_timeout=None)
    return read[0] if read else None


def main() -> None:
    """Serve pairs until the input ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not look like a reply
    logging.disable(logging.CRITICAL)
    judge("1", "1")
    with contextlib.suppress(ValueError, OSError):  # not every system can cap memory
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    print(json.dumps("ready"), file=replies, flush=True)
    for line in sys.stdin:
        key, answer, limit_s = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, 2 * limit_s)
        try:
            verdict = judge(key, answer)
        except Exception:  # noqa: BLE001  whatever the library stumbles over in model text, it has no verdict
            verdict = "unknown"
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(verdict), file=replies, flush=True)


if __name__ == "__main__":
    main()
