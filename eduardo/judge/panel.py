"""Votes → verdicts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.judge.reply import RESPONSE_FORMAT, read_vote
from eduardo.llm import ChatClient, Completion
from eduardo.seeds import derive_seed
from eduardo.settings import JudgeSettings
from eduardo.types import Criterion, Decision, Transcript, Verdict, Vote
from eduardo.views import Message, judge_view

_logger = logging.getLogger(__name__)


class Judge:
    """Asks for the votes on a transcript, as few as settle each criterion."""

    def __init__(self, client: ChatClient, settings: JudgeSettings) -> None:
        self._client, self._settings = client, settings
        self._sends_schema = settings.structured_output != "off"

    async def judge(self, transcript: Transcript, *, seed: int) -> tuple[Verdict, ...]:
        """One verdict per criterion, asked concurrently. Without a decision the criterion is unmeasured.

        An endpoint that stays unavailable costs the votes that it owes. Raises EndpointRejected.
        """
        verdicts = await asyncio.gather(
            *(self._decide(transcript, criterion, seed) for criterion in Criterion), return_exceptions=True
        )
        for verdict in verdicts:
            if isinstance(verdict, BaseException):
                raise verdict
        return tuple(verdict for verdict in verdicts if isinstance(verdict, Verdict))

    async def _decide(self, transcript: Transcript, criterion: Criterion, seed: int) -> Verdict:
        """The first request asks for a majority, each later one for what could still settle the matter.

        At most `1 + votes` requests, so that a judge that writes nothing usable can not be asked for ever.
        """
        messages = judge_view(transcript, criterion)
        num_votes = self._settings.votes
        votes: list[Vote] = []
        for request in range(1 + num_votes):
            num_missing = _num_missing(votes, num_votes)
            if num_missing == 0:
                break
            try:
                completions = await self._ask(
                    messages, n=num_missing, seed=derive_seed(seed, criterion, request)
                )
            except EndpointUnavailable as error:
                votes += [Vote(decision=None, fault=f"endpoint: {error}")] * num_missing
                break
            new = [read_vote(completion, criterion) for completion in completions[:num_missing]]
            absent = Vote(decision=None, fault="the server sent fewer votes than asked for")
            votes += [*new, *[absent] * (num_missing - len(new))]
        return Verdict(criterion=criterion, decision=_decision(votes, num_votes), votes=tuple(votes))

    async def _ask(self, messages: list[Message], *, n: int, seed: int) -> tuple[Completion, ...]:
        ask = partial(
            self._client.complete,
            messages,
            n=n,
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            seed=seed,
        )
        if not self._sends_schema:
            return await ask()
        try:
            return await ask(response_format=RESPONSE_FORMAT)
        except EndpointRejected as error:
            if self._settings.structured_output == "json_schema":
                raise
            completions = await ask()
            # Only here has the server taken the same request without a schema: so the schema was the matter.
            self._sends_schema = False
            _logger.warning(
                "the judge's endpoint takes no JSON schema, asking without from now on: %s", error
            )
            return completions


def _majority(num_votes: int) -> int:
    return num_votes // 2 + 1


def _tally(votes: Sequence[Vote]) -> tuple[int, int]:
    decisions = [vote.decision for vote in votes]
    return decisions.count(Decision.ACCEPT), decisions.count(Decision.REJECT)


def _num_missing(votes: Sequence[Vote], num_votes: int) -> int:
    """The fewest further votes that could settle the matter; 0 when it is settled or all votes are in."""
    accepts, rejects = _tally(votes)
    return max(0, min(_majority(num_votes) - max(accepts, rejects), num_votes - accepts - rejects))


def _decision(votes: Sequence[Vote], num_votes: int) -> Decision | None:
    """Reject when more than half of the valid votes do.

    None with fewer valid votes than a majority, and on a tie that a lost vote left open.
    """
    accepts, rejects = _tally(votes)
    if accepts + rejects < _majority(num_votes) or (accepts == rejects and accepts + rejects < num_votes):
        return None
    return Decision.REJECT if rejects > accepts else Decision.ACCEPT
