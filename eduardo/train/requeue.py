"""Back into Slurm's queue, and never round in circles: a job that gets nowhere is not requeued."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from rich.console import Console

from eduardo.cluster import requeue
from eduardo.config import ClassroomSettings
from eduardo.errors import UserError
from eduardo.files import replace_file
from eduardo.serving.endpoint_file import folder_of
from eduardo.serving.health import is_healthy

RECORD = "requeues.json"


def doubt(*, wanted: bool) -> str | None:
    """Why this job could not be requeued although it is `wanted`; None where nothing speaks against it."""
    if not wanted or "SLURM_JOB_ID" not in os.environ or shutil.which("scontrol"):
        return None
    return (
        "cluster.requeue=true, but there is no `scontrol` here (a container?): at its limit the job will save, end "
        "and not be requeued; submit it again then"
    )


def requeue_at_time_limit(console: Console, *, progress: bool) -> None:
    """Put this Slurm job back into the queue. Raises UserError outside Slurm and without progress."""
    job_id = _job()
    if not progress:
        raise UserError(
            f"job {job_id} is not requeued, because its time limit left no time for a step: ask for more with "
            "`sbatch --time`"
        )
    _requeue(console, job_id)


def requeue_without_servers(console: Console, run_dir: Path, *, step: int, limit: int) -> None:
    """The same when student or judge have left, at most `limit` times in a row without a new step.

    The run folder counts. Raises UserError outside Slurm and above the limit.
    """
    job_id, record = _job(), run_dir / RECORD
    last = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else None
    times = last["times"] + 1 if last is not None and last["step"] == step else 1
    if times > limit:
        raise UserError(
            f"job {job_id} is not requeued: its servers have left {times} times at step {step} "
            f"(cluster.max_requeues_without_step={limit}); look into the server jobs, then submit it again"
        )
    replace_file(record, json.dumps({"step": step, "times": times}).encode())
    _requeue(console, job_id)


def servers_that_left(wanted: ClassroomSettings, found: ClassroomSettings) -> list[str]:
    """Roles that a published server had when the run started, and that nobody has at its address now."""
    roles = []
    for role in ("student", "judge"):
        asked, got = getattr(wanted, role), getattr(found, role)
        key_file = got.api_key_file if got.api_key_file != asked.api_key_file else None
        is_there = is_healthy(got.base_url) and (key_file is None or Path(key_file).exists())
        if folder_of(asked) is not None and not is_there:
            roles.append(role)
    return roles


def _job() -> str:
    job_id = os.environ.get("SLURM_JOB_ID")
    if job_id is None:
        raise UserError("cluster.requeue=true, but this is no Slurm job: the same command continues the run")
    return job_id


def _requeue(console: Console, job_id: str) -> None:
    console.print(f"job {job_id} goes back into the queue and continues the run", highlight=False)
    requeue(job_id)
