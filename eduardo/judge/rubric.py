"""The rubric judge: scores from 1 to 5. A diagnostic, never part of a reward.

A reply without exactly one score is a missing score, never a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from eduardo.json_reply import SchemaClient, as_text, find_objects, response_format
from eduardo.llm import Completer, Completion
from eduardo.settings import RubricSettings
from eduardo.types import FinishReason, Transcript
from eduardo.views import rubric_view

LOWEST, HIGHEST = 1, 5
RESPONSE_FORMAT = response_format(
    "assessment",
    {
        "reasoning": {"type": "string"},
        "score": {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))},
    },
)


class Rubric(StrEnum):
    PEDAGOGY = "pedagogy"
    FACTUALITY = "factuality"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One reply of the rubric judge. `score` is None when it held none; `fault` then says why."""

    score: int | None
    reason: str = ""
    fault: str | None = None


class RubricJudge:
    def __init__(self, client: Completer, settings: RubricSettings) -> None:
        self._settings = settings
        self._client = SchemaClient(client, RESPONSE_FORMAT, settings.structured_output, role="rubric judge")

    async def rate(
        self, transcript: Transcript, rubric: Rubric, *, last_turn_only: bool, seed: int
    ) -> tuple[Rating, ...]:
        """`settings.ratings` independent ratings, of the tutor's last turn or of all. Raises EndpointError."""
        settings = self._settings
        completions = await self._client.complete(
            rubric_view(transcript, rubric, last_turn_only=last_turn_only),
            n=settings.ratings,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            seed=seed,
        )
        return tuple(read_rating(completion) for completion in completions)


def mean_score(ratings: tuple[Rating, ...]) -> float | None:
    """Mean of the scores that could be read; None without one."""
    scores = [rating.score for rating in ratings if rating.score is not None]
    return fmean(scores) if scores else None


def read_rating(completion: Completion) -> Rating:
    """The score in a reply. Missing, with the reason in `fault`, when it was cut or holds none or several."""
    if completion.finish is not FinishReason.STOP:
        return Rating(score=None, fault=f"the reply did not end by itself (finish: {completion.finish})")
    found = [one.value for one in find_objects(completion.text or "", _rating, last_field="score")]
    if not found:
        return Rating(score=None, fault=f"the reply holds no object with a score of {LOWEST} to {HIGHEST}")
    if len({rating.score for rating in found}) > 1:
        return Rating(score=None, fault="the reply states different scores")
    return found[-1]


def _rating(assessment: dict[str, object]) -> Rating | None:
    score = assessment.get("score")
    if isinstance(score, str) and score.strip().isdecimal():
        score = int(score)
    if isinstance(score, bool) or not isinstance(score, int | float) or score != int(score):
        return None
    if not LOWEST <= score <= HIGHEST:
        return None
    return Rating(score=int(score), reason=as_text(assessment.get("reasoning")))
