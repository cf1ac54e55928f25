"""From checked pairs to disjoint train, validation and test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import xxhash

from eduardo.dataset.columns import SourcedPair
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.near_duplicates import NearDuplicates
from eduardo.dataset.wording import exact_key, masked_words
from eduardo.types import SolveRate, TestItem


@dataclass(frozen=True, slots=True)
class Band:
    """Solve rates in [low, high], both ends included."""

    low: float
    high: float

    def __contains__(self, rate: object) -> bool:
        return isinstance(rate, float) and self.low <= rate <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings:
    num_train: int | None  # at most; None: all
    num_val: int
    num_test: int | None
    seed: int
    band: Band  # of train and validation rows
    test_band: Band
    min_graded: int  # graded samples behind each rate, where the data states them
    similarity: float  # Jaccard overlap from which two problems count as near-duplicates


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    train: list[SourcedPair]
    val: list[SourcedPair]
    test: list[SourcedPair]
    dropped_train: list[Dropped]  # rows of the train split
    dropped_test: list[Dropped]


def select(
    train_split: list[SourcedPair], test_split: list[SourcedPair], settings: SelectionSettings
) -> Selection:
    """Train and validation rows from the train split, test rows from the test split.

    A row that is a near-duplicate of a row of the test split, in its problem or variant, is not trained or
    validated on, whether or not the test row is used. Near-duplicates never straddle train and validation. A
    row's place depends on the seed and its id, so adding rows moves few others.
    """
    usable, unfit = _filter(train_split, settings.band, settings.min_graded)
    tests, test_unfit = _filter(test_split, settings.test_band, settings.min_graded)
    rows = sorted(usable, key=_rank(settings.seed)) + test_split
    near = NearDuplicates(
        [_wordings(row) for row in rows], [_labels(row) for row in rows], settings.similarity
    )
    near_test = near.related(range(len(usable)), range(len(usable), len(rows)))
    candidates = [number for number in range(len(usable)) if number not in near_test]
    val = _choose_val(near.groups(candidates), settings.num_val)
    chosen = set(val)
    near_val = near.related((number for number in candidates if number not in chosen), val)
    rest = [rows[n] for n in candidates if n not in chosen and n not in near_val]
    train, train_spare = _cut(rest, settings.num_train)
    test, test_spare = _cut(sorted(tests, key=_rank(settings.seed)), settings.num_test)
    return Selection(
        train=train,
        val=_in_file_order([rows[n] for n in val]),
        test=test,
        dropped_train=[
            *unfit,
            *(
                _drop(rows[n], Rule.NEAR_TEST, f"near-duplicate of {rows[other].where}")
                for n, other in near_test.items()
            ),
            *(
                _drop(rows[n], Rule.NEAR_VAL, f"near-duplicate of {rows[other].where}")
                for n, other in near_val.items()
            ),
            *(
                _drop(row, Rule.NOT_SAMPLED, f"only {settings.num_train} rows asked for")
                for row in train_spare
            ),
        ],
        dropped_test=[
            *test_unfit,
            *(_drop(row, Rule.NOT_SAMPLED, f"only {settings.num_test} rows asked for") for row in test_spare),
        ],
    )


def _choose_val(groups: list[list[int]], wanted: int) -> list[int]:
    """`wanted` rows for validation, as whole groups where possible, so that training loses nothing by it.

    Groups in the order given, each if it still fits. What is then missing comes from the smallest of the
    others; their rows that are related to the chosen ones are lost to both sides.
    """
    chosen: list[int] = []
    too_big = []
    for group in groups:
        if len(chosen) + len(group) <= wanted:
            chosen += group
        else:
            too_big.append(group)
    if len(chosen) < wanted and too_big:
        chosen += min(too_big, key=len)[: wanted - len(chosen)]
    return chosen


def _filter(
    pairs: Iterable[SourcedPair], band: Band, min_graded: int
) -> tuple[list[SourcedPair], list[Dropped]]:
    kept, dropped = [], []
    for sourced in pairs:
        pair = sourced.pair
        if pair.variant is None:
            dropped.append(_drop(sourced, Rule.NO_VARIANT, "has no near-transfer variant"))
            continue
        fault = _rate_fault(pair.source, band, min_graded) or _rate_fault(pair.variant, band, min_graded)
        if fault is None:
            kept.append(sourced)
        else:
            dropped.append(_drop(sourced, *fault))
    return kept, dropped


def _rate_fault(item: TestItem, band: Band, min_graded: int) -> tuple[Rule, str] | None:
    rate: SolveRate | None = item.baseline
    name = f"solve rate of the {item.kind} problem"
    if rate is None:
        return Rule.NO_RATE, f"{name} is not measured"
    if rate.num_graded is not None and rate.num_graded < min_graded:
        return Rule.FEW_GRADED, f"{name} rests on {rate.num_graded} graded samples, fewer than {min_graded}"
    if rate.value not in band:
        return Rule.RATE_BAND, f"{name} is {rate.value:g}, outside [{band.low:g}, {band.high:g}]"
    return None


def _cut(ranked: list[SourcedPair], wanted: int | None) -> tuple[list[SourcedPair], list[SourcedPair]]:
    cut = len(ranked) if wanted is None else wanted
    return _in_file_order(ranked[:cut]), _in_file_order(ranked[cut:])


def _rank(seed: int) -> Callable[[SourcedPair], tuple[int, str]]:
    return lambda sourced: (xxhash.xxh3_64_intdigest(sourced.pair.id.encode(), seed=seed), sourced.pair.id)


def _in_file_order(pairs: list[SourcedPair]) -> list[SourcedPair]:
    return sorted(pairs, key=lambda sourced: (sourced.where.file, sourced.where.row))


def _wordings(sourced: SourcedPair) -> list[tuple[str, ...]]:
    return [masked_words(text) for text in _texts(sourced)]


def _labels(sourced: SourcedPair) -> list[str]:
    """What relates rows whatever their masked words: the group, and each text itself. A short text that begins with
    a capital in one row only has no masked words in common with itself.
    """
    group = [] if sourced.group is None else [f"group {sourced.group}"]
    return group + [f"text {exact_key(text)}" for text in _texts(sourced)]


def _texts(sourced: SourcedPair) -> list[str]:
    pair = sourced.pair
    return [pair.source.problem.text] + ([pair.variant.problem.text] if pair.variant else [])


def _drop(sourced: SourcedPair, rule: Rule, reason: str) -> Dropped:
    return Dropped(sourced.where, rule, reason)
