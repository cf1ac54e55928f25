"""A CPU platform for verl: gloo, shared-memory weight transfer, a logical Ray GPU.

Loaded through `VERL_USE_EXTERNAL_MODULES` and chosen by `VERL_PLATFORM=cpu`, verl's own plugin seam, in every
process of a run on a machine without an accelerator.
"""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


def _resident_bytes(*_: object, **__: object) -> int:
    return int(psutil.Process().memory_info().rss)


def _free_and_total_bytes(*_: object, **__: object) -> tuple[int, int]:
    memory = psutil.virtual_memory()
    return memory.available, memory.total


def _nothing(*_: object, **__: object) -> None:
    return None


class _CpuDevice(types.ModuleType):
    """`torch.cpu` with the names that verl calls on `torch.cuda`."""

    def __init__(self) -> None:
        super().__init__("eduardo_cpu_device")
        for name in ("empty_cache", "ipc_collect", "synchronize", "set_device", "reset_peak_memory_stats"):
            setattr(self, name, _nothing)
        for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
            setattr(self, name, _resident_bytes)
        for name in ("manual_seed", "manual_seed_all"):
            setattr(self, name, torch.manual_seed)
        self.is_available = lambda: True
        self.get_device_name = lambda *_: "CPU"
        self.device_count = lambda: 1
        self.current_device = lambda: "cpu"
        self.mem_get_info = _free_and_total_bytes
        self.get_rng_state = lambda *_: torch.get_rng_state()
        self.set_rng_state = lambda state, *_: torch.set_rng_state(state)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):  # type: ignore[misc]
    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuDevice()

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        return False  # never found by probing: only VERL_PLATFORM=cpu selects it

    def current_device(self) -> str:
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None: ...

    def synchronize(self, device_index: int | None = None) -> None: ...

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None: ...

    def empty_cache(self) -> None: ...

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None: ...

    def profiler_stop(self) -> None: ...

    def ray_resource_name(self) -> str:
        return "GPU"  # a logical one, granted by ray.init(num_gpus=...)

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False  # weights travel to vLLM through shared memory

    def rollout_env_vars(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name.startswith("VLLM_CPU_")}

    def cudart(self) -> None:
        return None
