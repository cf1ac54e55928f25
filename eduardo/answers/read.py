"""Reader of final answers: text → `Answer`. Each form of answer has one function; the first that applies wins.

Readings that others decide otherwise, fixed here once:
* `1,234` is a number; `12,34` and `0,1` are lists; inside brackets `(1,234)` is a pair unless another comma is followed
  by a blank.
* `{1,2}` in TeX braces is a bare list, `\\{1,2\\}` a set; `a \\pm b` is the list of both values.
* `x=5` names its value; `x = 3\\cdot4 = 12` is 12 if all its constant sides agree; `2x=10` is an equation, not 5.
* `x<3` is the interval that it describes, named x.
* `3:4` and `3 to 4` are ratios. `2\\frac{1}{2}` is a mixed number when the fraction is proper.
* A capital letter A to H, alone, in parentheses or before `)`, `.` or `:` and a text, is the letter of a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

from eduardo.answers.atoms import (
    TEXT_GROUP,
    infinity,
    join_number_groups,
    read_based,
    read_clock,
    read_number,
    read_scalar,
    read_words,
)
from eduardo.answers.normalize import clean
from eduardo.answers.rational import Undefined
from eduardo.answers.relations import read_relation
from eduardo.answers.split import enclosing, separators_top, split_top
from eduardo.answers.tree import TooCostly, Unreadable
from eduardo.answers.values import Answer, Choice, Group, Matrix, Named, Opaque, Ratio, Union

_ALL_REALS = re.compile(r"\\mathbb\s*\{?\s*R\s*\}?|all real numbers|all reals", re.IGNORECASE)
_NOTHING = frozenset({"\\emptyset", "\\{\\}", "\\{ \\}", "no solution", "no solutions"})
_CHOICE = re.compile(r"\(?([A-H])\)?")
_LABELLED = re.compile(r"(?:\(([A-H])\)|([A-H])(?:\)|[.:](?=\s)))\s*(?=\S)")
_SEPARATOR = re.compile(
    r"[,;]|\\text\s*\{\s*,?\s*(?:and|or)\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|\\(?:lor|land|vee|wedge)\b"
)
_OR = re.compile(r"\bor\b|\\lor|\\vee")
_COMMA = re.compile(r"[,;]")
_CUP = re.compile(r"\\cup(?![A-Za-z])")
_MEMBER = re.compile(r"(\\?[A-Za-z]+)\s*\\in(?![A-Za-z])\s*(.+)", re.DOTALL)
_CONDITION = re.compile(r"\\mid(?![A-Za-z])|\\?\||:")
_RATIO = re.compile(r":|(?<=\d)\s+to\s+(?=\d)|\\text\s*\{\s*to\s*\}")
_MATRIX = re.compile(r"\\begin\{([pbvB]?matrix|array)\}(?:\s*\{[lcr|]*\})?(.*)\\end\{\1\}", re.DOTALL)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?")
_PLUS_MINUS = re.compile(r"\\(pm|mp)(?![A-Za-z])\s*")
_MAX_SIGNS = 3


def read_answer(text: str) -> Answer:
    """Read a key or a final answer. Total, except for TooCostly: what has no reading is `Opaque`."""
    if (number := read_number(text)) is not None:
        return number
    cleaned = clean(text)
    try:
        return _choice(cleaned) or _read(cleaned)
    except (Unreadable, Undefined):
        return Opaque(cleaned)
    except RecursionError as error:
        raise TooCostly("nested too deeply") from error


def _read(text: str) -> Answer:
    if not text:
        raise Unreadable("nothing to read")
    if text.lower() in _NOTHING:
        return Group((), "\\{", "\\}")
    if _ALL_REALS.fullmatch(text):
        return Group((infinity(-1), infinity(1)), "(", ")")
    return _first_form(join_number_groups(text), _FORMS)


def _read_value(text: str) -> Answer:
    """Read one side of an equation."""
    return _first_form(text, _VALUE_FORMS)


def _first_form(text: str, forms: tuple[Callable[[str], Answer | None], ...]) -> Answer:
    for form in forms:
        answer = form(text)
        if answer is not None:
            return answer
    return read_scalar(text)


def _choice(text: str) -> Choice | None:
    bare = TEXT_GROUP.sub(r"\1", text).strip()
    if match := _CHOICE.fullmatch(bare):
        return Choice(match[1])
    if match := _LABELLED.match(bare):
        try:
            body = _read(clean(bare[match.end() :]))
        except Unreadable:
            body = Opaque(bare[match.end() :])
        return Choice(match[1] or match[2], body)
    return None


def _matrix(text: str) -> Answer | None:
    match = _MATRIX.fullmatch(text)
    if match is None:
        return None
    lines = [line for line in _ROW_END.split(match[2]) if line.strip()]
    rows = tuple(tuple(_read(cell.strip()) for cell in line.split("&")) for line in lines)
    return Matrix(rows, determinant=match[1] == "vmatrix")


def _plus_minus(text: str) -> Answer | None:
    """All values of an expression with ±; ∓ takes the sign that the first ± does not have."""
    signs = _PLUS_MINUS.findall(text)
    if not signs:
        return None
    num_free = signs.count("pm")
    if num_free == 0 or num_free > _MAX_SIGNS:
        raise Unreadable("too many double signs")
    if len(split_top(text, _SEPARATOR)) > 1:
        return None
    return Group(tuple(_read(_with_signs(text, choice)) for choice in product("+-", repeat=num_free)))


def _with_signs(text: str, choice: tuple[str, ...]) -> str:
    chosen = iter(choice)
    opposite = "-" if choice[0] == "+" else "+"
    return _PLUS_MINUS.sub(lambda match: next(chosen) if match[1] == "pm" else opposite, text)


def _listing(text: str) -> Answer | None:
    parts = [part.strip() for part in split_top(text, _SEPARATOR)]
    if len(parts) == 1:
        return None
    items: list[Answer] = []
    for part in filter(None, parts):
        item = _read(part)
        items.extend(item.items if isinstance(item, Group) and not item.opening else (item,))
    if any(_OR.search(separator) for separator in separators_top(text, _SEPARATOR)):
        intervals = [
            item for item in items if isinstance(item, Named) and isinstance(item.value, Group | Union)
        ]
        if len(intervals) == len(items) and len({item.name for item in intervals}) == 1:
            return Named(intervals[0].name, Union(tuple(item.value for item in intervals)))
    return Group(tuple(items))


def _union(text: str) -> Answer | None:
    parts = split_top(text, _CUP)
    return Union(tuple(_read(part.strip()) for part in parts)) if len(parts) > 1 else None


def _membership(text: str) -> Answer | None:
    match = _MEMBER.fullmatch(text)
    return Named(match[1], _read_value(match[2].strip())) if match else None


def _bracketed(text: str) -> Answer | None:
    brackets = enclosing(text)
    if brackets is None:
        return None
    opening, inner, closing = brackets
    if opening == "{":
        return _read(inner)
    if opening.startswith("\\begin") or not inner:
        return None
    if opening == "\\{":
        condition = split_top(inner, _CONDITION)
        if len(condition) == 2:
            return _read(condition[1].strip())
    items = [
        item.strip() for item in split_top(join_number_groups(inner) if ", " in inner else inner, _COMMA)
    ]
    if len(items) == 1 and opening != "\\{":
        return None
    return Group(tuple(_read(item) for item in items if item), opening, closing)


def _ratio(text: str) -> Answer | None:
    parts = split_top(text, _RATIO)
    return Ratio(tuple(read_scalar(part.strip()) for part in parts)) if len(parts) > 1 else None


def _relation(text: str) -> Answer | None:
    return read_relation(text, _read_value, read_scalar)


_FORMS = (
    *(read_number, read_words, read_based, _matrix, _plus_minus, _listing),
    *(_union, _membership, _relation, _bracketed, read_clock, _ratio),
)
_VALUE_FORMS = (read_number, read_based, _matrix, _union, _bracketed, _ratio, read_words)
