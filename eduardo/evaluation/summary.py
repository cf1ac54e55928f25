"""The figures of one tutor over all its dialogues, by difficulty and by how dialogues ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eduardo.evaluation.figures import FIGURES, estimate
from eduardo.evaluation.rows import Row
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.statistics import Estimate
from eduardo.evaluation.tutors import Control
from eduardo.evaluation.validity import faults

GROUP_FIGURES = ("gain_transfer", "gain_of_means", "leak_rate", "teaching_reject_rate", "reward")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some of a tutor's dialogues. Descriptive: groups are not corrected for being many."""

    name: str
    num_dialogues: int
    num_problems: int
    figures: Mapping[str, Estimate | None]  # GROUP_FIGURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    tutor: str
    control: Control | None  # which control it is; None for a tutor
    num_planned: int
    rows: tuple[Row, ...]
    figures: Mapping[str, Estimate | None]
    by_difficulty: tuple[Group, ...]
    by_end_reason: tuple[Group, ...]
    end_reasons: Mapping[str, int]
    invalid_because: tuple[str, ...]


def summarize(
    tutor: str,
    rows: Sequence[Row],
    num_planned: int,
    settings: EvaluationSettings,
    *,
    control: Control | None = None,
) -> Summary:
    """All figures of one tutor, clustered by problem, and whether the evaluation can be trusted."""
    taught = [row for row in rows if row.num_tutor_turns > 0]  # what was never begun has not ended either
    return Summary(
        tutor=tutor,
        control=control,
        num_planned=num_planned,
        rows=tuple(rows),
        figures={name: estimate(name, rows) for name in FIGURES},
        by_difficulty=tuple(_by_difficulty(rows, settings.difficulty_bands)),
        by_end_reason=tuple(_by_end_reason(taught)),
        end_reasons=dict(sorted(Counter(row.end_reason.value for row in taught).items())),
        invalid_because=tuple(faults(rows, num_planned, settings.validity)),
    )


def _by_difficulty(rows: Sequence[Row], edges: Sequence[float]) -> list[Group]:
    """Bands of the cold solve rate on the variant, each with its lower edge; the last one with both."""
    groups = []
    for low, high in pairwise(edges):
        inside = [row for row in rows if low <= row.pre < high or row.pre == high == edges[-1]]
        if inside:
            groups.append(_group(f"{low:.0%} – {high:.0%}", inside))
    return groups


def _by_end_reason(rows: Sequence[Row]) -> list[Group]:
    reasons = sorted({row.end_reason for row in rows})
    return [_group(reason.value, [row for row in rows if row.end_reason is reason]) for reason in reasons]


def _group(name: str, rows: Sequence[Row]) -> Group:
    return Group(
        name=name,
        num_dialogues=len(rows),
        num_problems=len({row.pair_id for row in rows}),
        figures={figure: estimate(figure, rows) for figure in GROUP_FIGURES},
    )
