"""Disk, clock, ports, versions and memory of the machine that a run would start on."""

import os
import socket
import stat
import time

import pytest
from preflight_subject import changed, gpu_subject

from eduardo.errors import UserError
from eduardo.planning import checkpoint_bytes
from eduardo.preflight import gpus as preflight_gpus
from eduardo.preflight import machine
from eduardo.preflight.findings import CannotCheck, Status, run_check
from eduardo.preflight.memory import check_memory, planned_run
from eduardo.versions import Unmet, unmet_requirements

pytest.importorskip("verl")  # its configuration files are composed, though it is never imported


@pytest.fixture
def subject(tmp_path):
    return gpu_subject(tmp_path)


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """Stands in for the driver's program: `gpus("81559, 0", ...)` are total and used MiB of each GPU."""

    def install(*rows):
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir()
        listed = [f"{index}, GPU-{index}abc, 580.65.06, {row}" for index, row in enumerate(rows)]
        program.write_text("#!/bin/sh\n" + "".join(f"echo '{row}'\n" for row in listed))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    return install


def disk_of(monkeypatch, num_checkpoints, subject):
    run = planned_run(subject)
    free = num_checkpoints * checkpoint_bytes(run.model, run.layout)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: machine.shutil._ntuple_diskusage(0, 0, free))


def test_room_for_all_checkpoints_passes(subject, monkeypatch):
    disk_of(monkeypatch, 3.1, subject)
    assert machine.check_disk(subject).status is Status.PASS


def test_room_for_some_checkpoints_is_a_warning(subject, monkeypatch):
    disk_of(monkeypatch, 2.9, subject)
    finding = machine.check_disk(subject)
    assert finding.status is Status.WARN
    assert "3 are there at once" in finding.text


def test_no_room_for_one_checkpoint_fails(subject, monkeypatch):
    disk_of(monkeypatch, 0.9, subject)
    with pytest.raises(UserError, match=r"a checkpoint takes about 51 GiB: free some"):
        machine.check_disk(subject)


