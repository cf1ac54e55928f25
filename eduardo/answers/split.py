"""Cutting text at its top level: outside every pair of brackets."""

from __future__ import annotations

import re

from eduardo.answers.tree import MAX_DEPTH, TooCostly

_BRACKET = re.compile(r"\\begin\{\w+\*?\}|\\end\{\w+\*?\}|\\langle|\\rangle|\\\{|\\\}|[()\[\]{}]")
_OPENS = re.compile(r"\\begin|\\langle|\\?\{|[(\[]")


def split_top(text: str, separator: re.Pattern[str]) -> list[str]:
    """Parts of `text` between the matches of `separator` that lie outside brackets. One part: nothing to split."""
    matches = list(separator.finditer(text))
    if not matches:
        return [text]
    inside = _bracketed_spans(text)
    parts: list[str] = []
    start = span = 0
    for match in matches:
        while span < len(inside) and inside[span][1] <= match.start():
            span += 1
        if span < len(inside) and inside[span][0] < match.start():
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    return [*parts, text[start:]]


def separators_top(text: str, separator: re.Pattern[str]) -> list[str]:
    """The top-level matches of `separator`, in order."""
    inside = _bracketed_spans(text)
    return [
        match.group()
        for match in separator.finditer(text)
        if not any(start < match.start() < end for start, end in inside)
    ]


def enclosing(text: str) -> tuple[str, str, str] | None:
    """(opening, inner, closing) when one pair of brackets, of any kinds, encloses all of `text`."""
    spans = _bracketed_spans(text)
    if len(spans) != 1 or spans[0] != (0, len(text)):
        return None
    opening, closing = _first_bracket(text), _last_bracket(text)
    return opening, text[len(opening) : len(text) - len(closing)].strip(), closing


def _first_bracket(text: str) -> str:
    match = _BRACKET.match(text)
    return match.group() if match else ""


def _last_bracket(text: str) -> str:
    return [match.group() for match in _BRACKET.finditer(text)][-1]


def _bracketed_spans(text: str) -> list[tuple[int, int]]:
    """Outermost bracketed stretches as (start, end). `[2,5)` is one: any closing bracket closes any opening one."""
    spans: list[tuple[int, int]] = []
    depth = start = 0
    for match in _BRACKET.finditer(text):
        if _OPENS.match(match.group()):
            if depth == 0:
                start = match.start()
            depth += 1
            if depth > 2 * MAX_DEPTH:
                raise TooCostly("brackets nested too deeply")
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, match.end()))
    if depth:
        spans.append((start, len(text) + 1))
    return spans
