"""Training as a job of a real Slurm cluster with two nodes on this machine.

One job goes through what a job goes through: it trains over both nodes, meets its time limit, is requeued by itself,
continues, and is cancelled. Starting verl takes minutes, so the tests share it.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from sandbox import SlurmSandbox, missing_programs
from tiny_run import SMALL, inputs, make_workplace

from eduardo.classroom import process as classroom_process
from eduardo.cluster.ray_commands import srun_command
from eduardo.serving.endpoint_file import PublishedEndpoint, private_key_file, published
from eduardo.verl_adapter.checkpoints import fault_of
from eduardo.verl_adapter.journal import read_journal

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(
        bool(missing_programs()),
        reason=f"no {', '.join(missing_programs())} here: apt-get install slurm-wlm munge",
    ),
]

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 1200  # for a machine that does other things too
TWO_NODES = [
    "hardware=cpu",
    "trainer.nnodes=2",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=2",
    "preflight.enabled=false",
]
ENDLESS = [
    "trainer.total_epochs=10000",
    "trainer.total_training_steps=10000",
    "trainer.test_freq=100000",
    "trainer.save_freq=100000",
]


@pytest.fixture(scope="module")
def slurm():
    with SlurmSandbox() as sandbox:
        sandbox.env.update(EDUARDO_PYTHON=sys.executable, PYTHONPATH=str(REPOSITORY))
        yield sandbox


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm")
    make_workplace(folder, num_train=12)
    return folder


def submit(slurm, script, *arguments, options=(), output):
    """Number of the job."""
    on_this_machine = ["--gpus-per-node=0", "--mem=1000", "--time=60", f"--output={output}"]
    command = ["sbatch", "--parsable", *on_this_machine, *options, f"scripts/{script}", *arguments]
    return slurm.run(*command, cwd=REPOSITORY)


def wait_until(condition, job=None):
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, job and job.said()
        time.sleep(1)


class Job:
    def __init__(self, slurm, number, folder, output):
        self.slurm, self.number, self.folder, self.output = slurm, number, folder, output

    @property
    def state(self):
        """Empty when Slurm has forgotten the job."""
        return self._field("JobState")

    @property
    def num_restarts(self):
        return int(self._field("Restarts"))

    def _field(self, name):
        line = self.slurm.run("scontrol", "show", "job", self.number, "--oneliner")
        return dict(part.split("=", 1) for part in line.split() if "=" in part)[name]

    def has_step(self, step):
        assert self.state in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"), self.said()
        return any(line["step"] >= step for line in read_journal(self.folder / "metrics.jsonl"))

    def processes(self):
        """All of the job on this machine, the nodes' own supervisors apart."""
        found = []
        for process in psutil.process_iter():
            try:
                environment = process.environ()
                ours = environment.get("SLURM_CONF") == self.slurm.env["SLURM_CONF"]
                if ours and environment.get("SLURM_JOB_ID") == self.number:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def saved(self):
        """Step of each complete checkpoint."""
        folders = (self.folder / "checkpoints").glob("global_step_*")
        return {int(f.name.rpartition("_")[2]): f for f in folders if fault_of(f) is None}

    def said(self):
        log = self.folder / "train.log"
        tail = log.read_text(errors="replace")[-4000:] if log.exists() else ""
        return (self.output.read_text() if self.output.exists() else "") + tail


def snapshot(job):
    """What is left of a job that just ended or went back into the queue."""
    return SimpleNamespace(
        state=job.state,
        left=[" ".join(p.cmdline())[:120] for p in job.processes()],
        saved=job.saved(),
        metrics=read_journal(job.folder / "metrics.jsonl"),
        said=job.said(),
    )


@pytest.fixture(scope="module")
def life(slurm, workplace):
    """The job's life: two steps, its time limit, the queue, one more step, scancel."""
    folder, output = workplace / "run", workplace / "job.out"
    arguments = [f"run.dir={folder}", *SMALL, *TWO_NODES, *ENDLESS, *inputs(workplace)]
    number = submit(slurm, "train.sbatch", *arguments, options=["--signal=B:USR1@60"], output=output)
    job = Job(slurm, number, folder, output)
    seen = SimpleNamespace(job=job)
    try:
        wait_until(lambda: job.has_step(2), job)
        seen.environments = [process.environ() for process in job.processes()]
        seen.ray = ask_ray(seen.environments)
        minutes = _elapsed_minutes(slurm, number)
        slurm.run("scontrol", "update", f"JobId={number}", f"TimeLimit={minutes + 2}")
        wait_until(lambda: job.num_restarts == 1 and job.state == "PENDING", job)
        seen.at_time_limit = snapshot(job)
        wait_until(lambda: job.state == "RUNNING", job)
        slurm.run("scontrol", "update", f"JobId={number}", "TimeLimit=60")
        wait_until(lambda: job.has_step(max(seen.at_time_limit.saved) + 1), job)
        slurm.run("scancel", number)
        wait_until(lambda: job.state == "CANCELLED", job)
        seen.cancelled = snapshot(job)
    finally:
        slurm.run("scancel", number)
    return seen


