"""Dialogues for verl's SFT trainer, token for token as rollout and training record them.

verl's own multi-turn data set renders every message alone and joins the pieces. That fails for templates that treat
earlier turns differently (an empty thinking block in the last turn only), trains on whatever a template puts behind
the end-of-turn token, and lets a text spell control tokens. Here the ledger of training builds the sequence.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq
import torch
from torch.utils.data import Dataset

from eduardo.chat_template import ChatTemplate
from eduardo.errors import UserError
from eduardo.ledger import TokenLedger
from eduardo.types import Message

log = logging.getLogger("eduardo.sft")


def encode_dialogue(
    messages: Sequence[Message], template: ChatTemplate, *, max_tokens: int
) -> tuple[list[int], list[int], int]:
    """Ids, loss mask (1 on the tutor's turns, their end-of-turn tokens included), and how many of its turns fit.

    `messages`: an opening up to the first `assistant`, then `assistant` and `user` in turn. The sequence ends with the
    last turn of the tutor that fits into `max_tokens`.
    """
    first = next((i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages))
    ledger = TokenLedger(template, messages[:first], max_response_tokens=max_tokens)
    room = max_tokens - len(ledger.prompt_ids)
    length, num_turns = 0, 0
    for message in messages[first:]:
        if message["role"] == "user":
            if not ledger.add_user_turn(message["content"]):
                break
            continue
        ids = template.encode_reply(message["content"])
        if len(ledger.response_ids) + len(ids) > room:
            break
        ledger.add_sampled(ids, [0.0] * len(ids))
        length, num_turns = len(ledger.response_ids), num_turns + 1
    ids = ledger.prompt_ids + ledger.response_ids[:length]
    return ids, [0] * len(ledger.prompt_ids) + ledger.response_mask[:length], num_turns


class TutorDialogues(Dataset[dict[str, torch.Tensor]]):  # type: ignore[misc]
    """`sft.data.custom_cls` of a warm start; the constructor is verl's. Items are not padded."""

    def __init__(
        self,
        parquet_files: str | Sequence[str],
        tokenizer: Any,
        config: Mapping[str, Any],
        processor: Any = None,
        max_samples: int = -1,
    ) -> None:
        template = ChatTemplate(tokenizer, template_kwargs=dict(config["apply_chat_template_kwargs"]))
        files = [parquet_files] if isinstance(parquet_files, str) else list(parquet_files)
        rows = [row for name in files for row in pq.read_table(name).to_pylist()]
        self._examples = []
        num_cut = 0
        for row in rows if max_samples < 0 else rows[:max_samples]:
            messages = row[config["messages_key"]]
            ids, mask, num_turns = encode_dialogue(messages, template, max_tokens=config["max_length"])
            if num_turns == 0:
                raise UserError(
                    f"row {row.get('id')}: its opening and first tutor turn have more than sft.data.max_length="
                    f"{config['max_length']} tokens: raise it or leave the row out"
                )
            num_cut += num_turns < sum(message["role"] == "assistant" for message in messages)
            self._examples.append((ids, mask))
        log.info("%d dialogues, %d of them cut to %d tokens", len(rows), num_cut, config["max_length"])

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids, mask = self._examples[index]
        return {
            "input_ids": torch.tensor(ids),
            "position_ids": torch.arange(len(ids)),
            "loss_mask": torch.tensor(mask),
        }
