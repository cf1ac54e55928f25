"""Raw tutor text → `Turn`. The only place that knows thinking tags and the end tag.

Thinking is flat: a close tag ends it whatever was opened before, as chat templates and servers split it too.
When tags do not pair up, text is hidden rather than shown:

* a close tag without an opening one makes everything before it thinking;
* an open tag that is never closed makes everything after it thinking;
* inside thinking only a close tag counts, also inside code, since tokens know nothing of code;
* in the visible reply a think tag inside code is a mention: it vanishes, but hides nothing.

The end tag counts anywhere in the visible reply, in any letter case, with blanks inside its brackets, and
also in backticks, because small models quote it when they mean it. Look-alikes (other brackets, a closing
form, blanks for underscores, a tag cut short) are ordinary text.

Invisible characters (zero-width, soft hyphens, direction marks, tag characters) are removed from what others see: a
record has to show a person all that a student or a judge was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from eduardo.types import FinishReason, Speaker, Turn, TurnFault, TurnTokens


class ThinkingMode(StrEnum):
    """What the rendered prompt says about the beginning of a generated turn."""

    PREFILLED = "prefilled"  # the prompt opened the thinking: text starts inside it
    OPTIONAL = "optional"  # nothing opened: text is a reply unless it opens thinking itself
    NONE = "none"  # the prompt opened and closed the thinking: text is a reply


_TAG = re.compile(r"<\s{0,2}(?P<slash>/?)\s{0,2}think\s{0,2}>", re.IGNORECASE)
_QUOTED_TAG = re.compile(rf"(`{{0,3}}){_TAG.pattern}\1", re.IGNORECASE)
# Joiners are needed between letters of some scripts and inside emoji; anywhere else they only hide something.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
    r"|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])"
)
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_OPEN_AT_END = re.compile(r"<think>\s*\Z", re.IGNORECASE)
_CLOSED_AT_END = re.compile(r"<think>\s*</think>\s*\Z", re.IGNORECASE)


def detect_thinking_mode(rendered_prompt: str) -> ThinkingMode:
    """Mode of the next generated turn, from the end of a prompt rendered with its generation prompt.

    Only the tail counts: what a student wrote earlier in the prompt can not change it.
    """
    if _OPEN_AT_END.search(rendered_prompt):
        return ThinkingMode.PREFILLED
    if _CLOSED_AT_END.search(rendered_prompt):
        return ThinkingMode.NONE
    return ThinkingMode.OPTIONAL


def parse_tutor_turn(
    raw: str,
    *,
    mode: ThinkingMode,
    end_tag: str,
    may_end: bool,
    finish: FinishReason,
    count_tokens: Callable[[str], int],
) -> Turn:
    """Split a generated tutor turn into what others see and what they never see, and note faults of form.

    `may_end` is False while an end tag has no effect yet: the tag is then removed and noted as a fault.
    `count_tokens` measures both parts with the tutor's tokenizer. Never raises on any text.
    """
    split = _split(raw, mode)
    thinking = split.thinking(raw)
    text = _remove(split.visible(raw), _INVISIBLE)
    has_end_tag = _end_tag_pattern(end_tag).search(text) is not None
    text = _remove(text, _end_tag_pattern(end_tag), _QUOTED_TAG, _INVISIBLE)
    faults = [*_thinking_faults(split, raw, mode, finish, blank=not text)]
    if finish is FinishReason.LENGTH and not split.open_at_end:
        faults.append(TurnFault.REPLY_TRUNCATED)
    if not text:
        faults.append(TurnFault.BLANK)
    if has_end_tag and not may_end:
        faults.append(TurnFault.EARLY_END_TAG)
    return Turn(
        speaker=Speaker.TUTOR,
        text=text,
        raw="" if raw == text else raw,
        thinking=thinking,
        ends_dialogue=has_end_tag and may_end,
        faults=tuple(faults),
        tokens=TurnTokens(visible=count_tokens(text), thinking=count_tokens(thinking)),
    )


def split_thinking(raw: str, mode: ThinkingMode) -> tuple[str, str]:
    """(visible text, thinking), both stripped and without think tags; for students that think aloud."""
    split = _split(raw, mode)
    return _remove(split.visible(raw), _QUOTED_TAG, _INVISIBLE), split.thinking(raw)


def take_end_tag(text: str, end_tag: str) -> tuple[str, bool]:
    """(text without the end tag, whether it held one), for students that may end a dialogue."""
    pattern = _end_tag_pattern(end_tag)
    return _remove(text, pattern), pattern.search(text) is not None


def visible_spans(raw: str, mode: ThinkingMode) -> tuple[tuple[int, int], ...]:
    """Half-open ranges of `raw` that lie outside any thinking, in order."""
    return _split(raw, mode).visible_spans


@dataclass(frozen=True, slots=True)
class _Split:
    tags: tuple[re.Match[str], ...]  # those that count, in order
    visible_spans: tuple[tuple[int, int], ...]
    open_at_end: bool

    def visible(self, raw: str) -> str:
        pieces = (raw[start:end].strip() for start, end in self.visible_spans)
        return " ".join(piece for piece in pieces if piece)

    def thinking(self, raw: str) -> str:
        starts = [0, *(end for _, end in self.visible_spans)]
        ends = [*(start for start, _ in self.visible_spans), len(raw)]
        pieces = (_TAG.sub(" ", raw[start:end]).strip() for start, end in zip(starts, ends, strict=True))
        return "\n".join(piece for piece in pieces if piece)


def _split(raw: str, mode: ThinkingMode) -> _Split:
    thinking = mode is ThinkingMode.PREFILLED
    position = 0  # where the current visible stretch began
    tags: list[re.Match[str]] = []
    visible: list[tuple[int, int]] = []
    for tag in _TAG.finditer(raw):
        if not thinking and _in_code(raw, tag, position):
            continue
        tags.append(tag)
        closes = bool(tag["slash"])
        if thinking and closes:
            thinking, position = False, tag.end()
        elif closes:
            visible.clear()
            position = tag.end()
        elif not thinking:
            visible.append((position, tag.start()))
            thinking = True
    if not thinking:
        visible.append((position, len(raw)))
    return _Split(tuple(tags), tuple(visible), thinking)


def _in_code(raw: str, tag: re.Match[str], start: int) -> bool:
    for code in _CODE.finditer(raw, start):
        if code.start() > tag.start():
            return False
        if tag.end() <= code.end():
            return True
    return False


def _thinking_faults(
    split: _Split, raw: str, mode: ThinkingMode, finish: FinishReason, *, blank: bool
) -> tuple[TurnFault, ...]:
    if split.open_at_end and blank and finish is FinishReason.LENGTH:
        return (TurnFault.THINKING_TRUNCATED,)
    shape = "".join("/" if tag["slash"] else "<" for tag in split.tags)
    if mode is ThinkingMode.PREFILLED:
        well_formed = shape == "/"
    else:
        leads = mode is ThinkingMode.OPTIONAL and shape == "</" and not raw[: split.tags[0].start()].strip()
        well_formed = not shape or leads
    return () if well_formed else (TurnFault.THINKING_MALFORMED,)


@lru_cache(maxsize=8)
def _end_tag_pattern(end_tag: str) -> re.Pattern[str]:
    bracketed = re.fullmatch(r"<\s*(.+?)\s*>", end_tag, re.DOTALL)
    tag = rf"<\s{{0,2}}{re.escape(bracketed[1])}\s{{0,2}}>" if bracketed else re.escape(end_tag)
    return re.compile(rf"(`{{0,3}}){tag}\1", re.IGNORECASE)


def _remove(text: str, *patterns: re.Pattern[str]) -> str:
    """Delete all matches, also those that only a deletion brings together."""
    before = None
    while text != before:
        before = text
        for pattern in patterns:
            text = pattern.sub("", text)
    return text.strip()