def test_the_disks_own_clock_is_compared(subject, tmp_path, monkeypatch):
    assert machine.check_disk_clock(subject).status is Status.PASS
    now_s = time.time()
    monkeypatch.setattr(machine.time, "time", lambda: now_s - 60)
    finding = machine.check_disk_clock(subject)
    assert finding.status is Status.WARN
    assert "ahead of this machine" in finding.text
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_fails(subject):
    server = changed(subject.settings.classroom.server, port=0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        classroom = changed(subject.settings.classroom, server=changed(server, port=port))
        busy = type(subject)(subject.config, changed(subject.settings, classroom=classroom), dry_run=False)
        with pytest.raises(UserError, match=f"classroom.server.port={port} is in use"):
            machine.check_ports(busy)


def test_a_ray_cluster_that_is_not_there_fails(subject, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UserError, match=r"RAY_ADDRESS=127.0.0.1:1 cannot be reached"):
        machine.check_ports(subject)


def test_ports_that_the_system_chooses_pass(subject, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert machine.check_ports(subject).text == "all are chosen by the system"


def test_versions_are_compared_with_those_that_the_project_asks_for(monkeypatch):
    installed = {"verl": "0.8.0", "torch": "2.13.0+cu130"}
    monkeypatch.setattr("eduardo.versions.installed_version", lambda name: installed.get(name, "999"))
    unmet = unmet_requirements("train-gpu")
    assert Unmet("verl==0.9.1", "0.8.0") in unmet
    assert not any(
        need.requirement.startswith("torch==") for need in unmet
    )  # a local build is the same version


def test_other_versions_are_a_warning_with_the_command_that_repairs(subject, monkeypatch):
    for module in ("eduardo.versions", "eduardo.preflight.machine"):
        monkeypatch.setattr(f"{module}.installed_version", lambda name: None)
    finding = machine.check_packages(subject)
    assert finding.status is Status.WARN
    assert "vllm" in finding.text
    assert "make setup-gpu" in finding.todo


@pytest.fixture
def cpu_build(monkeypatch):
    """The pinned versions, with torch as `make setup` installs it."""
    pins = {"torch": "2.13.0+cpu", "vllm": "0.27.1", "verl": "0.9.1", "TransferQueue": "0.1.11"}
    for module in ("eduardo.versions", "eduardo.preflight.machine"):
        monkeypatch.setattr(f"{module}.installed_version", lambda name: pins.get(name, "999"))


def test_packages_for_cpus_are_no_packages_for_gpus(subject, tmp_path, cpu_build):
    with pytest.raises(UserError, match=r"built for CPUs here: torch 2\.13\.0\+cpu; run `make setup-gpu`"):
        machine.check_packages(subject)
    assert machine.check_packages(gpu_subject(tmp_path, dry_run=True)).status is Status.WARN


def test_a_driver_that_is_too_old_is_a_warning(subject, gpus, tmp_path):
    gpus(*["81559, 4"] * 4)
    assert machine.check_driver(subject).text == "NVIDIA driver 580.65.06"
    program = tmp_path / "bin" / "nvidia-smi"
    program.write_text(program.read_text().replace("580.65.06", "550.54.14"))
    finding = machine.check_driver(subject)
    assert finding.status is Status.WARN
    assert "NVIDIA driver 550.54.14; the pinned packages need 580.65.06" in finding.text


def test_memory_that_suffices_passes_with_what_is_really_there(subject, gpus):
    gpus(*["81559, 4"] * 4)
    finding = check_memory(subject)
    assert finding.status is Status.PASS
    assert "4 GPUs of 80 GiB here" in finding.text


def test_memory_that_is_short_fails_with_what_makes_it_smaller(subject, gpus):
    gpus(*["24576, 0"] * 4)
    with pytest.raises(UserError, match=r"estimated 51 GiB in the update.*use_fused_kernels"):
        check_memory(subject)


def test_memory_that_barely_suffices_is_a_warning(subject, gpus):
    memory = planned_run(subject).memory()
    gpus(*[f"{(memory.update + 1) * 1024:.0f}, 0"] * 4)
    finding = check_memory(subject)
    assert finding.status is Status.WARN
    assert finding.text.startswith("narrow")


def test_a_gpu_that_somebody_uses_is_a_warning_while_the_rest_suffices(subject, gpus):
    gpus("81559, 0", "81559, 10000", "81559, 0", "81559, 0")
    finding = check_memory(subject)
    assert finding.status is Status.WARN
    assert "another program holds 9.8 GiB" in finding.text


@pytest.mark.parametrize("row", ["24576, 2000", "81559, 40000"])
def test_a_gpu_with_too_little_left_fails_whoever_holds_the_rest(subject, gpus, row):
    gpus("81559, 0", row, "81559, 0", "81559, 0")
    with pytest.raises(UserError, match=r"estimated 51 GiB.*another program holds"):
        check_memory(subject)


def test_only_the_gpus_that_the_run_sees_count(subject, gpus, monkeypatch):
    gpus("24576, 20000", *["81559, 4"] * 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2,GPU-3,4")
    assert check_memory(subject).status is Status.PASS
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with pytest.raises(UserError, match=r"n_gpus_per_node=4, but this machine has 2"):
        check_memory(subject)


@pytest.mark.parametrize(
    ("row", "visible"), [("[N/A], [N/A]", "0,1,2,3"), ("81559, 4", "0,1,2,9"), ("81559, 4", "MIG-1,1,2,3")]
)
def test_gpus_that_cannot_be_looked_at_are_skipped(subject, gpus, monkeypatch, row, visible):
    gpus(*[row] * 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert run_check("memory", check_memory, subject).status is Status.SKIPPED


def test_a_driver_that_hangs_and_gpus_of_another_make_are_skipped(subject, gpus, tmp_path, monkeypatch):
    gpus("81559, 4")
    monkeypatch.setattr(preflight_gpus, "_TIMEOUT_S", 0.2)
    (tmp_path / "bin" / "nvidia-smi").write_text("#!/bin/sh\nexec sleep 20\n")
    assert "did not answer" in run_check("memory", check_memory, subject).text
    (tmp_path / "bin" / "nvidia-smi").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(preflight_gpus, "_AMD_DRIVER", tmp_path)
    assert "only NVIDIA" in run_check("memory", check_memory, subject).text


def test_a_dry_run_does_not_ask_the_login_nodes_gpu(tmp_path, gpus):
    gpus("4096, 3000")
    finding = check_memory(gpu_subject(tmp_path, dry_run=True))
    assert finding.status is Status.PASS
    assert "planning.gpu.memory_gib" in finding.text


def test_fewer_gpus_than_asked_for_fail(subject, gpus):
    gpus("81559, 0")
    with pytest.raises(UserError, match=r"n_gpus_per_node=4, but this machine has 1"):
        check_memory(subject)


def test_no_gpu_at_all_fails_but_not_in_a_dry_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(UserError, match="has no NVIDIA GPU"):
        check_memory(gpu_subject(tmp_path))
    dry = check_memory(gpu_subject(tmp_path, dry_run=True))
    assert dry.status is Status.PASS
    assert "planning.gpu.memory_gib" in dry.text


def test_a_dry_run_only_warns_since_the_run_may_be_elsewhere(tmp_path, monkeypatch):
    planning = gpu_subject(tmp_path).settings.planning
    small = changed(planning, gpu=changed(planning.gpu, memory_gib=24.0))
    monkeypatch.setenv("PATH", str(tmp_path))
    subject = gpu_subject(tmp_path, dry_run=True, planning=small)
    memory = check_memory(subject)
    assert memory.status is Status.WARN
    assert "or set planning.gpu.memory_gib to what yours have" in memory.todo
    disk_of(monkeypatch, 0.9, subject)
    assert machine.check_disk(subject).status is Status.WARN


def test_a_model_of_unknown_shape_is_skipped_with_the_reason(subject, tmp_path):
    planning = changed(subject.settings.planning, architecture=None)
    unknown = gpu_subject(tmp_path, planning=planning)
    finding = run_check("memory", check_memory, unknown)
    assert finding.status is Status.SKIPPED
    assert "planning.architecture" in finding.text
    with pytest.raises(CannotCheck):
        machine.check_disk(unknown)


def test_a_finding_splits_what_is_wrong_from_what_to_do(subject):
    def check(_):
        raise UserError("data.train_files: a.parquet does not exist; write it")

    finding = run_check("training data", check, subject)
    assert (finding.status, finding.text, finding.todo) == (
        Status.FAIL,
        "data.train_files: a.parquet does not exist",
        "write it",
    )
