"""The middle turn's part of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from eduardo.evaluation.cells import NOT_MEASURED, p_value, shown, words
from eduardo.evaluation.middle_turn.summary import AuthorFigures, PairedFigure
from eduardo.evaluation.parts import Part, PartTable
from eduardo.judge import Rubric

_NAMES = {"score": "reward model score", "win": "win rate against the human turn"}


def middle_turn_part(
    authors: Sequence[AuthorFigures],
    comparisons: Sequence[PairedFigure],
    *,
    about: Mapping[str, str | int | float],
    left_out: Mapping[str, int],
    unanswered: Mapping[str, int],
) -> Part:
    notes = [
        f"{about['moments']} moments of {about['data']}: the tutor answers in place of the human teacher, in the "
        "middle of a human dialogue. A win is a score above that of the human's own turn; a tie is none. Mean "
        "[95 % interval], clustered by problem; win rates with Wilson's interval. Rubric scores go from 1 to 5; a "
        "reply without one is missing, never a number.",
        f"How it was measured: {', '.join(f'{words(name)} {value}' for name, value in about.items())}.",
    ]
    notes += [f"{number} dialogues left out: {reason}." for reason, number in left_out.items()]
    notes += [f"**{number} answers or ratings missing**: {reason}." for reason, number in unanswered.items()]
    tables = [PartTable(title="Middle turn", head=["author", *_columns()], rows=[_row(a) for a in authors])]
    if comparisons:
        tables.append(_differences(comparisons))
    data: dict[str, object] = {
        "authors": [asdict(author) for author in authors],
        "comparisons": [asdict(one) for one in comparisons],
        "about": dict(about),
        "left_out": dict(left_out),
    }
    return Part(title="Middle turn", notes=notes, tables=tables, data=data)


def _columns() -> list[str]:
    return [
        "reward model score",
        "margin over the human turn",
        "win rate",
        *(rubric.value for rubric in Rubric),
        "missing ratings",
        "characters",
        "answers",
        "blank",
        "cut for the reward model",
    ]


def _row(author: AuthorFigures) -> list[str]:
    return [
        author.name,
        shown(author.score),
        shown(author.margin),
        shown(author.win_rate, share=True),
        *(shown(author.rubrics[rubric.value]) for rubric in Rubric),
        f"{author.num_missing_ratings} of {author.num_ratings}",
        NOT_MEASURED if author.characters is None else f"{author.characters.value:.0f}",
        str(author.num_answers),
        str(author.num_blank),
        f"{author.num_cut} of {author.num_scored}",
    ]


def _differences(comparisons: Sequence[PairedFigure]) -> PartTable:
    return PartTable(
        title="Paired differences",
        head=["figure", "difference", "value [95 % interval]", "p (Holm)"],
        rows=[
            [
                _NAMES.get(one.figure, one.figure),
                f"{one.second} − {one.first}",
                shown(one.difference.estimate, share=one.figure == "win"),
                p_value(one.corrected_p_value),
            ]
            for one in comparisons
        ],
    )
