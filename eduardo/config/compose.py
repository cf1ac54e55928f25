"""Compose the run configuration from verl's tree, ours, and the user's overrides. Every complaint is one line."""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from eduardo.config.keys import is_known, key_paths, suggestion
from eduardo.config.verl_schema import config_dir as verl_config_dir
from eduardo.errors import UserError
from eduardo.resources import configs_dir

# Either one path or a list of them.
ONE_OR_MANY = ("data.train_files", "data.val_files")


def compose(
    overrides: Sequence[str], *, extra_dir: Path | None = None, config_name: str = "train"
) -> DictConfig:
    """The run configuration, unresolved. `extra_dir` holds further Hydra groups of the user.

    Raises UserError for an override that cannot be read, names no known key, or has the wrong type.
    """
    parsed = [_parse(text) for text in overrides]
    groups = tuple(str(o.input_line) for o in parsed if _is_group(o, extra_dir))
    config = copy.deepcopy(_load_tree(config_name, groups, extra_dir))
    known = frozenset(key_paths(config))
    for override in parsed:
        if not _is_group(override, extra_dir):
            _check_override(override, config, known)
            _apply(override, config)
    return config


@cache
def _load_tree(config_name: str, groups: tuple[str, ...], extra_dir: Path | None) -> DictConfig:
    """What Hydra composes from the files alone."""
    _register_resolvers()
    search_path = [f"file://{path}" for path in (verl_config_dir(), extra_dir) if path is not None]
    fixed = [f"hydra.searchpath=[{','.join(search_path)}]"]
    try:
        with initialize_config_dir(str(configs_dir()), version_base=None):
            return hydra_compose(config_name, overrides=[*fixed, *groups])
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_one_line(str(error))) from None


def _parse(text: str) -> Override:
    try:
        override: Override = OverridesParser.create().parse_override(text)
    except HydraException:
        raise UserError(
            f"cannot read {text!r}: an override is KEY=VALUE, e.g. run.seed=7 or 'run.name=\"a b\"'"
        ) from None
    if override.is_sweep_override():
        raise UserError(
            f"{text!r} names several values; a list is written [a,b], and one run takes one value"
        )
    return override


def _is_group(override: Override, extra_dir: Path | None) -> bool:
    roots = [configs_dir(), verl_config_dir(), *([extra_dir] if extra_dir else [])]
    if "." in override.key_or_group or not isinstance(override.value(), str | None | bool):
        return False
    return any((root / override.key_or_group).is_dir() for root in roots)


def _apply(override: Override, config: DictConfig) -> None:
    """What Hydra would do, for an override that was checked."""
    key = override.key_or_group
    if override.is_delete():
        parent, _, name = key.rpartition(".")
        with open_dict(config):
            del OmegaConf.select(config, parent)[name]
        return
    value = override.value()
    if key in ONE_OR_MANY and isinstance(value, str):
        value = [value]
    OmegaConf.update(config, key, value, force_add=True)


def _check_override(override: Override, base: DictConfig, known: frozenset[str]) -> None:
    key = override.key_or_group
    if not is_known(key, known, base):
        hint = suggestion(key, known)
        raise UserError(f"unknown key {key}{'; ' + hint if hint else '; --cfg lists all keys'}")
    if override.is_delete():
        return
    old, new = _plain_value(base, key), override.value()
    expected = None if key in ONE_OR_MANY else _expected(old, new)
    if expected:
        raise UserError(f"{key}={_shown(override)}: expected {expected}, as in {key}={_example(old)}")


def _plain_value(base: DictConfig, key: str) -> Any:
    try:
        return OmegaConf.select(base, key)
    except OmegaConfBaseException:
        return None  # an interpolation that cannot be resolved yet says nothing about the type


def _expected(old: Any, new: Any) -> str | None:
    """What the value should have been, or None when its type is fine. null and interpolations always are."""
    if old is None or new is None or (isinstance(new, str) and "${" in new):
        return None
    if isinstance(old, bool):
        return None if isinstance(new, bool) else "true or false"
    if isinstance(old, int | float):
        return None if isinstance(new, int | float) and not isinstance(new, bool) else "a number"
    if isinstance(old, ListConfig):
        return None if isinstance(new, list) else "a list"
    if isinstance(old, DictConfig):
        return None if isinstance(new, dict) else "a mapping"
    return "a text" if isinstance(new, list | dict | bool) else None


def _shown(override: Override) -> str:
    return str(override.input_line).partition("=")[2]


def _example(old: Any) -> str:
    if isinstance(old, bool):
        return str(old).lower()
    if isinstance(old, ListConfig | DictConfig):
        return str(OmegaConf.to_container(old)).replace(" ", "")
    return str(old)


def _one_line(message: str) -> str:
    """Hydra's message without its list of search paths, on one line."""
    options = re.search(
        r"Could not find '(?:[^']*/)?([^'/]+)/([^'/]+)'.*?Available options in '[^']*':\s*(.*?)\n\s*Config search path",
        message,
        re.DOTALL,
    )
    if options:
        group, name, available = options.groups()
        return f"{group}={name}: no such choice; there are {', '.join(available.split())}"
    return " ".join(message.split())


def _register_resolvers() -> None:
    OmegaConf.register_new_resolver("sum", lambda *terms: sum(terms), replace=True)
    OmegaConf.register_new_resolver("max", max, replace=True)
    started = datetime.datetime.now().astimezone()
    OmegaConf.register_new_resolver("now", started.strftime, use_cache=True, replace=True)
