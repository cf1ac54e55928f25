"""Exact rational values of expressions. Every operation is bounded in size before it is carried out."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from eduardo.answers.tree import Node, TooCostly

_MAX_BITS = 1 << 15
_MAX_FACTORIAL = 3000
_MAX_ROOT_INDEX = 64


class Undefined(Exception):
    """Division by zero and the like."""


def exact_value(node: Node) -> Fraction | None:
    """Value as a fraction, or None when the expression has symbols or is not seen to be rational."""
    if node.op == "number":
        return node.value
    if node.op in ("symbol", "constant"):
        return None
    rule = _RULES.get(node.op)
    if rule is None:
        return None
    values: list[Fraction] = []
    for argument in node.args:
        value = exact_value(argument)
        if value is None:
            return None
        values.append(value)
    result = rule(values)
    if result is not None and max(_bits(result.numerator), _bits(result.denominator)) > _MAX_BITS:
        raise TooCostly("a number with too many digits")
    return result


def _bits(value: int) -> int:
    return abs(value).bit_length()


def _exact_sum(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def _exact_product(values: list[Fraction]) -> Fraction:
    product = Fraction(1)
    for value in values:
        product *= value
        if _bits(product.numerator) > _MAX_BITS or _bits(product.denominator) > _MAX_BITS:
            raise TooCostly("a product with too many digits")
    return product


def _exact_inverse(values: list[Fraction]) -> Fraction:
    if values[0] == 0:
        raise Undefined("division by zero")
    return 1 / values[0]


def _exact_power(values: list[Fraction]) -> Fraction | None:
    base, exponent = values
    if exponent.denominator != 1:
        if exponent.denominator > _MAX_ROOT_INDEX or base < 0:
            return None
        root = _exact_root([base, Fraction(exponent.denominator)])
        return None if root is None else _exact_power([root, Fraction(exponent.numerator)])
    if base == 0 and exponent < 0:
        raise Undefined("division by zero")
    if base not in (-1, 0, 1):
        if max(_bits(base.numerator), _bits(base.denominator)) * abs(exponent) > _MAX_BITS:
            raise TooCostly("a power with too many digits")
        return base**exponent.numerator
    if base == -1:
        return Fraction(-1 if exponent % 2 else 1)
    return Fraction(1) if exponent == 0 else base


def _exact_root(values: list[Fraction]) -> Fraction | None:
    radicand, index = values
    if index.denominator != 1 or not 2 <= index <= _MAX_ROOT_INDEX:
        return None
    degree = index.numerator
    sign = 1
    if radicand < 0:
        if degree % 2 == 0:
            return None
        sign = -1
    top = _integer_root(abs(radicand.numerator), degree)
    bottom = _integer_root(radicand.denominator, degree)
    return None if top is None or bottom is None else Fraction(sign * top, bottom)


def _integer_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
    else:
        low, high = 0, 1 << (_bits(value) // degree + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
        root = low
    return root if root**degree == value else None


def _exact_factorial(values: list[Fraction]) -> Fraction | None:
    value = values[0]
    if value.denominator != 1 or value < 0:
        return None
    if value > _MAX_FACTORIAL:
        raise TooCostly("a factorial with too many digits")
    return Fraction(math.factorial(value.numerator))


def _exact_binomial(values: list[Fraction]) -> Fraction | None:
    top, bottom = values
    if top.denominator != 1 or bottom.denominator != 1 or bottom < 0 or top < 0:
        return None
    if top > _MAX_FACTORIAL:
        raise TooCostly("a binomial coefficient with too many digits")
    return Fraction(math.comb(top.numerator, bottom.numerator))


_RULES: dict[str, Callable[[list[Fraction]], Fraction | None]] = {
    "sum": _exact_sum,
    "product": _exact_product,
    "inverse": _exact_inverse,
    "power": _exact_power,
    "root": _exact_root,
    "factorial": _exact_factorial,
    "binomial": _exact_binomial,
    "absolute": lambda values: abs(values[0]),
    "floor": lambda values: Fraction(math.floor(values[0])),
    "ceil": lambda values: Fraction(math.ceil(values[0])),
}
