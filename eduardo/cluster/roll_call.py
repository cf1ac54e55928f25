"""Who is in the Ray cluster: `python -m eduardo.cluster.roll_call HOST PORT NODE...`.

Writes the name of each node of the list to standard output, one a line, as it joins, and ends when all have. A process
of its own, because a connection to Ray changes the process that makes it (its signals, its log).
"""

from __future__ import annotations

import sys
import time

import ray

from eduardo.cluster.network import is_listening

POLL_S = 0.5


def main(host: str, port: int, expected: set[str]) -> None:
    while not is_listening(host, port, timeout_s=POLL_S):
        time.sleep(POLL_S)
    ray.init(address=f"{host}:{port}", log_to_driver=False, logging_level="ERROR")
    while expected:
        for name in sorted(expected & {node["NodeName"] for node in ray.nodes() if node["Alive"]}):
            print(name, flush=True)
            expected.discard(name)
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), set(sys.argv[3:]))
