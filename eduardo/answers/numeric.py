"""Equality of expressions that have symbols or irrational values, by numbers of high precision.

Two expressions are equal when they agree to 70 of 100 digits at fixed points that look random. Nothing here is
unbounded: an intermediate number beyond 2^5000 raises TooCostly before it is computed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mpmath.ctx_mp import MPContext

from eduardo.answers.rational import Undefined
from eduardo.answers.tree import Node, TooCostly, symbols

_DIGITS = 100
_AGREEMENT = 70
_NUM_POINTS = 4
_MAX_MAGNITUDE = 5000  # binary exponent of an intermediate number
_MAX_FACTORIAL = 3000

_MP: Any = MPContext()  # a context of our own: mpmath's global precision is shared by all of the program
_MP.dps = _DIGITS
_TOLERANCE = _MP.mpf(10) ** -_AGREEMENT
_SMALL = _MP.mpf(10) ** -20  # below it numbers agree in absolute terms: rounding leaves no exact zero
_MP_LOCK = threading.Lock()  # functions of a context change its precision for a moment

_Pairs = list[tuple[Any, Any]]  # values of both expressions at each point


def are_equal(left: Node, right: Node) -> bool | None:
    """Do both expressions have the same value wherever both are defined? None where that cannot be told."""
    return _judge(left, right, lambda pairs: all(_close(a, b) for a, b in pairs))


def are_proportional(left: Node, right: Node) -> bool | None:
    """Is `left` a non-zero constant multiple of `right`? Then both have the same zeros."""

    def proportional(pairs: _Pairs) -> bool:
        (first_left, first_right), *others = pairs
        if not others or _close(first_left, 0) or _close(first_right, 0):
            return False
        return all(_close(a * first_right, b * first_left) for a, b in others)

    return _judge(left, right, proportional)


def is_positive_multiple(left: Node, right: Node) -> bool | None:
    """Like `are_proportional` with a positive real constant: both describe the same inequality."""

    def positive(pairs: _Pairs) -> bool:
        a, b = pairs[0]
        return bool(_MP.im(a / b) == 0 and _MP.re(a / b) > 0)

    verdict = are_proportional(left, right)
    return _judge(left, right, positive) if verdict else verdict


def _judge(left: Node, right: Node, decide: Callable[[_Pairs], bool]) -> bool | None:
    names = sorted(symbols(left) | symbols(right))
    with _MP_LOCK:
        pairs = list(_sample(left, right, names))
        if not pairs:
            return None
        # Roots and logarithms of negative numbers have no agreed branch: real points decide, if there are any.
        real = [pair for pair in pairs if _is_real(pair[0]) and _is_real(pair[1])]
        return bool(decide(real if len(real) > 1 or len(pairs) == 1 else pairs))


def _sample(left: Node, right: Node, names: list[str]) -> Iterator[tuple[Any, Any]]:
    for round_number in range(_NUM_POINTS if names else 1):
        point = {name: _coordinate(name, round_number) for name in names}
        try:
            yield _numeric(left, point), _numeric(right, point)
        except (Undefined, ZeroDivisionError, ValueError):
            continue


def _coordinate(name: str, round_number: int) -> Any:
    """A fixed number for a symbol, of size 0.5 to 1.5: all positive at first, all negative next, then mixed."""
    digest = hashlib.sha256(f"{round_number} {name}".encode()).digest()
    size = _MP.mpf(int.from_bytes(digest[:12])) / 2**96 + _MP.mpf("0.5")
    is_negative = round_number == 1 or (round_number > 1 and digest[12] & 1)
    return -size if is_negative else size


def _is_real(value: Any) -> bool:
    return bool(_MP.im(value) == 0)


def _close(left: Any, right: Any) -> bool:
    return bool(abs(left - right) <= _TOLERANCE * max(abs(left), abs(right), _SMALL))


def _numeric(node: Node, point: Mapping[str, Any]) -> Any:
    if node.op == "number":
        value = _MP.mpf(node.value.numerator) / node.value.denominator
    elif node.op == "symbol":
        value = point[node.name]
    elif node.op == "constant":
        value = +{"pi": _MP.pi, "e": _MP.e, "i": _MP.mpc(0, 1)}[node.name]
    else:
        value = _apply(node.op, [_numeric(argument, point) for argument in node.args])
    if value and _MP.mag(value) > _MAX_MAGNITUDE:
        raise TooCostly("a number with too many digits")
    return value


def _apply(op: str, arguments: list[Any]) -> Any:
    rule = _RULES.get(op)
    return rule(*arguments) if rule else getattr(_MP, _MP_NAMES.get(op, op))(*arguments)


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


def _binomial(top: Any, bottom: Any) -> Any:
    return _factorial(top) / (_factorial(bottom) * _factorial(top - bottom))


_RULES: dict[str, Callable[..., Any]] = {
    "sum": lambda *terms: _MP.fsum(terms),
    "product": lambda *factors: _MP.fprod(factors),
    "inverse": lambda value: 1 / value,
    "power": _power,
    "root": _root,
    "log": lambda value, base: _MP.ln(value) / _MP.ln(base),
    "exp": lambda exponent: _power(+_MP.e, exponent),
    "factorial": _factorial,
    "binomial": _binomial,
    "absolute": abs,
}
_MP_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
