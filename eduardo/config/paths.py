"""Paths of a run as every process sees them: training processes may work in other folders."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig


def make_absolute(config: DictConfig, base: Path) -> None:
    """Makes the local paths of a resolved configuration absolute, relative ones counting from `base`."""
    config.run.dir = str(base / config.run.dir)
    config.trainer.default_local_dir = str(base / config.trainer.default_local_dir)
    config.trainer.v1.sampler.sampler_kwargs.run_dir = config.run.dir
    for key in ("train_files", "val_files"):
        config.data[key] = [str(base / name) for name in config.data[key]]
    model = base / config.actor_rollout_ref.model.path
    if model.exists():  # otherwise it is a name on the model hub
        config.actor_rollout_ref.model.path = str(model)
    if config.run.resume not in ("auto", "never"):
        config.run.resume = str(base / config.run.resume)
