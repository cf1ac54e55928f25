"""Conversations as Parquet rows: chat messages for supervised training, and tasks for the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson
import pyarrow as pa

from eduardo.dataset.rows import MESSAGES, to_json_text
from eduardo.education_dialogue.conversation import Background, Conversation, Utterance
from eduardo.education_dialogue.views import tutor_prompt
from eduardo.types import Speaker

DATA_SOURCE = "education_dialogue"
AGENT_NAME = "eduardo_education_dialogue"
SFT_SCHEMA = pa.schema([("id", pa.string()), ("topic", pa.string()), ("messages", MESSAGES)])


def to_sft_row(conversation: Conversation, *, prompt_style: str, end_tag: str) -> dict[str, Any]:
    """A row of SFT_SCHEMA for verl's multi-turn SFT data set, which trains on `assistant` messages only.

    The chat begins as the environment's does and ends with the tutor. A student who speaks first takes the
    place of the opener. A tutor who ended the conversation writes `end_tag`.
    """
    messages = tutor_prompt(conversation.background.topic, prompt_style, end_tag=end_tag)
    utterances = list(conversation.utterances)
    if utterances[0].speaker is Speaker.STUDENT:
        messages.pop()
    if utterances[-1].speaker is Speaker.STUDENT:
        utterances.pop()
    elif conversation.ended_by is Speaker.TUTOR:
        utterances[-1] = Utterance(speaker=Speaker.TUTOR, text=f"{utterances[-1].text} {end_tag}")
    messages += [{"role": _ROLES[utterance.speaker], "content": utterance.text} for utterance in utterances]
    return {"id": conversation.id, "topic": conversation.background.topic, "messages": messages}


_ROLES = {Speaker.TUTOR: "assistant", Speaker.STUDENT: "user"}


def to_rl_row(
    conversation: Conversation, *, split: str, index: int, prompt_style: str, end_tag: str
) -> dict[str, Any]:
    """A row of `dataset.rows.SCHEMA`, so that both environments fit into one training run.

    Background and conversation travel in `extra_info.extras`; there is no answer key. `prompt_style` is that of
    `views.tutor_prompt`.
    """
    extras = {
        "background": asdict(conversation.background),
        "reference": [[utterance.speaker.value, utterance.text] for utterance in conversation.utterances],
        "reference_ended_by": conversation.ended_by,
    }
    return {
        "data_source": DATA_SOURCE,
        "prompt": tutor_prompt(conversation.background.topic, prompt_style, end_tag=end_tag),
        "ability": "teaching",
        "reward_model": {"style": "preference", "ground_truth": ""},
        "extra_info": {
            "id": conversation.id,
            "index": index,
            "split": split,
            "extras": to_json_text(extras),
        },
        "agent_name": AGENT_NAME,
    }


def from_rl_row(row: Mapping[str, Any]) -> Conversation:
    """The background and the data set's own conversation inside a row as verl hands it over."""
    extras = orjson.loads(row["extra_info"]["extras"])
    ended_by = extras["reference_ended_by"]
    return Conversation(
        id=row["extra_info"]["id"],
        background=Background(**extras["background"]),
        utterances=tuple(
            Utterance(speaker=Speaker(speaker), text=text) for speaker, text in extras["reference"]
        ),
        ended_by=None if ended_by is None else Speaker(ended_by),
    )
