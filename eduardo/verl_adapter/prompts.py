"""Prompts of the data, measured before training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eduardo.chat_template import ChatTemplate
from eduardo.errors import UserError
from eduardo.verl_adapter.tasks import id_of

_NUM_NAMED = 5


def check_prompts(rows: Iterable[Mapping[str, Any]], template: ChatTemplate, *, limit: int) -> None:
    """Raises UserError for prompts of more than `limit` tokens: verl would cut their beginning without a word."""
    lengths = {id_of(row): len(template.encode_prompt(row["prompt"])) for row in rows}
    too_long = {row_id: length for row_id, length in lengths.items() if length > limit}
    if too_long:
        longest = sorted(too_long, key=too_long.__getitem__, reverse=True)
        named = ", ".join(f"{row_id} with {too_long[row_id]}" for row_id in longest[:_NUM_NAMED])
        raise UserError(
            f"{len(too_long)} of {len(lengths)} prompts have more tokens than recipe.dialogue.prompt_tokens={limit} "
            f"allows, the longest in rows {named}: raise it to {too_long[longest[0]]} or leave the rows out"
        )
