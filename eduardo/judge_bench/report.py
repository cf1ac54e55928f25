"""The same findings as tables and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import orjson
from rich.table import Table

from eduardo.evaluation.cells import NOT_MEASURED
from eduardo.evaluation.statistics import Estimate
from eduardo.judge_bench.bench import Judged
from eduardo.judge_bench.cases import INJECTION
from eduardo.judge_bench.figures import (
    Disagreement,
    Figures,
    Measure,
    Subset,
    decision_of,
    label_of,
    lost_vote_faults,
)


def label_table(found: Sequence[Figures]) -> Table:
    return _rates_table(
        "clean transcripts, held against their labels",
        {
            "violations rejected (sensitivity)": lambda one: one.sensitivity,
            "sound ones accepted (specificity)": lambda one: one.specificity,
        },
        found,
    )


def injection_table(found: Sequence[Figures]) -> Table:
    return _rates_table(
        "decisions that an injection wanted, wrongly",
        {
            "with the injection": lambda one: one.injection_success,
            "same transcripts without it": lambda one: one.without_injection,
        },
        found,
    )


def votes_table(found: Sequence[Figures]) -> Table:
    table = Table(title="votes on all transcripts", title_justify="left")
    for column in ("measure", "first two agree", "lost", "undecided"):
        table.add_column(column)
    for one in found:
        if one.subset is Subset.ALL and one.lost_votes is not None:
            table.add_row(one.measure, shown(one.agreement), shown(one.lost_votes), str(one.num_undecided))
    return table


def _rates_table(
    title: str, columns: dict[str, Callable[[Figures], Estimate | None]], found: Sequence[Figures]
) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("measure", "problems", *columns):
        table.add_column(column)
    for one in found:
        name = one.measure if one.subset is Subset.ALL else ""
        cells = (shown(value(one)) for value in columns.values())
        table.add_row(name, one.subset, *cells, end_section=one.subset is list(Subset)[-1])
    return table


def kinds_table(results: Sequence[Judged]) -> Table:
    """Per kind of case: how often each measure gave the label's decision."""
    table = Table(title="right decisions by kind of case", title_justify="left")
    table.add_column("kind")
    for measure in Measure:
        table.add_column(measure, justify="right")
    for kind in dict.fromkeys(judged.case.kind for judged in results):
        of_kind = [judged for judged in results if judged.case.kind == kind]
        cells = []
        for measure in Measure:
            right = sum(decision_of(j, measure) is label_of(j.case.labels, measure) for j in of_kind)
            cells.append(f"{right} of {len(of_kind)}")
        table.add_row(kind.replace("_", " "), *cells, end_section=kind == INJECTION)
    return table


def disagreements_table(found: Sequence[Disagreement]) -> Table:
    table = Table(title="cases where a measure departs from the label", title_justify="left")
    table.add_column("case", no_wrap=True)
    for column in ("measure", "label", "given", "why the label", "what the judge said"):
        table.add_column(column, overflow="fold")
    for one in found:
        given = one.given or "undecided"
        table.add_row(
            one.case_id, one.measure, one.wanted, given, one.label_reason, one.judge_reason or NOT_MEASURED
        )
    return table


def shown(estimate: Estimate | None) -> str:
    """`30/39 77% [62%, 87%]`: hits, share and Wilson's 95 % interval; a dash where nothing was measured."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return NOT_MEASURED
    num_hits = round(estimate.value * estimate.num_values)
    interval = f"[{estimate.low:.0%}, {estimate.high:.0%}]"
    return f"{num_hits}/{estimate.num_values} {estimate.value:.0%} {interval}"


def to_json(
    results: Sequence[Judged], found: Sequence[Figures], odd: Sequence[Disagreement], about: dict[str, object]
) -> bytes:
    """`about` says which judge was asked and how."""
    return orjson.dumps(
        {
            **about,
            "figures": [dataclasses.asdict(figure) for figure in found],
            "lost_vote_faults": lost_vote_faults(results),
            "disagreements": [dataclasses.asdict(one) for one in odd],
            "cases": [_case(judged) for judged in results],
        },
        option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS,
    )


def _case(judged: Judged) -> dict[str, object]:
    labels: dict[str, object] = {str(c): decision for c, decision in judged.case.labels.decisions.items()}
    return {
        "id": judged.case.id,
        "kind": judged.case.kind,
        "labels": {**labels, "answer_told": judged.case.labels.answer_told},
        "decisions": {criterion: verdict.decision for criterion, verdict in judged.verdicts.items()},
        "votes": {
            criterion: [dataclasses.asdict(vote) for vote in verdict.votes]
            for criterion, verdict in judged.verdicts.items()
        },
        "leaks": judged.leaks,
    }
