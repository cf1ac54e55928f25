"""One judge reply → one vote. What can not be read for certain is a lost vote, never a guess."""

from __future__ import annotations

import logging

from eduardo.json_reply import as_text, find_objects, response_format
from eduardo.llm import Completion
from eduardo.types import Criterion, Decision, FinishReason, Vote

_logger = logging.getLogger(__name__)

RESPONSE_FORMAT = response_format(
    "verdict",
    {
        "reasoning": {"type": "string"},
        "quote": {"type": "string"},
        "decision": {"type": "string", "enum": [decision.value for decision in Decision]},
    },
)


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
    verdicts = find_objects(text, _vote, last_field="decision")
    if not verdicts:
        return _lost("the reply holds no verdict object with a decision of accept or reject")
    vote = verdicts[-1].value
    if any(earlier.value.decision is not vote.decision for earlier in verdicts):
        _logger.info("judge reply with conflicting verdicts, the last one counts: %s", text)
    if criterion is Criterion.NO_HANDOVER and vote.decision is Decision.REJECT and not vote.quote.strip():
        return _lost("a rejected handover must quote the tutor", reason=vote.reason)
    return vote


def _lost(fault: str, reason: str = "") -> Vote:
    return Vote(decision=None, fault=fault, reason=reason)


def _vote(verdict: dict[str, object]) -> Vote | None:
    decision = verdict.get("decision")
    if not isinstance(decision, str) or decision.strip().casefold() not in set(Decision):
        return None
    return Vote(
        decision=Decision(decision.strip().casefold()),
        reason=as_text(verdict.get("reasoning")),
        quote=as_text(verdict.get("quote")),
    )
