"""Votes → verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from eduardo.judge.reply import RESPONSE_FORMAT, read_vote
from eduardo.judge.voting import VotingPanel, is_measured, tally
from eduardo.llm import Completer
from eduardo.settings import JudgeSettings
from eduardo.types import Criterion, Decision, Transcript, Verdict, Vote
from eduardo.views import judge_view


class Judge:
    """Asks for the votes on a transcript, as few as settle each criterion."""

    def __init__(self, client: Completer, settings: JudgeSettings) -> None:
        self._panel, self._num_votes = VotingPanel(client, settings, RESPONSE_FORMAT), settings.votes

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
        votes = await self._panel.collect(
            judge_view(transcript, criterion),
            partial(read_vote, criterion=criterion, transcript=transcript),
            seed_parts=(seed, criterion),
        )
        return Verdict(criterion=criterion, decision=_decision(votes, self._num_votes), votes=votes)


def _decision(votes: Sequence[Vote], num_votes: int) -> Decision | None:
    """Reject when more than half of the valid votes do; a tie accepts. None with fewer valid votes than a majority."""
    if not is_measured(votes, num_votes):
        return None
    accepts, rejects = tally(votes)
    return Decision.REJECT if rejects > accepts else Decision.ACCEPT
