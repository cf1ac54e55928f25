"""Checks that need several rows: duplicates and answers that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from eduardo.dataset.columns import KeyCheck, SourcedPair, check_columns, parse_record
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.location import Record
from eduardo.dataset.sources import PairSource
from eduardo.dataset.wording import bare, exact_key
from eduardo.errors import UserError
from eduardo.types import Problem

SameAnswer = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class PairSet:
    """Usable pairs of one split in file order, and what was left out."""

    pairs: list[SourcedPair]
    dropped: list[Dropped]


def read_pairs(source: PairSource, split: str, *, check_key: KeyCheck, same_answer: SameAnswer) -> PairSet:
    """Read one split and check every row, alone and against the others.

    Raises UserError when the split cannot be read, is empty, or lacks a required column.
    """
    pairs: list[SourcedPair] = []
    dropped: list[Dropped] = []
    columns: set[str] = set()
    first: Record | None = None
    for record in source.records(split):
        first = first or record
        if isinstance(record.value, dict):
            columns.update(map(str, record.value))
        parsed = parse_record(record, check_key)
        if isinstance(parsed, Dropped):
            dropped.append(parsed)
        else:
            pairs.append(parsed)
    if first is None:
        raise UserError(f"the {split} split is empty")
    check_columns(columns, first.where.file)
    kept, refused = _refuse_conflicts(pairs, same_answer)
    unique, repeated = _refuse_duplicates(kept)
    return PairSet(unique, dropped + refused + repeated)


def _refuse_conflicts(
    pairs: list[SourcedPair], same_answer: SameAnswer
) -> tuple[list[SourcedPair], list[Dropped]]:
    """Drop every row that takes part in a contradiction: which answer is right is not ours to guess."""
    answers: dict[str, dict[int, str]] = defaultdict(dict)  # problem -> row -> answer
    for row, pair in enumerate(pairs):
        for problem in _problems(pair):
            answers[exact_key(problem.text)][row] = problem.answer
    reasons: dict[int, str] = {}
    for by_row in answers.values():
        clash = _clash(list(by_row.values()), same_answer)
        if clash:
            places = ", ".join(str(pairs[row].where) for row in by_row)
            reasons |= dict.fromkeys(by_row, f"one problem, answers {clash[0]!r} and {clash[1]!r} ({places})")
    refused = [Dropped(pairs[row].where, Rule.CONFLICT, reasons[row]) for row in sorted(reasons)]
    return [pair for row, pair in enumerate(pairs) if row not in reasons], refused


def _clash(answers: list[str], same_answer: SameAnswer) -> tuple[str, str] | None:
    first = answers[0]
    for other in answers[1:]:
        if bare(other) != bare(first) and not same_answer(first, other):
            return first, other
    return None


def _refuse_duplicates(pairs: list[SourcedPair]) -> tuple[list[SourcedPair], list[Dropped]]:
    """Keep the first of rows with the same problem and variant. Several variants of one problem are fine."""
    seen: dict[tuple[str, ...], SourcedPair] = {}
    repeated = []
    for pair in pairs:
        key = tuple(exact_key(problem.text) for problem in _problems(pair))
        first = seen.setdefault(key, pair)
        if first is not pair:
            repeated.append(Dropped(pair.where, Rule.DUPLICATE, f"same problem as {first.where}"))
    return list(seen.values()), repeated


def _problems(sourced: SourcedPair) -> Iterable[Problem]:
    yield sourced.pair.source.problem
    if sourced.pair.variant is not None:
        yield sourced.pair.variant.problem
