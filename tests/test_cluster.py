"""Bringing up Ray under Slurm: what needs neither Ray nor Slurm. The whole of it is in tests/slurm."""

import os
import signal
import stat
import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from eduardo.cluster import Job, NodeResources, current_job, new_token_env, sigterm_blocked
from eduardo.cluster.network import free_ports, is_listening
from eduardo.cluster.ray_commands import head_command, srun_command, worker_command
from eduardo.config import ClusterSettings
from eduardo.errors import UserError
from eduardo.serving.address import own_address
from eduardo.train.placement import Placement
from eduardo.train.process import run_environment
from eduardo.train.run_folder import RunFolder

IN_JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "gpu[01-03]", "SLURMD_NODENAME": "gpu01"}
SETTINGS = ClusterSettings(
    join_timeout_s=10, head_address=None, temp_dir="/tmp", requeue=False, max_requeues_without_step=3
)
RESOURCES = NodeResources(num_gpus=4, num_cpus=None)


@pytest.fixture
def scontrol(tmp_path, monkeypatch):
    """A `scontrol` that answers as Slurm's does; returns what it was asked."""
    asked = tmp_path / "asked"
    program = tmp_path / "scontrol"
    hostnames, node = "printf 'gpu01\\ngpu02\\ngpu03\\n'", 'echo "NodeName=$3 NodeAddr=127.0.0.1 Port=1"'
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {asked}\ncase $2 in hostnames) {hostnames};; node) {node};; esac\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return asked


@pytest.fixture
def no_slurm(monkeypatch):
    for name in (*IN_JOB, "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


def run_config(num_nodes):
    return OmegaConf.create(
        {
            "trainer": {"nnodes": num_nodes, "n_gpus_per_node": 4},
            "ray_kwargs": {"ray_init": {"num_cpus": None}},
        }
    )


def test_there_is_no_job_outside_slurm(no_slurm):
    assert current_job({}) is None


def test_a_job_knows_its_nodes_and_the_one_it_is_on(scontrol):
    job = current_job({**IN_JOB, "SLURMD_NODENAME": "gpu02"})
    assert job == Job("7", ("gpu01", "gpu02", "gpu03"), "gpu02")
    assert job.others(3) == ("gpu01", "gpu03")
    assert job.others(2) == ("gpu01",)


def test_too_few_nodes_are_an_error_with_the_way_out(scontrol):
    with pytest.raises(UserError, match=r"trainer\.nnodes=4, but Slurm job 7 has 3 .*sbatch --nodes=4"):
        current_job(IN_JOB).others(4)


def test_a_shell_of_the_login_node_is_no_place_to_start(scontrol):
    environment = {k: v for k, v in IN_JOB.items() if k != "SLURMD_NODENAME"}
    with pytest.raises(UserError, match="not started there"):
        current_job(environment)


def test_one_training_is_not_started_by_every_task(scontrol):
    with pytest.raises(UserError, match="started this command 3 times"):
        current_job({**IN_JOB, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "3"})


def test_several_nodes_need_slurm_or_a_running_ray(no_slurm):
    with pytest.raises(UserError, match=r"trainer\.nnodes=2 needs a Slurm job"):
        Placement(run_config(2), SETTINGS)


def test_one_node_and_a_running_ray_need_no_slurm(no_slurm, monkeypatch):
    assert Placement(run_config(1), SETTINGS).host == "127.0.0.1"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert Placement(run_config(2), SETTINGS).ray_cluster({}, None) is None


@pytest.mark.parametrize(
    ("kind", "num_nodes", "is_refused"),
    [
        ("simulated", 2, True),
        ("vllm", 2, True),
        ("vllm_colocated", 1, True),
        ("none", 2, False),
        ("vllm", 1, False),
    ],
)
def test_a_ray_that_is_there_takes_no_servers_that_its_nodes_cannot_reach(
    no_slurm, monkeypatch, kind, num_nodes, is_refused
):
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    config = run_config(num_nodes)
    config.classroom = {"server": {"kind": kind}}
    if is_refused:
        with pytest.raises(UserError, match=f"server.kind={kind} does not go with RAY_ADDRESS"):
            Placement(config, SETTINGS)
    else:
        Placement(config, SETTINGS)


def test_the_head_is_found_on_the_route_to_the_next_node(no_slurm, scontrol, monkeypatch):
    for name, value in IN_JOB.items():
        monkeypatch.setenv(name, value)
    assert Placement(run_config(2), SETTINGS).host == own_address()
    assert "show node gpu02 --oneliner" in scontrol.read_text()
    stated = SETTINGS.model_copy(update={"head_address": "10.1.2.3"})
    assert Placement(run_config(2), stated).host == "10.1.2.3"


def test_an_unknown_name_does_not_keep_the_head_from_an_address():
    assert own_address("no-such-node.invalid") == own_address()


def test_the_token_is_new_each_time_and_on_no_command_line():
    first, second = new_token_env(), new_token_env()
    assert first["RAY_AUTH_MODE"] == "token"
    assert first["RAY_AUTH_TOKEN"] != second["RAY_AUTH_TOKEN"]
    head = head_command(address="10.0.0.1", port=6379, name="a", temp_dir="/tmp/x", resources=RESOURCES)
    worker = worker_command(head="10.0.0.1:6379", name="b", resources=RESOURCES)
    assert not [word for word in [*head, *worker] if "token" in word]
    assert "--num-gpus=4" in head and "--num-gpus=4" in worker
    assert not [word for word in head if word.startswith("--num-cpus")]


def test_a_run_of_ones_own_has_a_token_and_a_foreign_ray_keeps_its_own(no_slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the cluster")
    assert run_environment(RunFolder(tmp_path), {})["RAY_AUTH_TOKEN"] != "of the cluster"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert run_environment(RunFolder(tmp_path), {})["RAY_AUTH_TOKEN"] == "of the cluster"


def test_srun_starts_one_task_on_each_named_node():
    command = srun_command(("n2", "n3"), ["python", "-m", "x"])
    assert {"--nodes=2", "--ntasks=2", "--nodelist=n2,n3", "--export=ALL"} <= set(command)
    assert command[-3:] == ["python", "-m", "x"]


def test_free_ports_differ_and_nobody_listens():
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert not is_listening("127.0.0.1", ports[0], timeout_s=1)


def test_a_blocked_sigterm_does_not_end_a_process_or_its_children():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(input())'])"
    with sigterm_blocked():
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.send_signal(signal.SIGTERM)
    said, _ = child.communicate(b"alive\n", timeout=50)
    assert said == b"alive\n"
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_multiprocessing_does_not_unblock_sigterm():
    code = (
        "import signal\n"
        "from multiprocessing import resource_tracker\n"
        "from eduardo.cluster.signals import keep_sigterm_blocked\n"
        "keep_sigterm_blocked()\n"
        "resource_tracker.ensure_running()\n"
        "print(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()))\n"
    )
    with sigterm_blocked():
        said = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
        )
    assert said.stdout.strip() == "True"
