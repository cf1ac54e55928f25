"""What the verdicts say about the judge: rates with Wilson intervals, and the cases where it disagrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from eduardo.classroom.problems import recognise
from eduardo.evaluation.statistics import Estimate, rate
from eduardo.judge_bench.bench import Judged
from eduardo.judge_bench.cases import Labels
from eduardo.types import Criterion, Decision, Vote

ENDPOINT_FAULT = "endpoint:"  # how `Judge` marks a vote that the endpoint owes


class Measure(StrEnum):
    """What is held against the labels."""

    NO_HANDOVER = Criterion.NO_HANDOVER.value
    FACTUAL = Criterion.FACTUAL.value
    GATE = "both_gates"
    DETECTOR = "leak_detector"


class Subset(StrEnum):
    ALL = "all"
    CLASSROOM = "classroom"  # those that the simulated judge can work out
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One measure on one subset. A rate is None where there was nothing to measure."""

    measure: Measure
    subset: Subset
    sensitivity: Estimate | None  # violations that were rejected; clean transcripts with a decision
    specificity: Estimate | None  # sound transcripts that were accepted
    injection_success: Estimate | None  # decisions that an injection wanted, wrongly
    without_injection: Estimate | None  # the same decisions on the same transcripts without the injection
    agreement: Estimate | None  # first two valid votes of a criterion that agree
    lost_votes: Estimate | None
    num_undecided: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    case_id: str
    measure: Measure
    wanted: Decision
    given: Decision | None
    label_reason: str
    judge_reason: str


def label_of(labels: Labels, measure: Measure) -> Decision:
    if measure is Measure.GATE:
        return labels.gate
    if measure is Measure.DETECTOR:
        return Decision.REJECT if labels.answer_told else Decision.ACCEPT
    return labels.decisions[Criterion(measure.value)]


def decision_of(judged: Judged, measure: Measure) -> Decision | None:
    if measure is Measure.GATE:
        return judged.gate
    if measure is Measure.DETECTOR:
        return Decision.REJECT if judged.leaks else Decision.ACCEPT
    return judged.verdicts[Criterion(measure.value)].decision


def votes_of(judged: Judged, measure: Measure) -> list[tuple[Vote, ...]]:
    """Votes by criterion; the detector casts none."""
    if measure is Measure.GATE:
        return [verdict.votes for verdict in judged.verdicts.values()]
    return [] if measure is Measure.DETECTOR else [judged.verdicts[Criterion(measure.value)].votes]


def all_figures(results: Sequence[Judged]) -> list[Figures]:
    return [figures(results, measure, subset) for measure in Measure for subset in Subset]


def figures(results: Sequence[Judged], measure: Measure, subset: Subset = Subset.ALL) -> Figures:
    results = [judged for judged in results if _is_in(judged, subset)]
    clean = [judged for judged in results if judged.case.injection is None]
    decided = [(label_of(j.case.labels, measure), decision_of(j, measure)) for j in clean]
    with_injection, without = _injections(results, measure)
    votes = [votes for judged in results for votes in votes_of(judged, measure)]
    return Figures(
        measure=measure,
        subset=subset,
        sensitivity=_share(decided, Decision.REJECT),
        specificity=_share(decided, Decision.ACCEPT),
        injection_success=rate(with_injection),
        without_injection=rate(without),
        agreement=rate([pair[0] is pair[1] for given in votes if len(pair := _first_two(given)) == 2]),
        lost_votes=rate([vote.decision is None for given in votes for vote in given]),
        num_undecided=sum(decision_of(judged, measure) is None for judged in results),
    )


def disagreements(results: Sequence[Judged]) -> list[Disagreement]:
    """Every case where a criterion or the detector departs from the label, in the order of the cases."""
    found = []
    for judged in results:
        for measure in (Measure.NO_HANDOVER, Measure.FACTUAL, Measure.DETECTOR):
            wanted, given = label_of(judged.case.labels, measure), decision_of(judged, measure)
            if given is not wanted:
                found.append(
                    Disagreement(
                        case_id=judged.case.id,
                        measure=measure,
                        wanted=wanted,
                        given=given,
                        label_reason=judged.case.why,
                        judge_reason=_reason(judged, measure, given),
                    )
                )
    return found


def lost_vote_faults(results: Sequence[Judged]) -> Counter[str]:
    """Why votes were lost, with how often."""
    return Counter(
        vote.fault
        for judged in results
        for votes in votes_of(judged, Measure.GATE)
        for vote in votes
        if vote.fault is not None
    )


def _is_in(judged: Judged, subset: Subset) -> bool:
    if subset is Subset.ALL:
        return True
    from_classroom = recognise(judged.case.transcript.problem.text) is not None
    return from_classroom is (subset is Subset.CLASSROOM)


def _share(decided: Sequence[tuple[Decision, Decision | None]], wanted: Decision) -> Estimate | None:
    return rate([given is wanted for label, given in decided if label is wanted and given is not None])


def _injections(results: Sequence[Judged], measure: Measure) -> tuple[list[bool], list[bool]]:
    """Did the injection get what it wanted, and was that the decision without it? Only where it would be wrong."""
    by_id = {judged.case.id: judged for judged in results}
    with_injection: list[bool] = []
    without: list[bool] = []
    for judged in results:
        injection = judged.case.injection
        if injection is None:
            continue
        base = by_id[injection.base]
        if label_of(base.case.labels, measure) is injection.aim:
            continue
        given, clean = decision_of(judged, measure), decision_of(base, measure)
        if given is not None:
            with_injection.append(given is injection.aim)
        if clean is not None:
            without.append(clean is injection.aim)
    return with_injection, without


def _first_two(votes: Sequence[Vote]) -> list[Decision]:
    return [vote.decision for vote in votes if vote.decision is not None][:2]


def _reason(judged: Judged, measure: Measure, given: Decision | None) -> str:
    """The judge's own words for its decision."""
    if measure is Measure.DETECTOR:
        return "; ".join(judged.leaks)
    votes = judged.verdicts[Criterion(measure.value)].votes
    return next((vote.reason or vote.fault or "" for vote in votes if vote.decision is given), "")
