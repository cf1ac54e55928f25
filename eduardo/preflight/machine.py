"""The machine that a run starts on: free disk, clock, ports, package versions."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from packaging.version import InvalidVersion, Version

from eduardo.errors import UserError
from eduardo.planning import checkpoint_bytes
from eduardo.planning.memory import GIB
from eduardo.preflight.findings import CannotCheck, Finding, Subject, passed, warned
from eduardo.preflight.gpus import visible_gpus
from eduardo.preflight.memory import planned_run
from eduardo.versions import installed_version, unmet_requirements


def check_disk(subject: Subject) -> Finding:
    """Room for the checkpoints that are kept and the one that is written before an old one goes."""
    run, folder = planned_run(subject), _existing(Path(subject.settings.run.dir))
    one = checkpoint_bytes(run.model, run.layout) / GIB
    free = shutil.disk_usage(folder).free / GIB
    num_kept = subject.settings.run.keep_checkpoints + 1
    text = f"{_size(free)} free at {folder}; a checkpoint takes about {_size(one)}"
    if free < one and not subject.dry_run:  # a dry run may be on another machine than the run
        raise UserError(f"run.dir: {text}: free some, or put run.dir on another disk")
    if free < num_kept * one:
        return warned(
            "disk", f"{text}, {num_kept} are there at once", "free some, or lower run.keep_checkpoints"
        )
    return passed("disk", text)


def check_disk_clock(subject: Subject) -> Finding:
    """A shared disk stamps files with its server's time; programs compare that with this machine's."""
    folder = _existing(Path(subject.settings.run.dir))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".clock-") as file:
            file.write(b"\0")
            file.flush()
            skew_s = Path(file.name).stat().st_mtime - time.time()
    except OSError as error:
        raise UserError(f"run.dir: cannot write to {folder}: {error.strerror or error}") from None
    return clock_finding("clock of the disk", skew_s, subject.settings.preflight.max_clock_skew_s, folder)


def clock_finding(check: str, skew_s: float, limit_s: float, where: object) -> Finding:
    text = f"{where} is {abs(skew_s):.1f} s {'ahead of' if skew_s > 0 else 'behind'} this machine"
    if abs(skew_s) > limit_s:
        return warned(check, text, "let both follow a time server (chrony, NTP)")
    return passed(check, f"within {limit_s:g} s of this machine's")


def check_ports(subject: Subject) -> Finding:
    """A fixed port must be free, a Ray cluster that is named must answer."""
    said = []
    port = getattr(subject.settings.classroom.server, "port", 0)
    if port:
        _bind(port)
        said.append(f"{port} is free for the classroom's server")
    address = os.environ.get("RAY_ADDRESS", "")
    if address and address != "auto" and not subject.dry_run:
        _connect(address)
        said.append(f"Ray answers at {address}")
    return passed("ports", "; ".join(said) or "all are chosen by the system")


def check_packages(subject: Subject) -> Finding:
    extra = "train-cpu" if subject.config.trainer.device == "cpu" else "train-gpu"
    cpu_builds = [f"{name} {version}" for name, version in _cpu_builds()] if extra == "train-gpu" else []
    if cpu_builds and not subject.dry_run:  # a dry run may be on another machine than the run
        raise UserError(
            f"trainer.device=cuda, but built for CPUs here: {', '.join(cpu_builds)}; run `make setup-gpu`"
        )
    unmet = unmet_requirements(extra)
    if not unmet and not cpu_builds:
        return passed("packages", f"as {extra} asks")
    if not unmet:
        text = f"built for CPUs here: {', '.join(cpu_builds)}"
        return warned("packages", text, "run `make setup-gpu` on the machine that trains")
    missing = [f"{need.requirement} (installed: {need.installed or 'nothing'})" for need in unmet]
    return warned(
        "packages",
        f"{extra} asks for {', '.join(missing)}",
        f"run `make setup{'' if extra == 'train-cpu' else '-gpu'}` on the machine that trains",
    )


def check_driver(subject: Subject) -> Finding:
    """Old drivers refuse programs of a newer CUDA."""
    if subject.config.trainer.device == "cpu":
        raise CannotCheck("no GPU is used")
    found = [] if subject.dry_run else visible_gpus()
    if not found:
        raise CannotCheck("no NVIDIA GPU to look at" if not subject.dry_run else "dry run")
    driver, wanted = found[0].driver, subject.settings.preflight.min_nvidia_driver
    try:
        is_old = Version(driver) < Version(wanted)
    except InvalidVersion:
        raise CannotCheck(f"nvidia-smi does not tell the driver's version: {driver}") from None
    if is_old:
        return warned(
            "driver",
            f"NVIDIA driver {driver}; the pinned packages need {wanted} (preflight.min_nvidia_driver)",
            "ask the site for a newer one, or install NVIDIA's compatibility package",
        )
    return passed("driver", f"NVIDIA driver {driver}")


def _cpu_builds() -> Iterator[tuple[str, str]]:
    for name in ("torch", "vllm"):
        version = installed_version(name)
        if version is not None and version.partition("+")[2] == "cpu":
            yield name, version


def _bind(port: int) -> None:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise UserError(
                f"classroom.server.port={port} is in use: stop what holds it, or set 0 (any)"
            ) from None


def _connect(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise UserError(
            f"RAY_ADDRESS={address} cannot be reached ({error}): start Ray there, or unset RAY_ADDRESS"
        ) from None


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _size(gib: float) -> str:
    return f"{gib:.0f} GiB" if gib >= 10 else f"{1024 * gib:.0f} MiB" if gib < 1 else f"{gib:.1f} GiB"
