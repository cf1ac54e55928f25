"""vLLM on CPU with weights that can be updated.

vLLM-CPU packs linear weights into oneDNN buffers and drops the parameter, after which a weight update fails and
the run hangs. Both packers are therefore switched off in vLLM's worker processes, so that vLLM takes its own
plain `F.linear` path and keeps every parameter. Imported by vLLM as the worker extension's module.
"""

from __future__ import annotations

import os
from typing import Any

import ray
import vllm._custom_ops as vllm_ops
from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

os.environ["VLLM_CPU_SGL_KERNEL"] = "0"
vllm_ops._supports_onednn = False  # noqa: SLF001  vLLM has no public switch


class CpuWorkerExtension(vLLMColocateWorkerExtension):  # type: ignore[misc]
    """verl's worker extension; importing it from this module is what switches packing off."""


def load_cpu_replica() -> type[Any]:
    """verl's vLLM replica with servers whose workers use `CpuWorkerExtension`."""
    from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica

    class CpuVllmServer(vLLMHttpServer):  # type: ignore[misc]
        def _get_worker_extension_cls(self) -> str:
            return f"{__name__}.CpuWorkerExtension"

    class CpuVllmReplica(vLLMReplica):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.server_class = ray.remote(CpuVllmServer)

    return CpuVllmReplica
