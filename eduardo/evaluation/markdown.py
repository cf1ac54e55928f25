"""The report of an evaluation as Markdown, for papers and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eduardo.evaluation.cells import cell, detectable, p_value, words
from eduardo.evaluation.figures import FIGURES
from eduardo.evaluation.report import Evaluation, TutorReport
from eduardo.evaluation.summary import GROUP_FIGURES, Group

_DIGITS = 3


def to_markdown(evaluation: Evaluation) -> str:
    """The whole report: figures, differences, breakdowns, validity, how it was made."""
    blocks = [
        ["# Evaluation"],
        validity(evaluation),
        figures(evaluation),
        [f"- `{name}`: {meaning}" for name, meaning in FIGURES.items()],
        ["## Paired differences"] if evaluation.comparisons else [],
        differences(evaluation),
        ["## By difficulty", "", "Bands of the student's cold solve rate on the variant."],
        by_difficulty(evaluation),
        ["## How dialogues ended"],
        by_end_reason(evaluation),
        ["## How it was made"],
        [f"- {words(name)}: {value}" for name, value in evaluation.about.items()],
    ]
    return joined(blocks)


def joined(blocks: Sequence[Sequence[str]]) -> str:
    """Blocks of lines with one empty line between them; empty ones are left out."""
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def validity(evaluation: Evaluation) -> list[str]:
    invalid = [
        f"**INVALID: {tutor.tutor}**: {'; '.join(tutor.invalid_because)}."
        for tutor in evaluation.tutors
        if tutor.invalid_because
    ]
    return invalid or ["All validity checks passed."]


def figures(evaluation: Evaluation) -> list[str]:
    tutors = evaluation.tutors
    rows = [
        [words(name), *(cell(name, tutor.figures.get(name), digits=_DIGITS) for tutor in tutors)]
        for name in FIGURES
    ]
    measured = ["dialogues measured", *(f"{tutor.num_measured} of {tutor.num_planned}" for tutor in tutors)]
    note = "Value [95 % interval], clustered by problem; rates with Wilson's interval."
    return [*_table(["figure", *(tutor.tutor for tutor in tutors)], [*rows, measured]), "", note]


def differences(evaluation: Evaluation) -> list[str]:
    if not evaluation.comparisons:
        return []
    head = ["figure", "difference", "value [95 % interval]", "bootstrap", "p (Holm)", "detectable"]
    rows = [
        [
            words(one.figure),
            f"{one.second} − {one.first}",
            cell(one.figure, one.difference.estimate, digits=_DIGITS),
            cell(one.figure, one.difference.bootstrap, digits=_DIGITS).partition(" ")[2],
            p_value(one.corrected_p_value),
            detectable(one.figure, one.difference.minimum_detectable),
        ]
        for one in evaluation.comparisons
    ]
    note = (
        "Paired by problem. *bootstrap*: interval of the paired cluster bootstrap. "
        f"*p*: corrected for all {len(rows)} comparisons. "
        "*detectable*: smallest true difference that this size shows with 80 % power."
    )
    return [*_table(head, rows), "", note]


def by_difficulty(evaluation: Evaluation) -> list[str]:
    return _groups(evaluation, "cold solve rate", lambda tutor: tutor.by_difficulty)


def by_end_reason(evaluation: Evaluation) -> list[str]:
    return _groups(evaluation, "ended", lambda tutor: tutor.by_end_reason)


def _groups(evaluation: Evaluation, kind: str, of: Callable[[TutorReport], Sequence[Group]]) -> list[str]:
    head = ["tutor", kind, "dialogues", *map(words, GROUP_FIGURES)]
    rows = [
        [
            tutor.tutor,
            words(group.name),
            str(group.num_dialogues),
            *(cell(name, group.figures.get(name), digits=_DIGITS) for name in GROUP_FIGURES),
        ]
        for tutor in evaluation.tutors
        for group in of(tutor)
    ]
    return _table(head, rows) if rows else []


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(head), "|" + "---|" * len(head), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
