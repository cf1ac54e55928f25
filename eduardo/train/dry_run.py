"""What a training would be, without starting it: its folder, and what its ablation changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from eduardo.config import compose, validate

_ABLATION = "ablation"


def describe(config: DictConfig, overrides: Sequence[str], *, extra_dir: Path | None) -> str:
    """Of a resolved configuration and the overrides that it was composed from.

    Differences are those to the same overrides without an ablation, one line per key.
    """
    full = compose([o for o in overrides if o.partition("=")[0] != _ABLATION], extra_dir=extra_dir)
    full.run.name = config.run.name  # may be the time of day
    validate(full)
    chosen = _choice(overrides)
    changes = [f"  {key}: {old} → {new}" for key, old, new in _differences(full, config)]
    lines = [f"run folder {Path(config.run.dir).absolute()}", f"ablation={chosen}"]
    if changes:
        lines += ["differences from ablation=none:", *changes]
    else:
        lines.append("no difference from ablation=none")
    return "\n".join([*lines, "nothing was started"])


def _choice(overrides: Sequence[str]) -> str:
    chosen = [value for key, _, value in (o.partition("=") for o in overrides) if key == _ABLATION]
    return chosen[-1] if chosen else "none"


def _differences(full: DictConfig, other: DictConfig) -> Iterator[tuple[str, Any, Any]]:
    left, right = dict(_leaves(OmegaConf.to_container(full))), dict(_leaves(OmegaConf.to_container(other)))
    for key in sorted(left.keys() | right.keys()):
        old, new = left.get(key), right.get(key)
        if old != new:
            yield key, old, new


def _leaves(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, node
