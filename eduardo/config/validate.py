"""Resolve and check a composed configuration as a whole: types, bounds, contradictions, files."""

from __future__ import annotations

import re
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException
from pydantic import ValidationError

from eduardo.config.environments import split_batch
from eduardo.config.keys import key_paths
from eduardo.config.settings import TrainSettings
from eduardo.errors import UserError
from eduardo.settings import first_problem

OWN_SECTIONS = tuple(TrainSettings.model_fields)


def validate(config: DictConfig) -> TrainSettings:
    """Resolves `config` in place and returns our typed part of it. Raises UserError with one line."""
    resolve(config)
    for name in OWN_SECTIONS:
        check_complete(config[name])
    plain: Any = OmegaConf.to_container(config)
    try:
        settings = TrainSettings(**{name: plain[name] for name in OWN_SECTIONS})
    except ValidationError as error:
        raise UserError(first_problem(error)) from None
    _check_contradictions(config, settings)
    return settings


def resolve(config: DictConfig) -> None:
    """Replaces every interpolation by its value, in place. Raises UserError naming one that has none."""
    for section in list(config):
        try:
            node = config[section]
            if OmegaConf.is_config(node):
                OmegaConf.resolve(node)
            else:
                config[section] = node
        except InterpolationResolutionError as error:
            key = _unresolvable_key(config, str(section))
            raise UserError(f"{key}: {_cause(str(error))}") from None
        except OmegaConfBaseException as error:
            raise UserError(f"{section}: {' '.join(str(error).split())}") from None


def check_complete(config: DictConfig) -> None:
    """Raises UserError naming a mandatory key that has no value."""
    missing = OmegaConf.missing_keys(config)
    if missing:
        raise UserError(f"{min(missing)} has no value: set it on the command line or in a config file")


def _unresolvable_key(config: DictConfig, section: str) -> str:
    """The key whose interpolation fails; OmegaConf does not tell when it resolves a whole tree."""
    for key in key_paths(config):
        try:
            if key.startswith(f"{section}."):
                OmegaConf.select(config, key)
        except InterpolationResolutionError:
            return key
    return section


def _cause(message: str) -> str:
    variable = re.search(r"Environment variable '(\w+)' not found", message)
    if variable:
        return f"environment variable {variable[1]} is not set: export it, or set the key on the command line"
    return message.splitlines()[0]


def _check_contradictions(config: DictConfig, settings: TrainSettings) -> None:
    split_batch(config.environment.shares, config.data.train_batch_size)
    if settings.classroom.server.kind == "vllm_colocated" and config.trainer.nnodes > 1:
        raise UserError(
            f"classroom=vllm_colocated runs on one machine, but trainer.nnodes={config.trainer.nnodes}: serve student "
            "and judge as jobs of their own (scripts/serve.sbatch) and train with classroom=vllm"
        )
    batch, mini_batch = config.data.train_batch_size, config.actor_rollout_ref.actor.ppo_mini_batch_size
    if batch % mini_batch:
        raise UserError(
            f"data.train_batch_size={batch} must be a multiple of "
            f"actor_rollout_ref.actor.ppo_mini_batch_size={mini_batch}"
        )
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    per_gpu = mini_batch * rollout.n / (config.trainer.nnodes * config.trainer.n_gpus_per_node)
    if not actor.use_dynamic_bsz and per_gpu % actor.ppo_micro_batch_size_per_gpu:
        raise UserError(
            f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={actor.ppo_micro_batch_size_per_gpu} must divide "
            f"ppo_mini_batch_size × rollout.n / number of GPUs, which is {per_gpu:g}"
        )
    if settings.recipe.faults.max_void_share * batch >= mini_batch:
        raise UserError(
            f"recipe.faults.max_void_share={settings.recipe.faults.max_void_share} could leave a mini-batch of "
            f"{mini_batch} problems without a valid dialogue: lower it or raise ppo_mini_batch_size"
        )
    if rollout.top_p != 1 or rollout.top_k not in (-1, 0):
        raise UserError(
            "actor_rollout_ref.rollout.top_p must be 1 and top_k -1: cut-off sampling biases the rollout "
            "log-probabilities that training is anchored on"
        )
    if rollout.temperature <= 0:
        raise UserError(
            "actor_rollout_ref.rollout.temperature must be above 0: greedy dialogues of a group are equal"
        )
    if rollout.n < 2:
        raise UserError(
            "actor_rollout_ref.rollout.n must be at least 2: one dialogue has no group to be compared with"
        )
