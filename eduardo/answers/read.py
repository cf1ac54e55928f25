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

import math
import re
from fractions import Fraction

from eduardo.answers.arithmetic import Undefined, exact_value
from eduardo.answers.expression import Node, TooCostly, Unreadable, negative, parse_expression, parse_number
from eduardo.answers.normalize import clean
from eduardo.answers.relations import read_relation
from eduardo.answers.split import enclosing, separators_top, split_top
from eduardo.answers.units import split_unit
from eduardo.answers.values import Answer, Based, Choice, Group, Matrix, Named, Opaque, Ratio, Scalar, Text, Union

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)")
_GROUPED_NUMBER = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_ALL_REALS = re.compile(r"\\mathbb\s*\{?\s*R\s*\}?|all real numbers|all reals", re.IGNORECASE)
_NOTHING = frozenset({"\\emptyset", "\\{\\}", "\\{ \\}", "no solution", "no solutions"})
_CHOICE = re.compile(r"\(?([A-H])\)?")
_LABELLED = re.compile(r"(?:\(([A-H])\)|([A-H])(?:\)|[.:](?=\s)))\s*(?=\S)")
_BASED = re.compile(r"\(?([0-9A-Z]+)\)?_\s*(?:\{\s*(?:\\text\s*\{)?\s*(\w+)\s*\}?\s*\}|(\d+))")
_BASE_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_SEPARATOR = re.compile(r"[,;]|\\text\s*\{\s*,?\s*(?:and|or)\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|\\(?:lor|land|vee|wedge)\b")
_OR = re.compile(r".*(?:\bor\b|\\lor|\\vee)", re.DOTALL)
_CUP = re.compile(r"\\cup(?![A-Za-z])")
_MEMBER = re.compile(r"(\\?[A-Za-z]+)\s*\\in(?![A-Za-z])\s*(.+)", re.DOTALL)
_CONDITION = re.compile(r"\\mid(?![A-Za-z])|\\?\||:")
_RATIO = re.compile(r":|(?<=\d)\s+to\s+(?=\d)|\\text\s*\{\s*to\s*\}")
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[\s'’\"./&!?-])*")
_FORMULA_LETTERS = re.compile(r"(?:[abcdkmnpqrstuvwxyz]{1,3}|[A-Z]|[A-Z]{2,4})")
_TEXT_GROUP = re.compile(r"\\text\s*\{([^{}]*)\}")
_MATRIX = re.compile(r"\\begin\{([pbvB]?matrix|array)\}(?:\s*\{[lcr|]*\})?(.*)\\end\{\1\}", re.DOTALL)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?")
_PLUS_MINUS = re.compile(r"\\(pm|mp)(?![A-Za-z])\s*")
_MAX_SIGNS = 3


def read_answer(text: str) -> Answer:
    """Read a key or a final answer. Total, except for TooCostly: what has no reading is `Opaque`."""
    if _NUMBER.fullmatch(text):
        return _number(text)
    cleaned = clean(text)
    try:
        return _read(cleaned, labelled=True)
    except (Unreadable, Undefined):
        return Opaque(cleaned)
    except RecursionError as error:
        raise TooCostly("nested too deeply") from error


def _number(text: str) -> Scalar:
    value = parse_number(text.lstrip("+-"))
    value = -value if text.startswith("-") else value
    return Scalar(Node("number", value=value), value)


def _read(text: str, *, labelled: bool = False) -> Answer:
    if _NUMBER.fullmatch(text):
        return _number(text)
    if not text:
        raise Unreadable("nothing to read")
    if text in _NOTHING or text.lower() in _NOTHING:
        return Group((), "\\{", "\\}")
    if _ALL_REALS.fullmatch(text):
        return Group((_infinity(-1), _infinity(1)), "(", ")")
    if labelled and (choice := _choice(text)):
        return choice
    text = _join_number_groups(text)
    for form in (_based, _matrix, _plus_minus, _listing, _union, _membership, read_named, _bracketed, _ratio, _words):
        answer = form(text)
        if answer is not None:
            return answer
    return read_scalar(text)


def read_named(text: str) -> Answer | None:
    """`x=5`, `x<3`, `3x+y=2`: see `relations`."""
    return read_relation(text, read_value, read_scalar)


def read_value(text: str) -> Answer:
    """Read one side of an equation."""
    for form in (_based, _matrix, _union, _bracketed, _ratio, _words):
        answer = form(text)
        if answer is not None:
            return answer
    return read_scalar(text)


def read_scalar(text: str) -> Scalar:
    measure = split_unit(text)
    amount = measure.amount.strip()
    infinite = amount.replace(" ", "").lstrip("+")
    if infinite in ("\\infty", "-\\infty"):
        return _infinity(-1 if infinite.startswith("-") else 1)
    node = parse_expression(_join_number_groups(amount))
    return Scalar(node, exact_value(node), measure.unit, measure.percent)


def _infinity(sign: int) -> Scalar:
    return Scalar(None, sign * math.inf)


def _join_number_groups(text: str) -> str:
    return _GROUPED_NUMBER.sub(lambda match: match.group().replace(",", ""), text) if "," in text and not _in_brackets(text) else text


def _in_brackets(text: str) -> bool:
    """Do brackets enclose the text, so that a comma without a blank may separate the items of a pair?"""
    return text[:1] in "([{\\" and enclosing(text) is not None and ", " not in text


def _choice(text: str) -> Choice | None:
    bare = _TEXT_GROUP.sub(r"\1", text).strip()
    if match := _CHOICE.fullmatch(bare):
        return Choice(match[1])
    if match := _LABELLED.match(bare):
        try:
            body = _read(clean(bare[match.end() :]))
        except Unreadable:
            body = Opaque(bare[match.end() :])
        return Choice(match[1] or match[2], body)
    return None


def _based(text: str) -> Answer | None:
    match = _BASED.fullmatch(text)
    if match is None or not match[1][0].isdigit() and not match[1].isupper():
        return None
    word = (match[2] or match[3]).lower()
    base = _BASE_WORDS.get(word) or (int(word) if word.isdigit() and len(word) < 3 else 0)
    if not 2 <= base <= 36 or any(int(digit, 36) >= base for digit in match[1]):
        return None
    digits = match[1].lstrip("0") or "0"
    return _number(digits) if base == 10 else Based(digits, base)


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
    values: list[Answer] = []
    for pattern in range(1 << num_free):
        chosen = iter("+-"[pattern >> bit & 1] for bit in range(num_free))
        opposite = "-+"[pattern & 1]
        values.append(_read(_PLUS_MINUS.sub(lambda m, c=chosen, o=opposite: next(c) if m[1] == "pm" else o, text)))
    return Group(tuple(values))


def _listing(text: str) -> Answer | None:
    parts = [part.strip() for part in split_top(text, _SEPARATOR)]
    if len(parts) == 1:
        return None
    items: list[Answer] = []
    for part in filter(None, parts):
        item = _read(part)
        items.extend(item.items if isinstance(item, Group) and not item.opening else (item,))
    if any(_OR.fullmatch(separator) for separator in separators_top(text, _SEPARATOR)):
        names = {item.name for item in items if isinstance(item, Named) and isinstance(item.value, (Group, Union))}
        if len(names) == 1 and all(isinstance(item, Named) for item in items):
            return Named(names.pop(), Union(tuple(item.value for item in items if isinstance(item, Named))))
    return Group(tuple(items))


def _union(text: str) -> Answer | None:
    parts = split_top(text, _CUP)
    return Union(tuple(_read(part.strip()) for part in parts)) if len(parts) > 1 else None


def _membership(text: str) -> Answer | None:
    match = _MEMBER.fullmatch(text)
    return Named(match[1], read_value(match[2].strip())) if match else None


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
    items = _items(inner)
    if len(items) == 1 and opening != "\\{":
        return None
    return Group(tuple(_read(item) for item in items), opening, closing)


def _items(inner: str) -> list[str]:
    separator = re.compile(r";|,\s") if ", " in inner and ";" not in inner else re.compile(r"[,;]")
    if ", " in inner:
        inner = _GROUPED_NUMBER.sub(lambda match: match.group().replace(",", ""), inner)
        separator = re.compile(r"[,;]")
    return [item.strip() for item in split_top(inner, separator) if item.strip()]


def _ratio(text: str) -> Answer | None:
    parts = split_top(text, _RATIO)
    return Ratio(tuple(read_scalar(part.strip()) for part in parts)) if len(parts) > 1 else None


def _words(text: str) -> Answer | None:
    bare = " ".join(_TEXT_GROUP.sub(r" \1 ", text).split())
    if not _WORDS.fullmatch(bare) or (bare == text and _FORMULA_LETTERS.fullmatch(text)):
        return None
    if len(bare) == 1:
        return None
    words = re.sub(r"[^\w]+", " ", bare).casefold().split()
    return Text(" ".join(words[1:] if len(words) > 1 and words[0] in ("a", "an", "the") else words))
