"""The judge's preference for a lesson over the data set's own, asked in both orders so that order cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from eduardo.education_dialogue.conversation import Background
from eduardo.education_dialogue.views import Lesson, preference_view
from eduardo.judge.reply import read_decision, verdict_format
from eduardo.judge.voting import VotingPanel, is_measured, tally
from eduardo.llm import Completer
from eduardo.settings import RecipeSettings
from eduardo.types import Comparison, Decision, Vote

# An accepting vote prefers the lesson, a rejecting one the reference; in either order.
_DECISIONS = {
    True: {"first": Decision.ACCEPT, "second": Decision.REJECT},
    False: {"first": Decision.REJECT, "second": Decision.ACCEPT},
}
RESPONSE_FORMAT = verdict_format("reasoning", decisions=_DECISIONS[True])


class PreferenceJudge:
    """Asks for votes on a lesson and a reference, shown in either order."""

    def __init__(self, client: Completer, recipe: RecipeSettings) -> None:
        self._panel = VotingPanel(client, recipe.judge, RESPONSE_FORMAT)
        self._settle_early = recipe.preference.estimate == "majority"

    async def compare(
        self, background: Background, lesson: Lesson, reference: Lesson, *, seed: int
    ) -> tuple[Comparison, Comparison]:
        """The votes in both orders, asked concurrently. An endpoint that stays unavailable costs the votes
        that it owes. Raises EndpointRejected."""
        asked = await asyncio.gather(
            self._ask(background, lesson, reference, lesson_first=True, seed=seed),
            self._ask(background, lesson, reference, lesson_first=False, seed=seed),
            return_exceptions=True,
        )
        for result in asked:
            if isinstance(result, BaseException):
                raise result
        first, second = (result for result in asked if isinstance(result, Comparison))
        return first, second

    async def _ask(
        self, background: Background, lesson: Lesson, reference: Lesson, *, lesson_first: bool, seed: int
    ) -> Comparison:
        pair = (lesson, reference) if lesson_first else (reference, lesson)
        votes = await self._panel.collect(
            preference_view(background, *pair),
            partial(read_decision, decisions=_DECISIONS[lesson_first]),
            seed_parts=(seed, "preference", "lesson first" if lesson_first else "reference first"),
            settle_early=self._settle_early,
        )
        return Comparison(dialogue_first=lesson_first, votes=votes)


def preference_of(comparisons: Sequence[Comparison], recipe: RecipeSettings) -> float | None:
    """Mean over both orders of what their votes come to, in [0, 1]; None when either order is not measured.

    `estimate: majority` counts an order as 1, 0 or, on a tie, a half; `share` takes its share of votes.
    """
    orders = [_of_order(comparison.votes, recipe) for comparison in comparisons]
    measured = [order for order in orders if order is not None]
    if not measured or len(measured) < len(orders):
        return None
    return sum(measured) / len(measured)


def _of_order(votes: Sequence[Vote], recipe: RecipeSettings) -> float | None:
    if not is_measured(votes, recipe.judge.votes):
        return None
    accepts, rejects = tally(votes)
    if recipe.preference.estimate == "share":
        return accepts / (accepts + rejects)
    return 0.5 if accepts == rejects else float(accepts > rejects)
