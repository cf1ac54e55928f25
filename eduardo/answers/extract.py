"""The final answer of an attempt, as text.

Rules, in this order:

1. A box is `\\boxed` or `\\fbox` with a braced group (blanks before it are allowed; braces are counted and `\\{`
   `\\}` are not structure) or, brace-less, with the number, TeX command or capital letter that follows.
2. The last box decides. It never falls back to an earlier one: if the last box is empty, unterminated or a bare
   mention, the boxes before it are void.
3. Boxes at the end that are separated only by `,` `;` `and` `or` are one list; the same answer repeated is one answer.
4. Without a well-formed last box, the attempt still answers when its very last sentence, standing after every box
   mention, states it in the words "final: X", "answer: X" or "answer is X". This is why quoting an instruction
   ("put it in \\boxed{}") before "My answer is 5" loses nothing, while a number lying in the text never counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOX = re.compile(r"\\f?box(?:ed)?(?![A-Za-z])\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_GROUP = r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_BARE_ANSWER = re.compile(
    rf"\$[^$\n]+\$"
    rf"|[-+−]?\d+(?:[.,]\d+)*(?:/\d+)?(?:\\?%)?"
    rf"|[-+−]?\\(?!f?box|[a-z]*quad|text\b)[a-z]+(?:\[\w+\])?(?:\s*(?:{_GROUP}|\d|[a-z](?![a-z])))*"
    rf"|\\text\s*{_GROUP}"
    rf"|[A-Z](?![A-Za-z])"
)
_BETWEEN = re.compile(r"(?:[\s$*]|\\[()\[\],; ]|\\text\{|\}|,|;|\band\b|\bor\b)*", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;]|and|or", re.IGNORECASE)
_STATES = re.compile(
    r"(?<![A-Za-z])(?:final(?:\s+answer)?|answer)\**\s*(?::|=|\bis\b)\s*:?\s*", re.IGNORECASE
)
_NEXT_SENTENCE = re.compile(r"[.!?;]\s")
_TAIL_CHARS = 300  # a final sentence that is longer states no answer


@dataclass(frozen=True, slots=True)
class _Box:
    start: int
    end: int
    content: str | None  # None: unterminated, or a mention of the command without an answer


def extract_final_answer(text: str) -> str | None:
    """Return the final answer of `text` without its box, or None when the attempt gives none (see the module)."""
    boxes = _find_boxes(text)
    if not boxes:
        return _stated_answer(text)
    last = boxes[-1]
    if last.content is None or not last.content.strip():
        return _stated_answer(text[last.end :])
    run = _trailing_run(text, boxes)
    distinct = list(dict.fromkeys(run))
    return distinct[0] if len(distinct) == 1 else ", ".join(run)


def _find_boxes(text: str) -> list[_Box]:
    """All outermost boxes and box mentions, in order. Linear in the length of `text`."""
    mentions = list(_BOX.finditer(text))
    if not mentions:
        return []
    closing = _matching_braces(text, mentions[0].end())
    boxes: list[_Box] = []
    end = 0
    for mention in mentions:
        if mention.start() < end:
            continue
        box = _box_at(text, mention, closing)
        boxes.append(box)
        end = box.end
    return boxes


def _box_at(text: str, mention: re.Match[str], closing: dict[int, int]) -> _Box:
    at = mention.end()
    if text.startswith("{", at):
        close = closing.get(at)
        if close is None:
            return _Box(mention.start(), len(text), None)
        return _Box(mention.start(), close + 1, text[at + 1 : close].strip())
    bare = _BARE_ANSWER.match(text, at)
    if bare is None:
        return _Box(mention.start(), at, None)
    return _Box(mention.start(), bare.end(), bare.group().strip())


def _matching_braces(text: str, start: int) -> dict[int, int]:
    """Position of each opening brace → position of its closing brace; a stray closing brace is ignored."""
    closing: dict[int, int] = {}
    open_at: list[int] = []
    for token in _BRACE.finditer(text, start):
        if token.group() == "{":
            open_at.append(token.start())
        elif token.group() == "}" and open_at:
            closing[open_at.pop()] = token.start()
    return closing


def _trailing_run(text: str, boxes: list[_Box]) -> list[str]:
    """Contents of the last box and of those before it that a list separator joins to it."""
    run = [boxes[-1].content or ""]
    for left, right in zip(reversed(boxes[:-1]), reversed(boxes[1:]), strict=True):
        between = text[left.end : right.start]
        if not left.content or not _BETWEEN.fullmatch(between) or not _SEPARATOR.search(between):
            break
        run.insert(0, left.content)
    return run


def _stated_answer(text: str) -> str | None:
    """Answer stated in so many words by the last sentence of `text`."""
    tail = text.rstrip()[-_TAIL_CHARS:]
    line = tail.rpartition("\n")[2]
    statements = list(_STATES.finditer(line))
    if not statements:
        return None
    answer = line[statements[-1].end() :].strip("* ").rstrip(".").strip()
    if not answer or _NEXT_SENTENCE.search(answer):
        return None
    return answer
