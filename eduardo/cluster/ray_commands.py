"""Command lines that start Ray on a node. None of them holds the token."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.cluster.network import free_ports


@dataclass(frozen=True, slots=True)
class NodeResources:
    """What a node offers to Ray; None leaves it to Ray to find out."""

    num_gpus: int | None
    num_cpus: int | None

    def options(self) -> list[str]:
        named = {"--num-gpus": self.num_gpus, "--num-cpus": self.num_cpus}
        return [f"{name}={value}" for name, value in named.items() if value is not None]


# Ray as a module: there need be no `ray` in PATH. In the foreground, so that its processes end with the command.
# Ports are any free ones: on a shared node somebody else's Ray may hold the usual ones.
_START = (
    *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"),
    *("--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"),
)


def head_command(*, address: str, port: int, name: str, temp_dir: str, resources: NodeResources) -> list[str]:
    where = [
        f"--node-ip-address={address}",
        f"--port={port}",
        f"--node-name={name}",
        f"--temp-dir={temp_dir}",
    ]
    (client_port,) = free_ports(1)  # of a service that a training does not use and Ray starts nevertheless
    return [
        *_START,
        "--head",
        *where,
        "--no-monitor",
        "--include-dashboard=false",
        f"--ray-client-server-port={client_port}",
        *resources.options(),
    ]


def worker_command(*, head: str, name: str, resources: NodeResources) -> list[str]:
    return [*_START, f"--address={head}", f"--node-name={name}", *resources.options()]


def srun_command(nodes: Sequence[str], task: Sequence[str]) -> list[str]:
    """One task on each of `nodes`, beside whatever else the job runs there, with all that the job has there.

    Tasks get this process's environment also in a job of `sbatch --export=...`, which steps would inherit.
    """
    return [
        "srun",
        "--export=ALL",
        f"--nodes={len(nodes)}",
        f"--ntasks={len(nodes)}",
        "--ntasks-per-node=1",
        f"--nodelist={','.join(nodes)}",
        "--overlap",
        "--cpu-bind=none",
        "--kill-on-bad-exit=1",
        *task,
    ]