@pytest.fixture(scope="module")
def finished(slurm, workplace, life):
    """The same run in another job, with one step left."""
    last = max(life.cancelled.saved) + 1
    output = workplace / "last.out"
    arguments = [f"run.dir={life.job.folder}", *SMALL, *TWO_NODES, *ENDLESS, *inputs(workplace)]
    number = submit(slurm, "train.sbatch", *arguments, f"trainer.total_training_steps={last}", output=output)
    job = Job(slurm, number, life.job.folder, output)
    wait_until(lambda: job.state in ("COMPLETED", "FAILED"), job)
    return SimpleNamespace(**vars(snapshot(job)), last=last)


def _elapsed_minutes(slurm, number):
    elapsed = slurm.run("squeue", "--noheader", "--format=%M", "--jobs", number)
    hours, minutes, _ = ([0, 0] + [int(part) for part in elapsed.split(":")])[-3:]
    return 60 * hours + minutes


def ask_ray(environments):
    """Names of the nodes, with the run's token; what is said to a client without it."""
    inside = next(e for e in environments if "RAY_ADDRESS" in e)
    host, port = inside["RAY_ADDRESS"].split(":")
    command = [sys.executable, "-m", "eduardo.cluster.roll_call", host, port, "n1", "n2"]
    with_token = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": inside["RAY_AUTH_TOKEN"]}
    nodes = subprocess.run(command, env=with_token, capture_output=True, text=True, timeout=300, check=True)
    return SimpleNamespace(nodes=nodes.stdout.split(), token=inside["RAY_AUTH_TOKEN"])


def test_it_trains_over_two_ray_nodes(life):
    assert sorted(life.ray.nodes) == ["n1", "n2"]
    ranks = max(life.at_time_limit.saved.items())[1] / "actor"
    assert (ranks / "model_world_size_2_rank_0.pt").is_file()
    assert (ranks / "model_world_size_2_rank_1.pt").is_file()
    for line in life.at_time_limit.metrics:
        assert line["dialogue/void_share"] == 0
        assert line["logprob/abs_diff_max"] < 1e-3


def test_the_time_limit_leaves_a_checkpoint_and_no_process(life):
    assert life.at_time_limit.saved
    assert max(life.at_time_limit.saved) == life.at_time_limit.metrics[-1]["step"] >= 2
    assert life.at_time_limit.left == []
    assert "goes back into the queue" in life.at_time_limit.said


def test_the_requeued_job_continues_its_run(life):
    steps = [line["step"] for line in life.cancelled.metrics]
    assert steps == list(range(1, len(steps) + 1))
    assert steps[-1] > max(life.at_time_limit.saved)
    manifest = json.loads((life.job.folder / "manifest.json").read_text())
    assert len(manifest["earlier_starts"]) == 1


def test_scancel_leaves_a_checkpoint_and_no_process(life):
    assert max(life.cancelled.saved) == life.cancelled.metrics[-1]["step"]
    assert life.cancelled.left == []
    assert "stopped after step" in life.cancelled.said


def test_the_same_command_in_another_job_finishes_the_run(finished):
    assert finished.state == "COMPLETED", finished.said
    assert f"finished after step {finished.last}" in finished.said
    assert finished.last in finished.saved
    assert finished.left == []


def test_the_token_is_in_the_environment_and_nowhere_else(life):
    files = [path for path in life.job.folder.rglob("*") if path.is_file()]
    assert not [path for path in [*files, life.job.output] if life.ray.token.encode() in path.read_bytes()]
    assert all(e["RAY_AUTH_TOKEN"] == life.ray.token for e in life.environments if "RAY_ADDRESS" in e)


def test_a_node_that_hangs_is_named_within_the_limit(slurm, workplace):
    folder, output = workplace / "hanging", workplace / "hanging.out"
    arguments = [f"run.dir={folder}", *SMALL, *TWO_NODES, *inputs(workplace), "cluster.join_timeout_s=20"]
    slurm.freeze("n2")
    try:
        number = submit(slurm, "train.sbatch", *arguments, output=output)
        job = Job(slurm, number, folder, output)
        wait_until(lambda: "error:" in job.said(), job)
        wait_until(lambda: job.processes() == [], job)
    finally:
        slurm.thaw("n2")
    wait_until(lambda: job.state == "FAILED", job)
    last_line = output.read_text().strip().splitlines()[-1]
    assert "node n2 did not join Ray within 20 s (cluster.join_timeout_s)" in last_line


