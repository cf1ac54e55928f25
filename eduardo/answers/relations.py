"""Reader of equations and inequalities."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

from eduardo.answers.numeric import are_equal
from eduardo.answers.split import separators_top, split_top
from eduardo.answers.tree import Unreadable, difference, symbols
from eduardo.answers.values import Answer, Group, Named, Relation, Scalar

_SIGN = re.compile(r"(?<!\\)(?:=|<|>)|\\(?:le|ge|ne|approx)(?![A-Za-z])")
_SIGN_NAMES = {"=": "=", "<": "<", ">": ">", "\\le": "<=", "\\ge": ">=", "\\ne": "!=", "\\approx": "="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NAME = re.compile(
    r"(?:\\(?:angle|triangle|measuredangle)\s*)?"
    r"(?:\\?[^\W\d_]+(?:_(?:\{\w+\}|\w))?'*|\\(?:text|overline|vec|hat|bar)\s*\{[^{}]+\})(?:\s*\(\s*[^\W\d_]\s*\))?"
)
_NAME_SUM = re.compile(rf"{_NAME.pattern}(?:\s*(?:[-+]|\\cdot)?\s*{_NAME.pattern})*")
_CONSTANTS = frozenset({"\\pi", "e", "i", "\\infty"})


def read_relation(
    text: str, read_value: Callable[[str], Answer], read_scalar: Callable[[str], Scalar]
) -> Answer | None:
    """Read `text` when it has an equality or inequality sign at its top level, else return None."""
    sides = [side.strip() for side in split_top(text, _SIGN)]
    if len(sides) == 1:
        return None
    if not sides[0] and len(sides) == 2 and _SIGN_NAMES[separators_top(text, _SIGN)[0]] == "=":
        return read_value(sides[1])  # "= 5", "about 5"
    if not all(sides):
        raise Unreadable("a relation without a side")
    signs = [_SIGN_NAMES[sign] for sign in separators_top(text, _SIGN)]
    if set(signs) == {"="}:
        return _equation(sides, read_value, read_scalar)
    if "=" in signs or ("!=" in signs and len(signs) > 1):
        raise Unreadable("a chain of different relations")
    scalars = [read_scalar(side) for side in sides]
    return _interval(scalars, sides, signs) or _inequality(scalars, signs)


def _equation(
    sides: list[str], read_value: Callable[[str], Answer], read_scalar: Callable[[str], Scalar]
) -> Answer:
    if len(sides) == 2 and _is_name(sides[1]) and not _is_name(sides[0]):
        sides = [sides[1], sides[0]]
    value = read_value(sides[-1])
    middle = [read_value(side) for side in sides[1:-1]]
    for side in middle:
        if isinstance(side, Scalar) and isinstance(value, Scalar) and not _agree(side, value):
            return _false_equation(side, value)
    if _is_name(sides[0]):
        return Named(_squeeze(sides[0]), value, _try_scalar(sides[0], read_scalar))
    left = read_scalar(sides[0])
    if isinstance(value, Scalar) and left.node is not None and value.node is not None:
        if not symbols(left.node):
            return value if _agree(left, value) else _false_equation(left, value)
        if value.exact and _NAME_SUM.fullmatch(sides[0]):
            return Named(_squeeze(sides[0]), value, left)
        return Relation(difference(left.node, value.node), "=")
    raise Unreadable("an equation between answers that are no expressions")


def _false_equation(left: Scalar, right: Scalar) -> Relation:
    """`3 = 12` has no value and equals nothing, so that a chain cannot offer several guesses."""
    assert left.node is not None
    assert right.node is not None
    return Relation(difference(left.node, right.node), "=")


def _agree(left: Scalar, right: Scalar) -> bool:
    """Do two sides of a chain have the same value? Sides with symbols are steps of a derivation and always do."""
    if left.node is None or right.node is None:
        return True
    if symbols(left.node) or symbols(right.node):
        return True
    scale = Fraction(1, 100) if left.percent != right.percent else Fraction(1)
    if left.exact is not None and right.exact is not None:
        return left.exact == right.exact or left.exact in (right.exact * scale, right.exact / scale)
    return are_equal(left.node, right.node) is True


def _is_name(text: str) -> bool:
    return text not in _CONSTANTS and _NAME.fullmatch(text) is not None


def _squeeze(name: str) -> str:
    return re.sub(r"[\s{}]|\\text", "", name)


def _try_scalar(text: str, read_scalar: Callable[[str], Scalar]) -> Scalar | None:
    try:
        return read_scalar(text)
    except Unreadable:
        return None


def _interval(scalars: list[Scalar], sides: list[str], signs: list[str]) -> Answer | None:
    """`x < 3`, `3 > x`, `1 < x \\le 2`: the interval of x, named."""
    names = [index for index, side in enumerate(sides) if _is_name(side)]
    if len(names) != 1 or "!=" in signs:
        return None
    at = names[0]
    if (
        any(s.node is not None and symbols(s.node) for i, s in enumerate(scalars) if i != at)
        or len(sides) > 3
    ):
        return None
    if len(sides) == 3 and (at != 1 or signs[0][0] != signs[1][0]):
        return None
    low, high = (Scalar(None, -math.inf), "("), (Scalar(None, math.inf), ")")
    for index, written in enumerate(signs):
        bound_at = index if index < at else index + 1
        sign = _MIRRORED[written] if bound_at < at else written
        closed = "=" in sign
        if sign[0] == "<":
            high = (scalars[bound_at], "]" if closed else ")")
        else:
            low = (scalars[bound_at], "[" if closed else "(")
    return Named(_squeeze(sides[at]), Group((low[0], high[0]), low[1], high[1]))


def _inequality(scalars: list[Scalar], signs: list[str]) -> Answer:
    left, right = scalars[0].node, scalars[-1].node
    if len(signs) > 1 or left is None or right is None:
        raise Unreadable("a chain of inequalities")
    if signs[0] in (">", ">="):
        left, right = right, left
    return Relation(difference(left, right), {">": "<", ">=": "<="}.get(signs[0], signs[0]))
