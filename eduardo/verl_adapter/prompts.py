"""Prompts of the data, measured before training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eduardo.chat_template import ChatTemplate
from eduardo.errors import UserError
from eduardo.verl_adapter.tasks import id_of


def check_prompts(rows: Iterable[Mapping[str, Any]], template: ChatTemplate, *, limit: int) -> None:
    """Raises UserError for a prompt of more than `limit` tokens: verl would cut its beginning without a word."""
    for row in rows:
        num_tokens = len(template.encode_prompt(row["prompt"]))
        if num_tokens > limit:
            raise UserError(
                f"row {id_of(row)}: its prompt has {num_tokens} tokens, recipe.dialogue.prompt_tokens allows "
                f"{limit}: raise it or leave the row out"
            )
