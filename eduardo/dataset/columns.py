"""The published columns of the near-transfer data set, checked one record at a time."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import xxhash

from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.location import Location, Record
from eduardo.errors import UserError
from eduardo.types import ItemKind, Problem, SolveRate, TestItem, TransferPair

REQUIRED_COLUMNS = (
    "problem",
    "answer",
    "transfer_problem",
    "transfer_answer",
    "pre_solve_rate",
    "pre_solve_rate_transfer_problem",
)
OPTIONAL_COLUMNS = ("pre_solve_rate_n_scored", "pre_solve_rate_transfer_n_scored", "notes", "group")
_KNOWN = frozenset(REQUIRED_COLUMNS + OPTIONAL_COLUMNS)

KeyCheck = Callable[[str], str | None]  # None when the key is gradable, else the reason


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedPair:
    """A pair with its place of origin and what the file says beyond the pair itself."""

    pair: TransferPair
    where: Location
    group: str | None  # rows with one group never straddle two splits; None: found by wording alone
    extras: Mapping[str, object]  # columns without a meaning here, kept as they are


class _FaultError(Exception):
    def __init__(self, rule: Rule, reason: str) -> None:
        super().__init__(reason)
        self.rule = rule


def check_columns(columns: Iterable[str], source: str) -> None:
    """Raise UserError when a required column is absent, suggesting a present one that looks alike."""
    present = sorted(set(columns))
    missing = [name for name in REQUIRED_COLUMNS if name not in present]
    if not missing:
        return
    spare = [name for name in present if name not in _KNOWN]
    hints = []
    for name in missing:
        close = difflib.get_close_matches(name, spare, n=1, cutoff=0.6)
        hints.append(f"{name} (did you mean {close[0]}?)" if close else name)
    raise UserError(
        f"{source}: required columns are missing: {', '.join(hints)}; found: {', '.join(present) or 'none'}"
    )


def published_columns(source: TestItem, variant: TestItem | None) -> dict[str, str | float | None]:
    """A pair in the published columns; a variant that is not there has null fields."""
    return {
        "problem": source.problem.text,
        "answer": source.problem.answer,
        "transfer_problem": variant.problem.text if variant else None,
        "transfer_answer": variant.problem.answer if variant else None,
        "pre_solve_rate": _rate_value(source),
        "pre_solve_rate_transfer_problem": _rate_value(variant),
        "pre_solve_rate_n_scored": _num_graded(source),
        "pre_solve_rate_transfer_n_scored": _num_graded(variant),
    }


def parse_record(record: Record, check_key: KeyCheck) -> SourcedPair | Dropped:
    """One record of the published columns as a pair, or why it cannot be used.

    Empty text counts as missing. A rate behind which no sample was graded counts as not measured.
    """
    where = record.where
    try:
        if not isinstance(record.value, dict):
            raise _FaultError(Rule.WRONG_TYPE, f"expected an object, got {_shown(record.value)}")
        return _parse(record.value, where, check_key)
    except _FaultError as fault:
        return Dropped(where, fault.rule, str(fault))


def _parse(row: dict[str, object], where: Location, check_key: KeyCheck) -> SourcedPair:
    problem = _text(row, "problem")
    if problem is None:
        raise _FaultError(Rule.MISSING_PROBLEM, "problem is missing")
    source = TestItem(
        problem=Problem(text=problem, answer=_answer(row, "answer", check_key)),
        baseline=_rate(row, "pre_solve_rate", "pre_solve_rate_n_scored"),
        kind=ItemKind.SOURCE,
    )
    variant = _variant(row, check_key)
    pair = TransferPair(
        id=pair_id(source, variant), source=source, variant=variant, notes=_text(row, "notes")
    )
    extras = {name: value for name, value in row.items() if name not in _KNOWN}
    return SourcedPair(pair=pair, where=where, group=_text(row, "group"), extras=extras)


def _variant(row: dict[str, object], check_key: KeyCheck) -> TestItem | None:
    text = _text(row, "transfer_problem")
    if text is None:
        if _text(row, "transfer_answer") is not None:
            raise _FaultError(Rule.MISSING_PROBLEM, "transfer_answer has no transfer_problem")
        return None
    return TestItem(
        problem=Problem(text=text, answer=_answer(row, "transfer_answer", check_key)),
        baseline=_rate(row, "pre_solve_rate_transfer_problem", "pre_solve_rate_transfer_n_scored"),
        kind=ItemKind.TRANSFER,
    )


def pair_id(source: TestItem, variant: TestItem | None) -> str:
    """16 hex digits of the content, so that an id survives reordering and resplitting."""
    parts = [source.problem.text, source.problem.answer]
    if variant is not None:
        parts += [variant.problem.text, variant.problem.answer]
    return xxhash.xxh3_64_hexdigest("\x1f".join(parts).encode())


def _text(row: dict[str, object], name: str) -> str | None:
    value = row.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):  # pandas writes null text as NaN
        return None
    if not isinstance(value, str):
        raise _FaultError(Rule.WRONG_TYPE, f"{name} must be text, got {_shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _FaultError(
            Rule.BAD_TEXT, f"{name} holds half of a surrogate pair at character {error.start}"
        ) from error
    return value if value.strip() else None


def _answer(row: dict[str, object], name: str, check_key: KeyCheck) -> str:
    answer = _text(row, name)
    if answer is None:
        raise _FaultError(Rule.MISSING_ANSWER, f"{name} is missing")
    complaint = check_key(answer)
    if complaint is not None:
        raise _FaultError(Rule.UNGRADABLE_KEY, f"{name} {_shown(answer)} cannot be graded: {complaint}")
    return answer


def _rate(row: dict[str, object], name: str, count_name: str) -> SolveRate | None:
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _FaultError(Rule.WRONG_TYPE, f"{name} must be a number, got {_shown(value)}")
    if not 0 <= value <= 1:  # NaN fails too
        raise _FaultError(Rule.BAD_RATE, f"{name} is {value!r}, not a share in [0, 1]")
    num_graded = _count(row, count_name)
    if num_graded == 0:
        return None
    return SolveRate(value=float(value), num_graded=num_graded)


def _count(row: dict[str, object], name: str) -> int | None:
    value = row.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_count(value):
        raise _FaultError(Rule.WRONG_TYPE, f"{name} must be a whole number, got {_shown(value)}")
    return int(value)


def _rate_value(item: TestItem | None) -> float | None:
    return item.baseline.value if item and item.baseline else None


def _num_graded(item: TestItem | None) -> int | None:
    return item.baseline.num_graded if item and item.baseline else None


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _is_count(value: float) -> bool:
    return math.isfinite(value) and value >= 0 and value == int(value)
