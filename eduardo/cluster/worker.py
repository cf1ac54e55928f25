"""One node's part in the run's Ray cluster: `python -m eduardo.cluster.worker`, started there by srun.

Lives until its standard input ends: so the command on the first node ends it, however that command itself ends.
Then nothing of the run is left on this node.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import subprocess
import sys
import time

from eduardo.cluster.network import is_listening
from eduardo.cluster.ray_commands import NodeResources, worker_command
from eduardo.cluster.ray_id import daemon_env, kill_ray
from eduardo.cluster.signals import sigterm_blocked
from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE

POLL_S = 0.5


def main(argv: list[str]) -> int:
    options = _options(argv)
    name = os.environ["SLURMD_NODENAME"]
    with sigterm_blocked():
        if not _head_answers(options.head, options.timeout_s):
            print(f"{name}: Ray's head at {options.head} cannot be reached from here", flush=True)
            return 1
        return _serve(name, options)


def _serve(name: str, options: argparse.Namespace) -> int:
    """0 when it was told to end, 1 when Ray ended by itself."""
    resources = NodeResources(**json.loads(options.resources))
    child = subprocess.Popen(
        worker_command(head=options.head, name=name, resources=resources),
        stdin=subprocess.DEVNULL,
        env=daemon_env({**os.environ, RUN_ID_VARIABLE: options.run_id}),
    )
    try:
        while child.poll() is None and not _input_ended(POLL_S):
            pass
        if (status := child.poll()) is not None:
            print(f"{name}: Ray ended with status {status}", flush=True)
        return 0 if status is None else 1
    finally:
        child.kill()
        child.wait()
        kill_ray(options.run_id)
        shutil.rmtree(options.temp_dir, ignore_errors=True)


def _head_answers(head: str, timeout_s: float) -> bool:
    host, _, port = head.rpartition(":")
    deadline_s = time.monotonic() + timeout_s
    while not is_listening(host, int(port), timeout_s=POLL_S):
        if time.monotonic() > deadline_s or _input_ended(POLL_S):
            return False
    return True


def _input_ended(wait_s: float) -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], wait_s)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m eduardo.cluster.worker")
    parser.add_argument("--head", required=True, help="HOST:PORT of Ray's head")
    parser.add_argument("--resources", required=True, help="NodeResources as JSON")
    parser.add_argument("--run-id", required=True)
    parser.add_argument(
        "--temp-dir", required=True, help="where Ray puts its sockets and logs; removed at the end"
    )
    parser.add_argument("--timeout-s", required=True, type=float, help="how long the head may take to answer")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