def test_the_ablations_are_three_configurations(slurm, tmp_path):
    output = tmp_path / "ablation-%a.out"
    options = ["--array=1-3", "--nodes=1", "--wait"]
    submit(slurm, "ablations.sbatch", "--dry-run", options=options, output=output)
    said = [(tmp_path / f"ablation-{index}.out").read_text() for index in (1, 2, 3)]
    assert "recipe.post_test.mask_tutor: True → False" in said[0]
    assert "recipe.reward.gate: hard → off" in said[1]
    assert "recipe.post_test.item: transfer → source" in said[2]
    assert len({text.splitlines()[0] for text in said}) == 3  # a folder each
    assert all(text.count("→") == 1 for text in said)


def test_arguments_with_spaces_and_quotes_survive(slurm, tmp_path):
    output = tmp_path / "quotes.out"
    folder = tmp_path / 'one\'s "own" $HOME run'
    quoted = str(folder).replace('"', '\\"')
    submit(
        slurm,
        "train.sbatch",
        f'run.dir="{quoted}"',
        "--dry-run",
        options=["--nodes=1", "--wait"],
        output=output,
    )
    assert output.read_text().splitlines()[0] == f"run folder {folder}"


@pytest.mark.parametrize("export", ["NONE", "PATH"])
def test_tasks_of_a_job_without_the_users_environment_get_the_runs(slurm, tmp_path, export):
    """As Ray's token reaches the other nodes."""
    srun = shlex.join(srun_command(("n1", "n2"), ["printenv", "RAY_AUTH_TOKEN"]))
    job = f"export SLURM_CONF={slurm.env['SLURM_CONF']} RAY_AUTH_TOKEN=secret\n{srun}"
    options = [f"--export={export}", "--nodes=2", "--mem=100", "--time=5", "--wait"]
    slurm.run("sbatch", *options, f"--output={tmp_path / 'out'}", f"--wrap={job}", cwd=tmp_path)
    assert (tmp_path / "out").read_text().splitlines()[-2:] == ["secret", "secret"]


def test_more_nodes_than_the_job_has_are_refused(slurm, workplace):
    output = workplace / "few.out"
    arguments = [*SMALL, *TWO_NODES, *inputs(workplace), "trainer.nnodes=3", f"run.dir={workplace / 'few'}"]
    arguments += ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1", "actor_rollout_ref.rollout.n=3"]
    number = submit(slurm, "train.sbatch", *arguments, output=output)
    job = Job(slurm, number, workplace / "few", output)
    wait_until(lambda: job.state == "FAILED", job)
    assert f"trainer.nnodes=3, but Slurm job {number} has 2 (n1, n2)" in output.read_text()


@contextmanager
def published_classroom(folder):
    """A simulated student and judge that are found as those of `eduardo serve` are, as long as the block runs."""
    with classroom_process.start() as server:
        port = int(server.base_url.removesuffix("/v1").rpartition(":")[2])
        facts = {"host": "127.0.0.1", "port": port, "source": "simulated", "max_model_len": 32768}
        facts |= {"pid": os.getpid(), "started": "2026-01-01T00:00:00+00:00"}
        with private_key_file(folder, f"{port}.key", "secret") as key:
            both = [
                PublishedEndpoint(role=role, model=f"simulated-{role}", api_key_file=key.name, **facts)
                for role in ("student", "judge")
            ]
            with published(folder, both[0]), published(folder, both[1]):
                yield


def steps_without_voids(folder):
    return [
        line["step"] for line in read_journal(folder / "metrics.jsonl") if line["dialogue/void_share"] == 0
    ]


def test_a_run_whose_servers_leave_waits_in_the_queue_and_continues_with_others(slurm, workplace, tmp_path):
    folder, output, endpoints = workplace / "servers", workplace / "servers.out", tmp_path / "endpoints"
    arguments = [f"run.dir={folder}", *SMALL, *ENDLESS, *inputs(workplace), "preflight.enabled=false"]
    arguments += ["classroom.server.kind=none"]
    for role in ("student", "judge"):
        arguments += [
            f"classroom.{role}.base_url=published:{endpoints}",
            f"classroom.{role}.retry_budget_s=3",
        ]
    number = submit(slurm, "train.sbatch", *arguments, options=["--nodes=1"], output=output)
    job = Job(slurm, number, folder, output)
    try:
        with published_classroom(endpoints):
            wait_until(lambda: job.has_step(1), job)
        wait_until(lambda: job.num_restarts == 1 and job.state == "PENDING", job)
        left = snapshot(job)
        last = max(steps_without_voids(folder))
        assert left.left == [] and max(left.saved) == last
        assert "gone: student and judge" in left.said
        slurm.run("scontrol", "update", f"JobId={number}", "StartTime=now")
        wait_until(lambda: job.said().count("looking for student and judge, at most 7200 s") == 2, job)
        with published_classroom(endpoints):
            wait_until(lambda: last + 1 in steps_without_voids(folder), job)
            slurm.run("scancel", number)
            wait_until(lambda: job.state == "CANCELLED", job)
    finally:
        slurm.run("scancel", number)
