"""Votes of a judge on one question: how many are asked for, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from eduardo.errors import EndpointUnavailable
from eduardo.json_reply import SchemaClient
from eduardo.llm import Completer, Completion
from eduardo.seeds import derive_seed
from eduardo.settings import JudgeSettings
from eduardo.types import Decision, Message, Vote


class VotingPanel:
    """Asks a judge's endpoint for votes of one form (`schema`)."""

    def __init__(self, client: Completer, settings: JudgeSettings, schema: Mapping[str, object]) -> None:
        self._client = SchemaClient(client, schema, settings.structured_output, role="judge")
        self._settings = settings

    async def collect(
        self,
        messages: list[Message],
        read: Callable[[Completion], Vote],
        *,
        seed_parts: tuple[str | int, ...],
        settle_early: bool = True,
    ) -> tuple[Vote, ...]:
        """The votes on one question, lost ones included.

        The first request asks for a majority, each later one for what could still settle the matter; without
        `settle_early` all votes are asked for. At most `1 + votes` requests, so that a judge that writes nothing
        usable can not be asked for ever. An endpoint that stays unavailable costs the votes that it owes. Raises
        EndpointRejected.
        """
        settings = self._settings
        votes: list[Vote] = []
        for request in range(1 + settings.votes):
            num_missing = _num_missing(votes, settings.votes, settle_early=settle_early)
            if num_missing == 0:
                break
            try:
                completions = await self._client.complete(
                    messages,
                    n=num_missing,
                    temperature=settings.temperature,
                    max_tokens=settings.max_tokens,
                    seed=derive_seed(*seed_parts, request),
                )
            except EndpointUnavailable as error:
                votes += [Vote(decision=None, fault=f"endpoint: {error}")] * num_missing
                break
            new = [read(completion) for completion in completions[:num_missing]]
            absent = Vote(decision=None, fault="the server sent fewer votes than asked for")
            votes += [*new, *[absent] * (num_missing - len(new))]
        return tuple(votes)


def tally(votes: Sequence[Vote]) -> tuple[int, int]:
    """Numbers of accepting and of rejecting votes; lost ones are neither."""
    decisions = [vote.decision for vote in votes]
    return decisions.count(Decision.ACCEPT), decisions.count(Decision.REJECT)


def is_measured(votes: Sequence[Vote], num_votes: int) -> bool:
    """Whether the valid votes suffice: a majority of `num_votes`."""
    return sum(tally(votes)) >= _majority(num_votes)


def _majority(num_votes: int) -> int:
    return num_votes // 2 + 1


def _num_missing(votes: Sequence[Vote], num_votes: int, *, settle_early: bool) -> int:
    """The fewest further votes that could settle the matter; 0 when it is settled or all votes are in."""
    accepts, rejects = tally(votes)
    num_wanted = _majority(num_votes) - max(accepts, rejects) if settle_early else num_votes
    return max(0, min(num_wanted, num_votes - accepts - rejects))
