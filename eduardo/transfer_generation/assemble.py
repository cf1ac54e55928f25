"""Finished rows → the published columns, in the order of the source, whatever order they were finished in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eduardo.dataset.columns import REQUIRED_COLUMNS, published_columns
from eduardo.transfer_generation.near_copies import NearCopies
from eduardo.transfer_generation.outcome import Reason, Row, Variant
from eduardo.transfer_generation.source import SourceProblem, SourceSet
from eduardo.types import ItemKind, Problem, SolveRate, TestItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A source problem with what came of it."""

    source: SourceProblem
    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    rewriter: str
    student: str


def finished_rows(sources: SourceSet, rows: Mapping[str, Row], similarity: float) -> list[Finished]:
    """Those of the chosen problems that are done with, in their order.

    A variant that is a near-copy of one that another problem kept is taken back here, where the order of the source
    decides which of the two stays, and not the order in which they were finished.
    """
    kept = NearCopies(similarity)
    done = {source.id: rows[source.id] for source in sources.chosen if source.id in rows}
    # Test problems first: between the splits, the one that is never trained on keeps its variant.
    for source in sorted(sources.chosen, key=lambda one: one.split != "test"):
        if source.id in done:
            done[source.id] = _without_copies(done[source.id], kept)
    return [Finished(source=one, row=done[one.id]) for one in sources.chosen if one.id in done]


def _without_copies(row: Row, kept: NearCopies) -> Row:
    variants = []
    for variant in row.variants:
        draft = variant.choice.draft if variant.choice else None
        label = kept.find(draft.problem) if draft else None
        variants.append(variant if label is None else _taken_back(variant, label))
    for variant in variants:
        if variant.choice and variant.choice.draft:
            kept.add(row.source_id, variant.choice.draft.problem)
    return replace(row, variants=tuple(variants))


def _taken_back(variant: Variant, label: str) -> Variant:
    reason = Reason.COPY_OF_OTHER_ROW
    rounds = [
        replace(one, reason=reason, detail=f"of problem {label}") if one.number == variant.chosen else one
        for one in variant.rounds
    ]
    return Variant(index=variant.index, rounds=tuple(rounds))


def published_rows(finished: Finished, models: Models, *, solution_as_notes: bool) -> list[dict[str, object]]:
    """One row for every variant that was kept; one without a variant when none was."""
    kept = [variant for variant in finished.row.variants if variant.kept is not None]
    return [
        _published(finished, variant, models, solution_as_notes=solution_as_notes)
        for variant in kept or finished.row.variants[:1]
    ]


def _published(
    finished: Finished, variant: Variant, models: Models, *, solution_as_notes: bool
) -> dict[str, object]:
    source, row = finished.source, finished.row
    choice, last = variant.choice, variant.rounds[-1]
    return {
        **published_columns(_source_item(finished), _variant_item(variant)),
        **({"notes": source.solution} if solution_as_notes else {}),
        **({"group": source.group} if source.group is not None else {}),
        "source_id": source.id,
        "source_row": source.where.row,
        "transfer_index": variant.index,
        "transfer_kept": variant.kept.value if variant.kept else None,
        "transfer_round": choice.number if choice else None,
        "transfer_num_rounds": len(variant.rounds),
        "transfer_rejected_because": last.reason.value if variant.kept is None and last.reason else None,
        "transfer_seed": choice.seed if choice else None,
        "rewriter_model": models.rewriter,
        "rewriter_prompt_tokens": row.rewriter_usage.prompt_tokens,
        "rewriter_completion_tokens": row.rewriter_usage.completion_tokens,
        "student_model": models.student,
        "student_prompt_tokens": row.student_usage.prompt_tokens,
        "student_completion_tokens": row.student_usage.completion_tokens,
        **{name: value for name, value in source.extras.items() if name not in _OURS},
    }


def _source_item(finished: Finished) -> TestItem:
    return TestItem(problem=finished.source.problem, baseline=finished.row.source_rate, kind=ItemKind.SOURCE)


def _variant_item(variant: Variant) -> TestItem | None:
    choice = variant.choice
    if choice is None or choice.draft is None:
        return None
    problem = Problem(text=choice.draft.problem, answer=choice.draft.answer)
    return TestItem(problem=problem, baseline=choice.rate, kind=ItemKind.TRANSFER)


# Columns that a source may have from an earlier set, and that are made anew here.
_OURS = frozenset(
    {
        *REQUIRED_COLUMNS, "pre_solve_rate_n_scored", "pre_solve_rate_transfer_n_scored", "source_id", "source_row",
        "transfer_index", "transfer_kept", "transfer_round", "transfer_num_rounds", "transfer_rejected_because",
        "transfer_seed", "rewriter_model", "rewriter_prompt_tokens", "rewriter_completion_tokens", "student_model",
        "student_prompt_tokens", "student_completion_tokens",
    }
)  # fmt: skip


def rejects(finished: Sequence[Finished], sources: SourceSet) -> Iterator[dict[str, object]]:
    """Every variant that was turned down, with the reason, and every row of the source that cannot be used."""
    for dropped in sources.dropped:
        yield {
            "stage": "source",
            "file": dropped.where.file,
            "row": dropped.where.row,
            "line": dropped.where.line,
            "reason": dropped.rule.value,
            "detail": dropped.reason,
        }
    for one in finished:
        for variant in one.row.variants:
            for tried in variant.rounds:
                if tried.reason is None or (variant.kept is not None and tried.number == variant.chosen):
                    continue
                yield {
                    "stage": "variant",
                    "source_id": one.source.id,
                    "split": one.source.split,
                    "transfer_index": variant.index,
                    "round": tried.number,
                    "reason": tried.reason.value,
                    "detail": tried.detail,
                    "transfer_problem": tried.draft.problem if tried.draft else None,
                    "transfer_answer": tried.draft.answer if tried.draft else None,
                    "solve_rate": _value(tried.rate),
                    "source_solve_rate": _value(one.row.source_rate),
                    "seed": tried.seed,
                }


def _value(rate: SolveRate | None) -> float | None:
    return None if rate is None else rate.value
