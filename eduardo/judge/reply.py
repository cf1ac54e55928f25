"""One judge reply → one vote. What can not be read for certain is a lost vote, never a guess."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from eduardo.json_reply import as_text, find_objects, response_format
from eduardo.judge.quotes import quotes_tutor
from eduardo.llm import Completion
from eduardo.types import Criterion, Decision, FinishReason, Transcript, Vote

_logger = logging.getLogger(__name__)

Decisions: TypeAlias = Mapping[str, Decision]  # the words that a reply may decide with → what they mean


def verdict_format(*texts: str, decisions: Decisions) -> dict[str, object]:
    """The `response_format` of a verdict: free `texts`, then the decision."""
    fields: dict[str, Mapping[str, object]] = {text: {"type": "string"} for text in texts}
    return response_format("verdict", {**fields, "decision": {"type": "string", "enum": list(decisions)}})


_ACCEPT_OR_REJECT: Decisions = {decision.value: decision for decision in Decision}
RESPONSE_FORMAT = verdict_format("reasoning", "quote", decisions=_ACCEPT_OR_REJECT)


def read_vote(completion: Completion, criterion: Criterion, transcript: Transcript) -> Vote:
    """The vote on a criterion in a judge's reply. Lost as well when it rejects a handover that no tutor turn holds."""
    vote = read_decision(completion, _ACCEPT_OR_REJECT)
    if criterion is not Criterion.NO_HANDOVER or vote.decision is not Decision.REJECT:
        return vote
    if not quotes_tutor(vote.quote, transcript):
        return replace(vote, decision=None, fault="a rejected handover must quote a tutor turn")
    return vote


def read_decision(completion: Completion, decisions: Decisions) -> Vote:
    """The vote in a judge's reply: the last verdict object outside its thinking.

    Lost, with the reason in `fault`, when the reply did not end by itself or holds no verdict object.
    """
    if completion.finish is not FinishReason.STOP:
        return _lost(f"the reply did not end by itself (finish: {completion.finish})")
    text = completion.text or ""
    if not text.strip():
        return _lost("the reply is empty")
    verdicts = find_objects(text, partial(_vote, decisions=decisions), last_field="decision")
    if not verdicts:
        return _lost(f"the reply holds no verdict object with a decision of {' or '.join(decisions)}")
    vote = verdicts[-1].value
    if any(earlier.value.decision is not vote.decision for earlier in verdicts):
        _logger.info("judge reply with conflicting verdicts, the last one counts: %s", text)
    return vote


def _lost(fault: str) -> Vote:
    return Vote(decision=None, fault=fault)


def _vote(verdict: dict[str, object], decisions: Decisions) -> Vote | None:
    word = verdict.get("decision")
    if not isinstance(word, str) or word.strip().casefold() not in decisions:
        return None
    return Vote(
        decision=decisions[word.strip().casefold()],
        reason=as_text(verdict.get("reasoning")),
        quote=as_text(verdict.get("quote")),
    )
