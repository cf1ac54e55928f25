"""From checked pairs to disjoint train, validation and test sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import xxhash

from eduardo.dataset.columns import SourcedPair
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.near_duplicates import group_near_duplicates
from eduardo.dataset.wording import masked_words
from eduardo.types import SolveRate, TestItem

Related = tuple[SourcedPair, SourcedPair]  # a row, and the row of another side that it is close to


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

    Rows that are near-duplicates of one another, in their problems or variants, form a group; a group that
    reaches into the test split is dropped from the train split, and no other group is shared by train and
    validation. A row's place depends on the seed and its id only, so adding rows moves few others.
    """
    usable, unfit = _filter(train_split, settings.band, settings.min_graded)
    tests, test_unfit = _filter(test_split, settings.test_band, settings.min_graded)
    groups, near_test = _groups_apart_from_test(usable, test_split, settings.similarity)
    val, near_val = _take_groups(_shuffled(groups, settings.seed), settings.num_val)
    taken = {id(sourced) for sourced in val + [sibling for sibling, _ in near_val]}
    rest = [sourced for group in groups for sourced in group if id(sourced) not in taken]
    train, train_spare = _sample(rest, settings.num_train, settings.seed)
    test, test_spare = _sample(tests, settings.num_test, settings.seed)
    return Selection(
        train=train,
        val=_in_file_order(val),
        test=test,
        dropped_train=[
            *unfit,
            *(_drop(s, Rule.NEAR_TEST, f"near-duplicate of {other.where}") for s, other in near_test),
            *(
                _drop(s, Rule.NEAR_VAL, f"near-duplicate of {other.where}, a validation row")
                for s, other in near_val
            ),
            *(_drop(s, Rule.NOT_SAMPLED, f"only {settings.num_train} rows asked for") for s in train_spare),
        ],
        dropped_test=[
            *test_unfit,
            *(_drop(s, Rule.NOT_SAMPLED, f"only {settings.num_test} rows asked for") for s in test_spare),
        ],
    )


def _groups_apart_from_test(
    usable: list[SourcedPair], test_split: list[SourcedPair], similarity: float
) -> tuple[list[list[SourcedPair]], list[Related]]:
    """Groups of training rows, and the training rows related to a test row, each with such a row.

    All test rows count, also those that are filtered out of the test file.
    """
    everything = usable + test_split
    labels = group_near_duplicates(
        [_wordings(sourced) for sourced in everything],
        [sourced.group for sourced in everything],
        similarity,
    )
    test_of = dict(zip(reversed(labels[len(usable) :]), reversed(test_split), strict=True))
    groups: dict[int, list[SourcedPair]] = defaultdict(list)
    near_test: list[Related] = []
    for sourced, label in zip(usable, labels[: len(usable)], strict=True):
        if label in test_of:
            near_test.append((sourced, test_of[label]))
        else:
            groups[label].append(sourced)
    return list(groups.values()), near_test


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


def _take_groups(groups: list[list[SourcedPair]], wanted: int) -> tuple[list[SourcedPair], list[Related]]:
    """`wanted` rows made of whole groups where possible, and the rows that must be given up for it.

    Whole groups first, in the order given, each if it still fits. What then is missing comes from one more
    group, whose other rows go to neither side.
    """
    taken: list[SourcedPair] = []
    too_big = []
    for group in groups:
        if len(taken) + len(group) <= wanted:
            taken += group
        else:
            too_big.append(group)
    missing = wanted - len(taken)
    if not missing or not too_big:
        return taken, []
    smallest = min(too_big, key=len)
    return taken + smallest[:missing], [(sibling, smallest[0]) for sibling in smallest[missing:]]


def _shuffled(groups: list[list[SourcedPair]], seed: int) -> list[list[SourcedPair]]:
    by_rank = [sorted(group, key=_rank(seed)) for group in groups]
    return sorted(by_rank, key=lambda group: _rank(seed)(group[0]))


def _sample(
    pairs: list[SourcedPair], wanted: int | None, seed: int
) -> tuple[list[SourcedPair], list[SourcedPair]]:
    ranked = sorted(pairs, key=_rank(seed))
    cut = len(ranked) if wanted is None else wanted
    return _in_file_order(ranked[:cut]), _in_file_order(ranked[cut:])


def _rank(seed: int) -> Callable[[SourcedPair], tuple[int, str]]:
    return lambda sourced: (xxhash.xxh3_64_intdigest(sourced.pair.id.encode(), seed=seed), sourced.pair.id)


def _in_file_order(pairs: list[SourcedPair]) -> list[SourcedPair]:
    return sorted(pairs, key=lambda sourced: (sourced.where.file, sourced.where.row))


def _wordings(sourced: SourcedPair) -> list[tuple[str, ...]]:
    pair = sourced.pair
    texts = [pair.source.problem.text] + ([pair.variant.problem.text] if pair.variant else [])
    return [masked_words(text) for text in texts]


def _drop(sourced: SourcedPair, rule: Rule, reason: str) -> Dropped:
    return Dropped(sourced.where, rule, reason)
