"""Model servers as Slurm jobs: found through their endpoint files, gone with the job."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sandbox import SlurmSandbox, missing_programs
from tiny_model import write_tiny_model

from eduardo.serving.endpoint_file import PublishedEndpoint, locate

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_S = 500  # of a machine that does other things too

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing_programs()), reason=f"Slurm is not installed: {missing_programs()}"),
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmSandbox]:
    with SlurmSandbox(num_nodes=1) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "a model")  # with a space, which must survive


def test_a_server_job_is_found_and_ends_without_a_trace(
    slurm: SlurmSandbox, model: Path, tmp_path: Path
) -> None:
    endpoints = tmp_path / "endpoints"
    arguments = ["student", str(model), "servers=cpu", "servers.student.max_model_len=512"]
    arguments += [
        "servers.student.served_name=tiny",
        f"endpoints_dir={endpoints}",
        f"log_dir={tmp_path / 'logs'}",
    ]
    job = submit(slurm, tmp_path, *arguments)
    try:
        found = await_server(slurm, endpoints, job, tmp_path)
        assert found.model == "tiny" and found.source == str(model)
        servers = processes_of(model)
        assert servers
    finally:
        slurm.run("scancel", job)
    _, alive = psutil.wait_procs(servers, timeout=120)
    assert alive == []
    assert list(endpoints.iterdir()) == []


def submit(slurm: SlurmSandbox, folder: Path, *arguments: str) -> str:
    resources = ["--gpus-per-node=0", "--mem=0", f"--output={folder / 'job.out'}"]
    command = ["sbatch", "--parsable", *resources, "--export=ALL", "scripts/serve.sbatch", *arguments]
    environment = {**slurm.env, "EDUARDO_PYTHON": sys.executable, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def await_server(slurm: SlurmSandbox, endpoints: Path, job: str, folder: Path) -> PublishedEndpoint:
    deadline_s = time.monotonic() + LIMIT_S
    while not list(endpoints.glob("student-*.json")):
        said = (folder / "job.out").read_text() if (folder / "job.out").exists() else "no output yet"
        assert slurm.run("squeue", "--noheader", "--job", job), said
        assert time.monotonic() < deadline_s, said
        time.sleep(1)
    return locate(endpoints, "student", config_key="classroom.student")


def processes_of(model: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(model) in (process.info["cmdline"] or []) and "serve" in process.info["cmdline"]
    ]
