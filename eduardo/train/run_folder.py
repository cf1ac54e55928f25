"""The folder of a run: what it was started with, and where its parts lie."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from eduardo.config import TrainSettings
from eduardo.errors import UserError
from eduardo.files import file_sha256, replace_file
from eduardo.versions import installed_version

PACKAGES = (
    "eduardo",
    "verl",
    "vllm",
    "torch",
    "ray",
    "transformers",
    "TransferQueue",
    "tensordict",
    "math-verify",
)


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def log(self) -> Path:
        return self.path / "train.log"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def prepare(self, config: DictConfig, settings: TrainSettings) -> None:
        """Create the folder and write what the run was started with. Raises UserError."""
        if settings.run.resume == "never" and self.metrics.exists():
            raise UserError(
                f"run.dir: {self.path} already holds a run; name another folder, or continue it with run.resume=auto"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.status.unlink(missing_ok=True)
            replace_file(self.config, OmegaConf.to_yaml(config).encode())
            self.write_manifest(
                seed=settings.run.seed,
                data_files=[*config.data.train_files, *config.data.val_files],
                model=str(config.actor_rollout_ref.model.path),
            )
        except OSError as error:
            raise UserError(f"run.dir: cannot write to {self.path}: {error.strerror or error}") from None

    def write_manifest(self, *, seed: int, data_files: Sequence[str], model: str) -> None:
        """What the run is made of, with the record of its earlier starts."""
        manifest = {
            **self._history(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": sys.argv,
            "seed": seed,
            "git": _git_revision(),
            "data": {name: file_sha256(Path(name)) for name in data_files},
            "model": model,
            "packages": {name: installed_version(name) for name in PACKAGES},
            "python": platform.python_version(),
            "machine": platform.platform(),
        }
        replace_file(self.path / "manifest.json", json.dumps(manifest, indent=1).encode())

    def _history(self) -> dict[str, Any]:
        """When the run was started before: a resumed run keeps the record of its earlier parts."""
        path = self.path / "manifest.json"
        if not path.is_file():
            return {"earlier_starts": []}
        earlier = json.loads(path.read_text(encoding="utf-8"))
        starts = [*earlier.get("earlier_starts", []), {"started": earlier["started"], "git": earlier["git"]}]
        return {"earlier_starts": starts}


def _git_revision() -> str | None:
    """Commit of the checkout, with a plus when it has local changes; None outside a checkout."""
    source = Path(__file__).resolve().parent
    command = ["git", "-C", str(source), "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
