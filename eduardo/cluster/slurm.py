"""The Slurm job that this process runs in."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eduardo.errors import EduardoError, UserError

COMMAND_TIMEOUT_S = 60.0


class SlurmError(EduardoError):
    """A Slurm command failed; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of one or more nodes; `here` is the one that this process runs on."""

    id: str
    nodes: tuple[str, ...]
    here: str

    def others(self, num_nodes: int) -> tuple[str, ...]:
        """The nodes to take beside this one for `num_nodes` in all, in Slurm's order. Raises UserError."""
        if num_nodes > len(self.nodes):
            raise UserError(
                f"trainer.nnodes={num_nodes}, but Slurm job {self.id} has {len(self.nodes)} "
                f"({', '.join(self.nodes)}): ask for more with `sbatch --nodes={num_nodes}`, or lower trainer.nnodes"
            )
        return tuple(name for name in self.nodes if name != self.here)[: num_nodes - 1]


def current_job(environ: Mapping[str, str] = os.environ) -> Job | None:
    """The job that this process is part of; None outside Slurm.

    Raises UserError where a training cannot be started: outside the job's nodes, or as one of several tasks.
    """
    if "SLURM_JOB_ID" not in environ:
        return None
    job_id, num_tasks = environ["SLURM_JOB_ID"], int(environ.get("SLURM_STEP_NUM_TASKS", "1"))
    if "SLURM_STEP_ID" in environ and num_tasks > 1:
        raise UserError(
            f"srun started this command {num_tasks} times in job {job_id}: start it once, without srun; it brings up "
            "the other nodes itself"
        )
    nodes = tuple(run_command(["scontrol", "show", "hostnames", environ["SLURM_JOB_NODELIST"]]).split())
    here = environ.get("SLURMD_NODENAME")
    if here not in nodes:
        raise UserError(
            f"job {job_id} runs on {', '.join(nodes)}, but this command was not started there: "
            "use sbatch, or `srun --nodes=1 --ntasks=1 --overlap --pty bash` inside the job"
        )
    return Job(job_id, nodes, here)


def node_address(name: str) -> str | None:
    """Where Slurm itself reaches a node: an address, or a name if nothing else is configured."""
    found = re.search(r"\bNodeAddr=(\S+)", run_command(["scontrol", "show", "node", name, "--oneliner"]))
    return found[1] if found else None


def requeue(job_id: str) -> None:
    """Put the job back into the queue. Slurm ends what is left of it, this process too, soon after."""
    run_command(["scontrol", "requeue", job_id])


def run_command(command: Sequence[str]) -> str:
    """Standard output of a Slurm command. Raises SlurmError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise SlurmError(f"this is a Slurm job, but `{command[0]}` is not in PATH") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"`{' '.join(command)}` did not answer within {COMMAND_TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        raise SlurmError(f"`{' '.join(command)}` failed: {' '.join(done.stderr.split())}")
    return done.stdout
