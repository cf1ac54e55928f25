"""JSON objects in model text. What can not be read for certain is not found, never guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import json_repair

from eduardo.json_reply.latex import keep_latex
from eduardo.protocol import ThinkingMode, visible_spans

T = TypeVar("T")

# A reply beyond these is degenerate; they bound the time spent on it.
_MAX_OBJECTS = 50
_MAX_DEPTH = 20
_START = re.compile(r"\{\s*[\"'“]")
_BRACES_OUTSIDE_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_BRACES = re.compile(r"[{}]")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """An object at `text[start:end]`, as read."""

    start: int
    end: int
    value: T


def find_objects(
    text: str, read: Callable[[dict[str, object]], T | None], *, last_field: str
) -> list[Found[T]]:
    """The objects in `text`, outside thinking and in order, of which `read` makes something.

    `read` is offered each object and, where it makes nothing of it, the objects inside. Strings are not looked
    into: they quote. An object that states `last_field` twice and differently states it as None. Broken JSON is
    repaired only where `last_field` is stated once and ends the object, so that a cut reply is never read.
    """
    found = list(_find(text, read, last_field))
    # Tags inside an object are quotations, so they are masked before thinking is looked for.
    masked = text
    for one in found:
        masked = masked[: one.start] + "." * (one.end - one.start) + masked[one.end :]
    spans = visible_spans(masked, ThinkingMode.OPTIONAL)
    return [one for one in found if any(start <= one.start < end for start, end in spans)]


def as_text(value: object) -> str:
    """A field's value as storable text; what is no text is written as JSON."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # half an escaped emoji can not be stored


def _find(text: str, read: Callable[[dict[str, object]], T | None], last_field: str) -> Iterator[Found[T]]:
    position = 0
    for _ in range(_MAX_OBJECTS):
        start = _START.search(text, position)
        if start is None:
            return
        position = start.end()
        for end in _ends(text, start.start()):
            value, is_strict = _parse(text[start.start() : end], last_field)
            result = _first(value, read)
            if result is not None:
                yield Found(start.start(), end, result)
            if result is not None or is_strict:
                position = end
                break


def _ends(text: str, start: int) -> list[int]:
    """Where the object at `start` may end: braces balance outside strings or, if quotes are off, at all."""
    ends = []
    for pattern in (_BRACES_OUTSIDE_STRINGS, _BRACES):
        depth = 0
        for token in pattern.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                ends.append(token.end())
            if depth in (0, _MAX_DEPTH):
                break
    return list(dict.fromkeys(ends))


def _parse(source: str, last_field: str) -> tuple[object, bool]:
    """The object in `source`, and whether it was sound JSON. Where repair would have to choose: None."""
    source = keep_latex(source)

    def without_conflict(pairs: list[tuple[str, object]]) -> dict[str, object]:
        stated = {str(value) for key, value in pairs if key == last_field}
        return {**dict(pairs), last_field: None} if len(stated) > 1 else dict(pairs)

    try:
        return json.loads(source, strict=False, object_pairs_hook=without_conflict), True
    except ValueError:
        pass
    except RecursionError:
        return None, False
    if len({stated.casefold() for stated in _statement(last_field).findall(source)}) != 1:
        return None, False
    value = json_repair.repair_json(source, return_objects=True, skip_json_loads=True)
    # Broken quotes can make a cut reply look whole, but not one whose last field is there.
    return value if isinstance(value, dict) and list(value)[-1:] == [last_field] else None, False


@cache
def _statement(field: str) -> re.Pattern[str]:
    return re.compile(rf"{field}[\"'”]?\s*:\s*[\"'“]?([^\s\"'”,}}]+)", re.IGNORECASE)


def _first(value: object, read: Callable[[dict[str, object]], T | None]) -> T | None:
    """What `read` makes of the object that `value` is or contains."""
    if isinstance(value, list):
        return next((result for item in value if (result := _first(item, read)) is not None), None)
    if not isinstance(value, dict):
        return None
    result = read(value)
    return result if result is not None else _first(list(value.values()), read)
