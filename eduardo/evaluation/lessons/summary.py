"""From scored lessons to the figures of each tutor, and to the part of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from eduardo.evaluation.cells import p_value, shown
from eduardo.evaluation.paired import Difference, holm, paired_difference
from eduardo.evaluation.parts import Part, PartTable
from eduardo.evaluation.statistics import Estimate, clustered_mean, clustered_rate
from eduardo.records import flat_metrics
from eduardo.types import EndReason, ScoredDialogue


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonFigures:
    """One tutor. Every estimate is clustered by background."""

    name: str
    num_planned: int
    num_measured: int
    preference: Estimate | None  # win rate over the data set's own conversations, in [0, 1]
    order_gap: Estimate | None  # how far the two orders are apart: what the judge owes to position
    tutor_ended: Estimate | None
    student_ended: Estimate | None
    tutor_turns: Estimate | None
    visible_tokens: Estimate | None

    @property
    def void_share(self) -> float:
        return 1.0 - self.num_measured / max(1, self.num_planned)


def figures_of(name: str, lessons: Sequence[ScoredDialogue], num_planned: int) -> LessonFigures:
    numbers = [flat_metrics(lesson) for lesson in lessons]

    def mean(key: str) -> Estimate | None:
        measured = [(n[key], lesson.pair_id) for n, lesson in zip(numbers, lessons, strict=True)]
        known = [(value, cluster) for value, cluster in measured if value is not None]
        return clustered_mean([value for value, _ in known], [cluster for _, cluster in known])

    def ended(reason: EndReason) -> Estimate | None:
        hits = [lesson.transcript.end_reason is reason for lesson in lessons]
        return clustered_rate(hits, [lesson.pair_id for lesson in lessons])

    return LessonFigures(
        name=name,
        num_planned=num_planned,
        num_measured=len(lessons),
        preference=mean("preference"),
        order_gap=mean("preference_order_gap"),
        tutor_ended=ended(EndReason.TUTOR_ENDED),
        student_ended=ended(EndReason.STUDENT_ENDED),
        tutor_turns=mean("num_tutor_turns"),
        visible_tokens=mean("tutor_visible_tokens"),
    )


def lesson_part(
    lessons: Mapping[str, Sequence[ScoredDialogue]],
    *,
    num_planned: int,
    max_void_share: float,
    about: Mapping[str, object],
) -> Part:
    """Figures of all tutors, and the difference of every later one to the first, background by background."""
    figures = [figures_of(name, scored, num_planned) for name, scored in lessons.items()]
    notes = [
        "Preference: the judge's preference for the lesson over the data set's own conversation about the same "
        "background, asked in both orders; 0.5 is as good as the data set. Mean [95 % interval], clustered by "
        "background; rates with Wilson's interval."
    ]
    notes += [
        f"**INVALID: {tutor.name}**: {tutor.void_share:.0%} of its lessons are void (limit {max_void_share:.0%})."
        for tutor in figures
        if tutor.void_share > max_void_share
    ]
    differences = _differences(lessons)
    tables = [PartTable(title="Education Dialogue", head=_HEAD, rows=[_row(tutor) for tutor in figures])]
    if differences:
        corrected = holm([difference.p_value for _, difference in differences])
        tables.append(
            PartTable(
                title="Paired differences in preference",
                head=["difference", "value [95 % interval]", "p (Holm)"],
                rows=[
                    [name, shown(difference.estimate), p_value(p)]
                    for (name, difference), p in zip(differences, corrected, strict=True)
                ],
            )
        )
    data: dict[str, object] = {
        "tutors": [asdict(tutor) for tutor in figures],
        "differences": {name: asdict(difference) for name, difference in differences},
        **about,
    }
    return Part(title="Education Dialogue", notes=notes, tables=tables, data=data)


_HEAD = [
    "tutor",
    "preference",
    "order gap",
    "ended by the tutor",
    "ended by the student",
    "tutor turns",
    "tokens per tutor turn",
    "lessons",
]


def _row(tutor: LessonFigures) -> list[str]:
    return [
        tutor.name,
        shown(tutor.preference),
        shown(tutor.order_gap),
        shown(tutor.tutor_ended, share=True),
        shown(tutor.student_ended, share=True),
        shown(tutor.tutor_turns),
        shown(tutor.visible_tokens),
        f"{tutor.num_measured} of {tutor.num_planned}",
    ]


def _differences(lessons: Mapping[str, Sequence[ScoredDialogue]]) -> list[tuple[str, Difference]]:
    by_background = {name: _by_background(scored) for name, scored in lessons.items()}
    first, *others = by_background
    found = (
        (f"{other} − {first}", paired_difference(by_background[first], by_background[other]))
        for other in others
    )
    return [(name, difference) for name, difference in found if difference is not None]


def _by_background(lessons: Sequence[ScoredDialogue]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for lesson in lessons:
        if lesson.preference is not None and lesson.preference.value is not None:
            values.setdefault(lesson.pair_id, []).append(lesson.preference.value)
    return values
