"""The policy's folder: a model with a tokenizer, long enough for the dialogues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eduardo.errors import UserError
from eduardo.files import names_folder
from eduardo.preflight.findings import CannotCheck, Finding, Subject, passed, warned


def check_model(subject: Subject) -> Finding:
    """A local folder must hold a model; a name that is no local path is left to the model hub."""
    path = str(subject.config.actor_rollout_ref.model.path)
    needed = int(subject.config.actor_rollout_ref.rollout.max_model_len)
    folder = Path(path)
    if not names_folder(path):
        return _from_hub(subject, path, needed)
    if not (folder / "config.json").is_file():
        if subject.dry_run:
            raise CannotCheck(f"{folder} is not on this machine")
        raise UserError(
            f"actor_rollout_ref.model.path: {folder} holds no model (no config.json); "
            "`python -m eduardo.classroom --help` tells how the embedded tutor is made"
        )
    if not any(folder.glob("tokenizer*")):
        raise UserError(f"actor_rollout_ref.model.path: {folder} holds no tokenizer")
    _check_length(json.loads((folder / "config.json").read_text(encoding="utf-8")), str(folder), needed)
    return passed("model", str(folder))


def _from_hub(subject: Subject, name: str, needed: int) -> Finding:
    """Nothing is fetched: the length is that of `planning.architecture`, the weights are looked for in the cache."""
    _check_length(subject.settings.planning.architecture or {}, name, needed)
    if subject.dry_run or _cached(name):
        return passed("model", f"{name}, from the model hub")
    return warned(
        "model",
        f"{name} is not in this machine's cache of the model hub",
        f"fetch it where there is internet: hf download {name}; or name a folder in actor_rollout_ref.model.path",
    )


def _cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache  # comes with transformers, and is slow to import
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        raise UserError(
            f"actor_rollout_ref.model.path: {name} is neither a folder here nor a name on the model hub; correct it"
        ) from None


def _check_length(config: Mapping[str, Any], model: str, needed: int) -> None:
    """`config`: the figures of a `config.json`; models with a vision tower have the decoder's in `text_config`."""
    limit = {**config, **config.get("text_config", {})}.get("max_position_embeddings")
    if limit is not None and needed > limit:
        raise UserError(
            f"the model {model} takes {limit} tokens, but recipe.dialogue.prompt_tokens and response_tokens "
            f"add up to {needed}: lower them or take another model"
        )
