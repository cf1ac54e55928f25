"""`python -m eduardo.view` as a process of its own, for tests over HTTP and in a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_viewer(*paths: Path, cache_dir: Path) -> Iterator[str]:
    """Yields the address that the command prints, token included."""
    command = [sys.executable, "-m", "eduardo.view", *map(str, paths), "--cache-dir", str(cache_dir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("viewer: ").strip()
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()
