"""What holds for every test: nothing leaves this machine, and no process outlives the run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psutil
import pytest
from hypothesis import settings

# Before any test module imports these libraries: the test run shares the cores with servers that it starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost,::1"

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("dev", deadline=None, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session", autouse=True)
def _no_process_is_left_behind() -> Iterator[None]:
    yield
    _, alive = psutil.wait_procs(psutil.Process().children(recursive=True), timeout=10)
    alive = [p for p in alive if p.is_running() and "resource_tracker" not in " ".join(p.cmdline())]
    names = [" ".join(p.cmdline())[:120] for p in alive]
    for process in alive:
        process.kill()
    assert not names, f"tests left processes behind: {names}"
