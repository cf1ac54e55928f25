"""Model servers as Slurm jobs: found through their endpoint files, gone with the job."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sandbox import SlurmSandbox, missing_programs
from tiny_model import write_tiny_model

from eduardo.serving.endpoint_file import PublishedEndpoint, locate

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_S = 500  # of a machine that does other things too
USAGE_IS_SEEN_AFTER_S = 40

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


def test_a_server_job_comes_back_after_its_time_limit_unless_nobody_asked_it_anything(
    slurm: SlurmSandbox, model: Path, tmp_path: Path
) -> None:
    endpoints = tmp_path / "endpoints"
    arguments = ["student", str(model), "servers=cpu", "servers.student.max_model_len=512"]
    arguments += [f"endpoints_dir={endpoints}", f"log_dir={tmp_path / 'logs'}"]
    job = submit(slurm, tmp_path, *arguments)
    try:
        first = await_server(slurm, endpoints, job, tmp_path)
        ask(first, (endpoints / first.api_key_file).read_text().strip())
        time.sleep(USAGE_IS_SEEN_AFTER_S)
        slurm.run("scancel", "--batch", "--signal=USR1", job)
        await_output(tmp_path, f"job {job} goes back into the queue")
        await_state(slurm, job, "PENDING")
        assert list(endpoints.iterdir()) == []
        slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        second = await_server(slurm, endpoints, job, tmp_path)
        assert second.api_key_file != first.api_key_file
        slurm.run("scancel", "--batch", "--signal=USR1", job)
        await_output(tmp_path, f"job {job} is not requeued: nobody has asked its servers anything")
        await_state(slurm, job, "FAILED")
    finally:
        slurm.run("scancel", job)
    assert list(endpoints.iterdir()) == []


def ask(server: PublishedEndpoint, key: str) -> None:
    body = json.dumps({"model": server.model, "prompt": "a", "max_tokens": 2}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{server.base_url}/completions", body, headers)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as reply:
        assert reply.status == 200


def await_output(folder: Path, text: str) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while text not in (folder / "job.out").read_text():
        assert time.monotonic() < deadline_s, (folder / "job.out").read_text()
        time.sleep(1)


def await_state(slurm: SlurmSandbox, job: str, state: str) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while f"JobState={state}" not in (seen := slurm.run("scontrol", "show", "job", job, "--oneliner")):
        assert time.monotonic() < deadline_s, seen
        time.sleep(1)


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
