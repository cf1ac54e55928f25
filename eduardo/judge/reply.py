"""One judge reply → one vote. What can not be read for certain is a lost vote, never a guess."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

import json_repair

from eduardo.judge.latex import keep_latex
from eduardo.llm import Completion
from eduardo.protocol import ThinkingMode, visible_spans
from eduardo.types import Criterion, Decision, FinishReason, Vote

_logger = logging.getLogger(__name__)

# The decision comes last, so that a reply that was cut can not look finished.
RESPONSE_FORMAT: dict[str, object] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "reasoning": {"type": "string"},
                "quote": {"type": "string"},
                "decision": {"type": "string", "enum": [decision.value for decision in Decision]},
            },
            "required": ["reasoning", "quote", "decision"],
            "additionalProperties": False,
        },
    },
}

# A reply beyond these is degenerate; they bound the time spent on it.
_MAX_OBJECTS = 50
_MAX_DEPTH = 20
_START = re.compile(r"\{\s*[\"'“]")
_BRACES_OUTSIDE_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_BRACES = re.compile(r"[{}]")
_STATED_DECISION = re.compile(r"decision[\"'”]?\s*:\s*[\"'“]?(\w+)", re.IGNORECASE)


def read_vote(completion: Completion, criterion: Criterion) -> Vote:
    """The vote in a judge's reply: the last verdict object outside its thinking.

    Lost, with the reason in `fault`, when the reply did not end by itself, holds no verdict object, or
    rejects a handover without quoting it.
    """
    if completion.finish is not FinishReason.STOP:
        return _lost(f"the reply did not end by itself (finish: {completion.finish})")
    text = completion.text or ""
    if not text.strip():
        return _lost("the reply is empty")
    verdicts = _outside_thinking(text, list(_find_verdicts(text)))
    if not verdicts:
        return _lost("the reply holds no verdict object with a decision of accept or reject")
    vote = verdicts[-1].vote
    if any(earlier.vote.decision is not vote.decision for earlier in verdicts):
        _logger.info("judge reply with conflicting verdicts, the last one counts: %s", text)
    if criterion is Criterion.NO_HANDOVER and vote.decision is Decision.REJECT and not vote.quote.strip():
        return _lost("a rejected handover must quote the tutor", reason=vote.reason)
    return vote


def _lost(fault: str, reason: str = "") -> Vote:
    return Vote(decision=None, fault=fault, reason=reason)


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    vote: Vote


def _outside_thinking(text: str, found: list[_Found]) -> list[_Found]:
    """Drop drafts. Tags inside a verdict are quotations, so they are masked before thinking is looked for."""
    masked = text
    for verdict in found:
        masked = masked[: verdict.start] + "." * (verdict.end - verdict.start) + masked[verdict.end :]
    spans = visible_spans(masked, ThinkingMode.OPTIONAL)
    return [v for v in found if any(start <= v.start < end for start, end in spans)]


def _find_verdicts(text: str) -> Iterator[_Found]:
    position = 0
    for _ in range(_MAX_OBJECTS):
        start = _START.search(text, position)
        if start is None:
            return
        position = start.end()
        for end in _ends(text, start.start()):
            value, is_strict = _parse(text[start.start() : end])
            vote = _first_vote(value)
            if vote is not None:
                yield _Found(start.start(), end, vote)
            if vote is not None or is_strict:
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


def _parse(source: str) -> tuple[object, bool]:
    """The object in `source`, and whether it was sound JSON. Where repair would have to choose: None."""
    source = keep_latex(source)
    try:
        return json.loads(source, strict=False, object_pairs_hook=_without_conflict), True
    except ValueError:
        pass
    except RecursionError:
        return None, False
    if len({stated.casefold() for stated in _STATED_DECISION.findall(source)}) != 1:
        return None, False
    value = json_repair.repair_json(source, return_objects=True, skip_json_loads=True)
    # Broken quotes can make a cut reply look whole, but not one whose last field is the decision.
    return value if isinstance(value, dict) and list(value)[-1:] == ["decision"] else None, False


def _without_conflict(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object that states two different decisions states none."""
    decisions = {str(value) for key, value in pairs if key == "decision"}
    return {**dict(pairs), "decision": None} if len(decisions) > 1 else dict(pairs)


def _first_vote(value: object) -> Vote | None:
    """The verdict that `value` is or contains. Strings are not looked into: they quote."""
    if isinstance(value, list):
        return next((vote for vote in map(_first_vote, value) if vote is not None), None)
    if not isinstance(value, dict):
        return None
    decision = value.get("decision")
    if isinstance(decision, str) and decision.strip().casefold() in set(Decision):
        return Vote(
            decision=Decision(decision.strip().casefold()),
            reason=_as_text(value.get("reasoning")),
            quote=_as_text(value.get("quote")),
        )
    return _first_vote(list(value.values()))


def _as_text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # half an escaped emoji can not be stored
