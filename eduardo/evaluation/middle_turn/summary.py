"""Last stage: from scores and ratings to figures of every author, the human teacher first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eduardo.evaluation.jsonl import read_lines
from eduardo.evaluation.middle_turn.answers import Answer
from eduardo.evaluation.middle_turn.moments import Moment
from eduardo.evaluation.middle_turn.ratings import Rated
from eduardo.evaluation.middle_turn.reward_model import Score
from eduardo.evaluation.paired import Difference, holm, paired_difference, paired_rate_difference
from eduardo.evaluation.statistics import Estimate, clustered_mean, clustered_rate
from eduardo.judge import Rubric, mean_score
from eduardo.types import TurnFault

HUMAN = "human"  # the author of the turns that the data set holds
ANSWERS, SCORES, RATINGS = "answers.jsonl", "scores/scores.jsonl", "ratings/ratings.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorFigures:
    """Means and rates are clustered by problem; None where nothing was measured."""

    name: str
    num_answers: int
    num_scored: int
    num_cut: int  # conversations that were too long for the reward model
    num_blank: int
    num_ratings: int
    num_missing_ratings: int  # replies of the rubric judge without a score
    characters: Estimate | None  # of an answer
    score: Estimate | None
    margin: Estimate | None  # score minus that of the human's turn
    win_rate: Estimate | None  # share of turns that score above the human's; a tie is none
    rubrics: dict[str, Estimate | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedFigure:
    """`second` minus `first` on the problems that both were measured on."""

    figure: str
    first: str
    second: str
    difference: Difference
    corrected_p_value: float  # Holm, over all comparisons of the report


class AuthorRecords:
    """What the files of one author hold about the moments asked for, by moment."""

    def __init__(self, name: str, folder: Path, moments: Sequence[Moment]) -> None:
        self.name = name
        self.cluster = {moment.id: moment.cluster for moment in moments}
        self.answers = {one.id: one for one in read_lines(folder / ANSWERS, Answer) if one.id in self.cluster}
        self.scores = {one.id: one for one in read_lines(folder / SCORES, Score) if one.id in self.cluster}
        by_rubric = {(one.id, one.rubric): one for one in read_lines(folder / RATINGS, Rated)}
        self.rated = [one for one in by_rubric.values() if one.id in self.cluster]

    def values(self, figure: str, human: AuthorRecords) -> dict[str, float]:
        """Moment → value of `score`, `margin`, `win` or a rubric, where it was measured."""
        scores = {name: one.score for name, one in self.scores.items()}
        if figure == "score":
            return scores
        if figure in ("margin", "win"):
            gaps = {name: scores[name] - human.scores[name].score for name in scores if name in human.scores}
            return gaps if figure == "margin" else {name: float(gap > 0) for name, gap in gaps.items()}
        means = {one.id: mean_score(one.ratings) for one in self.rated if one.rubric == figure}
        return {name: mean for name, mean in means.items() if mean is not None}

    def mean(self, values: Mapping[str, float]) -> Estimate | None:
        return clustered_mean(list(values.values()), [self.cluster[name] for name in values])

    def rate(self, values: Mapping[str, float]) -> Estimate | None:
        return clustered_rate([value > 0 for value in values.values()], [self.cluster[n] for n in values])

    def by_cluster(self, values: Mapping[str, float]) -> dict[str, list[float]]:
        gathered: dict[str, list[float]] = {}
        for name, value in values.items():
            gathered.setdefault(self.cluster[name], []).append(value)
        return gathered


def figures_of(author: AuthorRecords, human: AuthorRecords) -> AuthorFigures:
    ratings = [rating for one in author.rated for rating in one.ratings]
    is_human = author is human
    return AuthorFigures(
        name=author.name,
        num_answers=len(author.answers),
        num_scored=len(author.scores),
        num_cut=sum(score.was_cut for score in author.scores.values()),
        num_blank=sum(TurnFault.BLANK.value in answer.faults for answer in author.answers.values()),
        num_ratings=len(ratings),
        num_missing_ratings=sum(rating.score is None for rating in ratings),
        characters=author.mean({name: float(len(one.text)) for name, one in author.answers.items()}),
        score=author.mean(author.values("score", human)),
        margin=None if is_human else author.mean(author.values("margin", human)),
        win_rate=None if is_human else author.rate(author.values("win", human)),
        rubrics={rubric.value: author.mean(author.values(rubric, human)) for rubric in Rubric},
    )


def compare(tutors: Sequence[AuthorRecords], human: AuthorRecords) -> list[PairedFigure]:
    """Every later tutor against the first one, and every tutor's rubric scores against the human's."""
    planned = [("score", tutors[0], other) for other in tutors[1:]]
    planned += [("win", tutors[0], other) for other in tutors[1:]]
    planned += [(rubric.value, human, tutor) for rubric in Rubric for tutor in tutors]
    found = [
        (figure, first.name, second.name, difference)
        for figure, first, second in planned
        if (difference := _difference(figure, first, second, human)) is not None
    ]
    corrected = holm([difference.p_value for *_, difference in found])
    return [
        PairedFigure(figure=figure, first=first, second=second, difference=difference, corrected_p_value=p)
        for (figure, first, second, difference), p in zip(found, corrected, strict=True)
    ]


def _difference(
    figure: str, first: AuthorRecords, second: AuthorRecords, human: AuthorRecords
) -> Difference | None:
    """On the moments that both were measured on, problem by problem."""
    one, other = first.values(figure, human), second.values(figure, human)
    shared = one.keys() & other.keys()
    paired = paired_rate_difference if figure == "win" else paired_difference
    return paired(
        first.by_cluster({name: value for name, value in one.items() if name in shared}),
        second.by_cluster({name: value for name, value in other.items() if name in shared}),
    )
