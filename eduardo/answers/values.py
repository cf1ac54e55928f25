"""What a final answer can be, once read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from eduardo.answers.tree import Node
from eduardo.answers.units import Unit

Exact = Fraction | float  # a float only for plus and minus infinity


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number or an expression, with the unit it was given in."""

    node: Node | None  # None for an infinity
    exact: Exact | None  # None when irrational or symbolic
    unit: Unit | None = None
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    words: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice letter, alone or before the text of the choice."""

    letter: str
    body: Answer | None = None


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a stated base other than ten: the digits are the answer, not their value."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Ratio:
    terms: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Answers in brackets. No brackets: a bare list, in any order; braces: a set; else a tuple, point or interval."""

    items: tuple[Answer, ...]
    opening: str = ""
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Union:
    parts: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Answer, ...], ...]
    determinant: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """`x = 5`, `x < 3` (its interval), `f(x) = 2x`."""

    name: str
    value: Answer
    left: Scalar | None = None  # the name as an expression, where it is one


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation or inequality that is no assignment: `difference` compared with zero by `sign`."""

    difference: Node
    sign: str  # "=", "<", "<=", "!="


@dataclass(frozen=True, slots=True)
class Opaque:
    """Text that has no reading; it can only equal itself, or be judged by another reader."""

    text: str


Answer = Scalar | Text | Choice | Based | Ratio | Group | Union | Matrix | Named | Relation | Opaque


def is_plain(answer: Answer) -> bool:
    """Can the answer be compared exactly, without numbers of finite precision and without another reader?"""
    match answer:
        case Scalar():
            return answer.exact is not None
        case Text() | Based():
            return True
        case Choice():
            return answer.body is None or is_plain(answer.body)
        case Ratio():
            return all(is_plain(term) for term in answer.terms)
        case Group():
            return all(is_plain(item) for item in answer.items)
        case Union():
            return all(is_plain(part) for part in answer.parts)
        case Matrix():
            return all(is_plain(cell) for row in answer.rows for cell in row)
        case Named():
            return is_plain(answer.value)
        case _:
            return False
