"""Which keys a configuration has, and what a mistyped one probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from eduardo.config.verl_schema import OPEN_MAPPINGS, fields_of


def key_paths(config: DictConfig, prefix: str = "") -> Iterator[str]:
    """Dotted paths of all nodes, inner ones included. A list is a leaf."""
    for key in map(str, config):
        path = f"{prefix}{key}"
        yield path
        if OmegaConf.is_missing(config, key) or OmegaConf.is_interpolation(config, key):
            continue
        if isinstance(child := config[key], DictConfig):
            yield from key_paths(child, f"{path}.")


def is_known(key: str, known: frozenset[str], config: DictConfig) -> bool:
    """Whether `key` is in the composed tree, a field of the verl dataclass there, or under a mapping that is open."""
    if key in known or any(key == m or key.startswith(f"{m}.") for m in OPEN_MAPPINGS):
        return True
    parent, _, name = key.rpartition(".")
    if parent not in known:
        # a new mapping whose own parent knows it, such as fsdp_config.mixed_precision.param_dtype
        return "." in parent and is_known(parent, known, config)
    node = OmegaConf.select(config, parent)
    target = node.get("_target_") if isinstance(node, DictConfig) else None
    return bool(target) and name in fields_of(str(target))


def suggestion(key: str, known: frozenset[str]) -> str:
    """'did you mean ...?' with at most three keys, or an empty text."""
    name = key.rpartition(".")[2]
    scored = sorted(((_similarity(key, name, candidate), candidate) for candidate in known), reverse=True)
    close = [candidate for score, candidate in scored[:3] if score >= 0.6 and score >= scored[0][0] - 0.1]
    return f"did you mean {' or '.join(close)}?" if close else ""


def _similarity(key: str, name: str, candidate: str) -> float:
    whole = difflib.SequenceMatcher(None, key, candidate).ratio()
    last = difflib.SequenceMatcher(None, name, candidate.rpartition(".")[2]).ratio()
    same_section = key.partition(".")[0] == candidate.partition(".")[0]
    return max(whole, last * (1.0 if same_section else 0.9))
