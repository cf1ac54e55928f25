"""verl's own check of the configuration and the tokenizer's self-check, in a process of their own.

Importing verl takes seconds, which pass while this process checks other things.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from omegaconf import OmegaConf

from eduardo.errors import UserError
from eduardo.preflight.findings import Finding, Status, Subject, failed, passed, skipped, warned

CONFIGURATION, TEMPLATE = "verl's configuration", "tokenizer and template"


class OwnProcess:
    """Runs while the block runs; `findings()` waits for it."""

    def __init__(self, subject: Subject) -> None:
        self._timeout_s = subject.settings.preflight.verl_timeout_s
        self._folder = tempfile.TemporaryDirectory(prefix="eduardo-preflight-")
        folder = Path(self._folder.name)
        self._result, self._log = folder / "result.json", folder / "log"
        config = folder / "config.yaml"
        config.write_text(OmegaConf.to_yaml(subject.config), encoding="utf-8")
        command = [sys.executable, "-m", "eduardo.verl_adapter.self_check", str(config), str(self._result)]
        if subject.dry_run:
            command.append("--offline")
        with self._log.open("wb") as log:
            # No GPU: nothing is computed here, and a context on one would take memory from the run.
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **subject.settings.run.env, "CUDA_VISIBLE_DEVICES": ""},
            )

    def findings(self) -> list[Finding]:
        try:
            self._child.wait(self._timeout_s)
        except subprocess.TimeoutExpired:
            text = f"no answer within {self._timeout_s:g} s"
            return [warned(CONFIGURATION, text, "raise preflight.verl_timeout_s if the disk is slow")]
        if not self._result.is_file():
            last = (self._log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
            return [
                failed(CONFIGURATION, UserError(f"verl cannot be imported ({last}); repair the environment"))
            ]
        return [_finding(**entry) for entry in json.loads(self._result.read_text(encoding="utf-8"))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        self._folder.cleanup()


def _finding(check: str, status: str, text: str) -> Finding:
    if status == Status.FAIL:
        return failed(check, UserError(text))
    return passed(check, text) if status == Status.PASS else skipped(check, text)
