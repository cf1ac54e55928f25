"""Text that others wrote is data: where it spells a control token, it is changed so that no tokenizer reads one.

A server tokenises a rendered chat as a whole, so a spelling inside a message would end the turn or open another role.
Where a prompt is tokenised here, `chat_template.ChatTemplate` does the same from the tokenizer's own list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eduardo.types import Message

_BAR = "[|\uff5c]"  # ASCII, or full width as DeepSeek writes it
_NAME = r"[^\s<>|\uff5c]{2,60}"
_IN_ANGLES = "|".join(
    (
        rf"{_BAR}{_NAME}{_BAR}?>|{_NAME}{_BAR}>",  # <|im_end|>, <|eot_id|>, <|turn>, <turn|>
        r"/?(?:s|bos|eos|pad|unk|mask|sep|cls|sop|eop)>",
        r"(?:start|end)_of_(?:turn|image|audio|video)>",  # <start_of_turn>
        r"/?(?:think|thinking|tool_call|tool_response|tools)>",
        r"(?:unused|extra_id_)\d+>",
        r"</?SYS>>",
    )
)
_IN_BRACKETS = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK)\]|"
    r"(?:CLS|SEP|MASK|PAD|UNK|gMASK)\]"
)
_FIRST_CHARACTER = re.compile(rf"<(?={_IN_ANGLES})|\[(?={_IN_BRACKETS})")


def broken_up(chat: Sequence[Message]) -> list[Message]:
    """The chat with a blank after the first character of each spelling; other text is untouched."""
    return [{**message, "content": _break_up(message["content"])} for message in chat]


def escaped(json_line: str) -> str:
    r"""JSON whose texts spell no control token and read back as they were: `<|im_end|>` is `\u003c|im_end|>`.

    `json_line` holds no array, so that a bracket stands inside a text only.
    """
    return _FIRST_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", json_line)


def _break_up(text: str) -> str:
    return _FIRST_CHARACTER.sub(lambda found: f"{found[0]} ", text)
