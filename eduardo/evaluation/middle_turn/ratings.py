"""Second stage, beside the reward model: the rubric judge scores the answers from 1 to 5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from eduardo.evaluation.jsonl import append_lines, read_lines
from eduardo.evaluation.middle_turn.answers import Answer, Progress, work_on_all
from eduardo.evaluation.middle_turn.moments import Moment
from eduardo.judge import Rating, Rubric, RubricJudge
from eduardo.seeds import derive_seed


class Rated(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    rubric: Rubric
    ratings: tuple[Rating, ...]


async def rate_all(
    moments: Sequence[Moment],
    answers: Mapping[str, Answer],
    judge: RubricJudge,
    *,
    file: Path,
    seed: int,
    max_at_once: int,
    progress: Progress,
) -> Counter[str]:
    """Rate every answer that `file` does not hold yet on every rubric; returns why some could not be."""
    done = Counter(rated.id for rated in read_lines(file, Rated))

    async def work(moment: Moment) -> Sequence[Rated]:
        transcript = moment.answered(answers[moment.id].text)
        return [
            Rated(
                id=moment.id,
                rubric=rubric,
                ratings=await judge.rate(
                    transcript,
                    rubric,
                    last_turn_only=True,
                    seed=derive_seed(seed, "rubric", rubric, moment.id),
                ),
            )
            for rubric in Rubric
        ]

    missing = [m for m in moments if m.id in answers and done[m.id] < len(Rubric)]
    with append_lines(file, Rated) as writer:
        return await work_on_all(missing, work, writer, max_at_once=max_at_once, progress=progress)
