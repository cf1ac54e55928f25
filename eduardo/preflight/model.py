"""The policy's folder: a model with a tokenizer, long enough for the dialogues."""

from __future__ import annotations

import json
from pathlib import Path

from eduardo.errors import UserError
from eduardo.files import names_folder
from eduardo.preflight.findings import CannotCheck, Finding, Subject, passed


def check_model(subject: Subject) -> Finding:
    """A local folder must hold a model; a name that is no local path is left to the model hub."""
    path = str(subject.config.actor_rollout_ref.model.path)
    needed = int(subject.config.actor_rollout_ref.rollout.max_model_len)
    folder = Path(path)
    if not names_folder(path):
        return passed("model", f"{path}, from the model hub")
    if not (folder / "config.json").is_file():
        if subject.dry_run:
            raise CannotCheck(f"{folder} is not on this machine")
        raise UserError(
            f"actor_rollout_ref.model.path: {folder} holds no model (no config.json); "
            "`python -m eduardo.classroom --help` tells how the embedded tutor is made"
        )
    if not any(folder.glob("tokenizer*")):
        raise UserError(f"actor_rollout_ref.model.path: {folder} holds no tokenizer")
    limit = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
    if limit is not None and needed > limit:
        raise UserError(
            f"the model in {folder} takes {limit} tokens, but recipe.dialogue.prompt_tokens and response_tokens "
            f"add up to {needed}: lower them or take another model"
        )
    return passed("model", str(folder))
