"""The NVIDIA GPUs that a process on this machine would see, as the driver's own program tells."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from eduardo.preflight.findings import CannotCheck

_FIELDS = "index,uuid,driver_version,memory.total,memory.used"
_QUERY = ["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"]
_TIMEOUT_S = 30
_AMD_DRIVER = Path("/dev/kfd")
MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class Gpu:
    index: str
    uuid: str
    driver: str
    total_gib: float
    used_gib: float

    @property
    def free_gib(self) -> float:
        return self.total_gib - self.used_gib


def visible_gpus() -> list[Gpu]:
    """In the order of CUDA_VISIBLE_DEVICES; empty where there is no NVIDIA GPU.

    Raises CannotCheck where there are GPUs that cannot be looked at.
    """
    listed = _listed()
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return listed
    return [_named(name.strip(), listed) for name in wanted.split(",") if name.strip()]


def _named(name: str, listed: list[Gpu]) -> Gpu:
    """CUDA takes an index, or the beginning of a UUID."""
    found = [
        gpu for gpu in listed if gpu.index == name or (name.startswith("GPU-") and gpu.uuid.startswith(name))
    ]
    if len(found) != 1:
        raise CannotCheck(f"CUDA_VISIBLE_DEVICES names {name}, which nvidia-smi does not list")
    return found[0]


def _listed() -> list[Gpu]:
    if shutil.which(_QUERY[0]) is None:
        if _AMD_DRIVER.exists():
            raise CannotCheck("only NVIDIA GPUs are looked at")
        return []
    try:
        done = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise CannotCheck(f"nvidia-smi did not answer within {_TIMEOUT_S} s") from None
    if done.returncode != 0:
        return []
    return [_read(line) for line in done.stdout.splitlines() if line.strip()]


def _read(line: str) -> Gpu:
    try:
        index, uuid, driver, total, used = (field.strip() for field in line.split(","))
        return Gpu(index, uuid, driver, float(total) / MIB_PER_GIB, float(used) / MIB_PER_GIB)
    except ValueError:
        raise CannotCheck(f"nvidia-smi does not tell a GPU's memory: {line.strip()}") from None
