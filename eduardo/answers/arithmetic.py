"""Values of expression trees: exact rational arithmetic, and high-precision numbers for everything else.

Two expressions are equal when they agree to 70 of 100 digits at fixed pseudo-random points. Every operation is bounded
in size beforehand, so that no input takes unbounded time or memory (TooCostly).
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from mpmath.ctx_mp import MPContext

from eduardo.answers.expression import Node, TooCostly

_MAX_BITS = 1 << 15
_MAX_FACTORIAL = 3000
_MAX_ROOT_INDEX = 64
_DIGITS = 100
_AGREEMENT = 70
_NUM_POINTS = 4
_MAX_MAGNITUDE = 5000  # binary exponent of an intermediate number

_MP: Any = MPContext()  # a context of our own: mpmath's global precision is shared by all threads
_MP.dps = _DIGITS
_TOLERANCE = _MP.mpf(10) ** -_AGREEMENT
_MP_LOCK = threading.Lock()


class Undefined(Exception):
    """Division by zero, logarithm of zero and the like."""


def exact_value(node: Node) -> Fraction | None:
    """Value as a fraction, or None when the expression has symbols or is not seen to be rational."""
    if node.op == "number":
        return node.value
    if node.op in ("symbol", "constant"):
        return None
    rule = _EXACT.get(node.op)
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


_EXACT = {
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


def symbols(node: Node) -> frozenset[str]:
    """Names of the free symbols."""
    if node.op == "symbol":
        return frozenset((node.name,))
    return frozenset().union(*(symbols(argument) for argument in node.args))


def are_equal(left: Node, right: Node) -> bool | None:
    """Do both expressions have the same value wherever both are defined? None where that cannot be told."""
    return _judge(left, right, lambda pairs: all(_close(a, b) for a, b in pairs))


def are_proportional(left: Node, right: Node) -> bool | None:
    """Is `left` a non-zero constant multiple of `right`? A positive answer makes both describe the same zeros."""

    def proportional(pairs: list[tuple[Any, Any]]) -> bool:
        (first_left, first_right), *others = pairs
        if first_left == 0 or first_right == 0:
            return False
        return all(_close(a * first_right, b * first_left) for a, b in others)

    return _judge(left, right, proportional)


def is_positive_multiple(left: Node, right: Node) -> bool | None:
    """Like `are_proportional` with a positive real constant: both describe the same inequality."""

    def positive(pairs: list[tuple[Any, Any]]) -> bool:
        a, b = pairs[0]
        return bool(a != 0 and b != 0 and _MP.im(a / b) == 0 and _MP.re(a / b) > 0)

    verdict = are_proportional(left, right)
    return _judge(left, right, positive) if verdict else verdict


def _judge(left: Node, right: Node, decide: Any) -> bool | None:
    names = sorted(symbols(left) | symbols(right))
    with _MP_LOCK:
        pairs = list(_sample(left, right, names))
        if not pairs:
            return None
        # A root or logarithm of a negative number has no agreed branch: real points decide where there are any.
        real = [pair for pair in pairs if _is_real(pair[0]) and _is_real(pair[1])]
        return bool(decide(real or pairs))


def _sample(left: Node, right: Node, names: list[str]) -> Iterator[tuple[Any, Any]]:
    for round_number in range(_NUM_POINTS if names else 1):
        point = {name: _coordinate(name, round_number) for name in names}
        try:
            yield _numeric(left, point), _numeric(right, point)
        except (Undefined, ZeroDivisionError, ValueError):
            continue


def _coordinate(name: str, round_number: int) -> Any:
    """A fixed number for a symbol, of magnitude 0.5 to 1.5; signs vary from round to round."""
    digest = hashlib.sha256(f"{round_number} {name}".encode()).digest()
    size = _MP.mpf(int.from_bytes(digest[:12])) / 2**96 + _MP.mpf("0.5")
    return -size if round_number and digest[12] & 1 else size


def _is_real(value: Any) -> bool:
    return bool(_MP.im(value) == 0)


def _close(left: Any, right: Any) -> bool:
    return bool(abs(left - right) <= _TOLERANCE * max(abs(left), abs(right)))


def _numeric(node: Node, point: Mapping[str, Any]) -> Any:
    value = _MP.mpf(0)
    match node.op:
        case "number":
            value = _MP.mpf(node.value.numerator) / node.value.denominator
        case "symbol":
            value = point[node.name]
        case "constant":
            value = {"pi": _MP.pi, "e": _MP.e, "i": _MP.mpc(0, 1)}[node.name] + 0
        case _:
            arguments = [_numeric(argument, point) for argument in node.args]
            value = _apply(node.op, arguments)
    if value and _MP.mag(value) > _MAX_MAGNITUDE:
        raise TooCostly("a number with too many digits")
    return value


def _apply(op: str, arguments: list[Any]) -> Any:
    first = arguments[0]
    match op:
        case "sum":
            return _MP.fsum(arguments)
        case "product":
            return _MP.fprod(arguments)
        case "inverse":
            return 1 / first
        case "power":
            return _power(first, arguments[1])
        case "root":
            return _root(first, arguments[1])
        case "log":
            return _MP.ln(first) / _MP.ln(arguments[1])
        case "exp":
            return _power(_MP.e + 0, first)
        case "factorial":
            return _factorial(first)
        case "binomial":
            return _factorial(first) / (_factorial(arguments[1]) * _factorial(first - arguments[1]))
        case "absolute":
            return abs(first)
        case "floor" | "ceil":
            return getattr(_MP, op)(first)
        case "arcsin" | "arccos" | "arctan":
            return getattr(_MP, "a" + op[3:])(first)
        case _:
            return getattr(_MP, op)(first)


def _power(base: Any, exponent: Any) -> Any:
    if base == 0:
        if _MP.re(exponent) <= 0 and exponent != 0:
            raise Undefined("division by zero")
        return _MP.mpf(exponent == 0)
    if abs(exponent) * max(1, abs(_MP.mag(base))) > _MAX_MAGNITUDE:
        raise TooCostly("a power with too many digits")
    return base**exponent


def _root(radicand: Any, index: Any) -> Any:
    if _is_real(radicand) and radicand < 0 and index == int(_MP.re(index)) and int(_MP.re(index)) % 2:
        return -_power(-radicand, 1 / index)
    return _power(radicand, 1 / index)


def _factorial(value: Any) -> Any:
    if abs(value) > _MAX_FACTORIAL:
        raise TooCostly("a factorial with too many digits")
    return _MP.gamma(value + 1)
