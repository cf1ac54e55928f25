"""What a finished set looks like, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from eduardo.llm import TokenUsage
from eduardo.transfer_generation.assemble import Finished
from eduardo.transfer_generation.outcome import Kept, Reason, Variant
from eduardo.transfer_generation.source import SourceSet

ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    num_source_rows: int
    num_dropped: dict[str, int]  # rows of the source that cannot be used, by reason
    num_chosen: int
    num_finished: int
    num_with_variant: int  # problems
    num_variants: dict[str, int]  # accepted, closest, none
    rounds: dict[int, dict[str, int]]  # round → what became of its drafts
    near_copies: tuple[tuple[str, str, str], ...]  # source id, what the variant is too close to, its text
    source_rates: tuple[float, ...]
    variant_rates: tuple[float, ...]  # of the variants that were kept
    gaps: tuple[float, ...]  # variant minus source, of the variants that were kept
    rewriter_usage: TokenUsage
    student_usage: TokenUsage

    @property
    def mean_gap(self) -> float | None:
        return fmean(self.gaps) if self.gaps else None

    @property
    def mean_distance(self) -> float | None:
        return fmean(map(abs, self.gaps)) if self.gaps else None

    @property
    def reasons(self) -> dict[str, int]:
        """Reason → drafts over all rounds, in the order of the checks."""
        total = Counter[str]()
        for by_outcome in self.rounds.values():
            total.update(by_outcome)
        return {reason.value: total[reason.value] for reason in Reason if total[reason.value]}


def figures(finished: Sequence[Finished], sources: SourceSet) -> Figures:
    variants = [(one, variant) for one in finished for variant in one.row.variants]
    kept = [
        (one.row.source_rate.value, variant.choice.rate.value)
        for one, variant in variants
        if one.row.source_rate is not None
        and variant.kept is not None
        and variant.choice is not None
        and variant.choice.rate is not None
    ]
    return Figures(
        num_source_rows=len(sources.problems) + len(sources.dropped),
        num_dropped=dict(Counter(dropped.rule.value for dropped in sources.dropped)),
        num_chosen=len(sources.chosen),
        num_finished=len(finished),
        num_with_variant=sum(any(v.kept for v in one.row.variants) for one in finished),
        num_variants=_num_variants(variant for _, variant in variants),
        rounds=_rounds(variant for _, variant in variants),
        near_copies=tuple(
            (one.source.id, tried.detail, tried.draft.problem)
            for one, variant in variants
            for tried in variant.rounds
            if tried.reason in (Reason.NEAR_COPY, Reason.COPY_OF_OTHER_ROW) and tried.draft
        ),
        source_rates=tuple(one.row.source_rate.value for one in finished if one.row.source_rate),
        variant_rates=tuple(rate for _, rate in kept),
        gaps=tuple(rate - source for source, rate in kept),
        rewriter_usage=_total(one.row.rewriter_usage for one in finished),
        student_usage=_total(one.row.student_usage for one in finished),
    )


def _num_variants(variants: Iterable[Variant]) -> dict[str, int]:
    counted = Counter(variant.kept for variant in variants)
    return {**{kept.value: counted[kept] for kept in Kept}, "none": counted[None]}


def _rounds(variants: Iterable[Variant]) -> dict[int, dict[str, int]]:
    counted: dict[int, Counter[str]] = {}
    for variant in variants:
        for tried in variant.rounds:
            outcome = tried.reason.value if tried.reason else ACCEPTED
            counted.setdefault(tried.number, Counter())[outcome] += 1
    order = [ACCEPTED, *(reason.value for reason in Reason)]
    return {
        number: {outcome: counted[number][outcome] for outcome in order if counted[number][outcome]}
        for number in sorted(counted)
    }


def _total(usages: Iterable[TokenUsage]) -> TokenUsage:
    total = TokenUsage()
    for usage in usages:
        total.add(usage)
    return total
