"""Trees of mathematical expressions, and why a text may have none."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class Unreadable(Exception):
    """The text has no reading of the form that was tried."""


class TooCostly(Exception):
    """Reading or evaluating the text would take unbounded time or memory."""


MAX_DEPTH = 30  # of brackets, fractions and roots in one another
FUNCTIONS = frozenset(
    (
        *("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
        *("ln", "log", "lg", "exp"),
    )
)


@dataclass(frozen=True, slots=True)
class Node:
    """An operation on other nodes, or a leaf.

    `op` is number, symbol, constant (pi, e, i), sum, product, inverse, power, root (radicand, index), factorial,
    binomial, absolute, floor, ceil, log (argument, base) or another name in FUNCTIONS.
    """

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction = Fraction(0)  # of a number
    name: str = ""  # of a symbol or constant


def number(value: Fraction | int) -> Node:
    return Node("number", value=Fraction(value))


def negative(node: Node) -> Node:
    return number(-node.value) if node.op == "number" else Node("product", (number(-1), node))


def difference(left: Node, right: Node) -> Node:
    return Node("sum", (left, negative(right)))


def symbols(node: Node) -> frozenset[str]:
    """Names of the free symbols."""
    if node.op == "symbol":
        return frozenset((node.name,))
    return frozenset[str]().union(*(symbols(argument) for argument in node.args))
