"""The exact comparison: are two answers the same? Symmetric by construction.

Decisions that are ours:
* Brackets: `[0,1]` is not `(0,1)`; with three or more items the kind of bracket carries no meaning. A bare list has
  any order against a bare list or a set, and equals a tuple in parentheses only in its order. A list never equals one
  of its items, so a list of guesses cannot win.
* Percent: 50% equals 50% and, against a bare number, 50 or 0.5.
* A name is ignored where only one side has one (`x=5` and `5`); different names differ (`x=5` and `y=5`).
* A choice letter before a text equals the letter alone and the text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from eduardo.answers.normalize import plain_text
from eduardo.answers.numeric import are_equal, are_proportional, is_positive_multiple
from eduardo.answers.rational import exact_value
from eduardo.answers.tree import Node, TooCostly, difference, number
from eduardo.answers.units import conversion
from eduardo.answers.values import (
    Answer,
    Based,
    Choice,
    Group,
    Matrix,
    Named,
    Opaque,
    Ratio,
    Relation,
    Scalar,
    Text,
    Union,
    is_plain,
)
from eduardo.answers.verdict import Verdict, all_right, verdict_of

_MAX_PAIRINGS = 10_000
_MAX_NUMERIC_PAIRINGS = 400


def compare(left: Answer, right: Answer) -> Verdict:
    """Compare two answers; `compare(a, b) == compare(b, a)`. Raises TooCostly."""
    for kind, rule in _RULES:
        if isinstance(left, kind):
            return rule(left, right)
        if isinstance(right, kind):
            return rule(right, left)
    return Verdict.WRONG


def _in_order(left: Sequence[Answer], right: Sequence[Answer]) -> Verdict:
    if len(left) != len(right):
        return Verdict.WRONG
    return all_right([compare(a, b) for a, b in zip(left, right, strict=True)])


def _in_any_order(left: Sequence[Answer], right: Sequence[Answer]) -> Verdict:
    if len(left) != len(right):
        return Verdict.WRONG
    _check_pairings(left, right)
    unmatched = list(right)
    unknown = False
    for item in left:
        verdicts = [compare(item, candidate) for candidate in unmatched]
        if Verdict.RIGHT in verdicts:
            del unmatched[verdicts.index(Verdict.RIGHT)]
        elif Verdict.UNKNOWN in verdicts:
            unknown = True
        else:
            return Verdict.WRONG
    return Verdict.UNKNOWN if unknown else Verdict.RIGHT


def _as_sets(left: Sequence[Answer], right: Sequence[Answer]) -> Verdict:
    _check_pairings(left, right)
    table = [[compare(a, b) for b in right] for a in left]
    lines = [*table, *([row[column] for row in table] for column in range(len(right)))]
    if any(Verdict.RIGHT not in line and Verdict.UNKNOWN not in line for line in lines):
        return Verdict.WRONG
    return verdict_of(True if all(Verdict.RIGHT in line for line in lines) else None)


def _check_pairings(left: Sequence[Answer], right: Sequence[Answer]) -> None:
    plain = all(map(is_plain, left)) and all(map(is_plain, right))
    if len(left) * len(right) > (_MAX_PAIRINGS if plain else _MAX_NUMERIC_PAIRINGS):
        raise TooCostly("too many items to compare in any order")


def _compare_opaque(left: Opaque, right: Answer) -> Verdict:
    if isinstance(right, Opaque) and plain_text(left.text) == plain_text(right.text):
        return Verdict.RIGHT
    return Verdict.WRONG if isinstance(right, (Text, Based)) else Verdict.UNKNOWN


def _compare_named(left: Named, right: Answer) -> Verdict:
    if isinstance(right, Named) and left.name == right.name:
        return compare(left.value, right.value)
    if isinstance(right, (Named, Relation)):
        ours, theirs = _as_relation(left), _as_relation(right)
        return Verdict.WRONG if ours is None or theirs is None else _compare_relation(ours, theirs)
    return compare(left.value, right)


def _as_relation(answer: Named | Relation) -> Relation | None:
    if isinstance(answer, Relation):
        return answer
    name, value = answer.left, answer.value
    if name is None or name.node is None or not isinstance(value, Scalar) or value.node is None:
        return None
    return Relation(difference(name.node, value.node), "=")


def _compare_relation(left: Relation, right: Answer) -> Verdict:
    if not isinstance(right, Relation) or left.sign != right.sign:
        return Verdict.WRONG
    same = are_proportional if left.sign in ("=", "!=") else is_positive_multiple
    return verdict_of(same(left.difference, right.difference))


def _compare_choice(left: Choice, right: Answer) -> Verdict:
    if isinstance(right, Choice):
        if left.letter != right.letter or left.body is None or right.body is None:
            return verdict_of(left.letter == right.letter)
        return compare(left.body, right.body)
    if isinstance(right, Scalar) and right.node is not None:
        if right.node.op == "symbol" and right.node.name.upper() == left.letter:
            return Verdict.RIGHT
        if left.body is None:
            return compare(Scalar(Node("symbol", name=left.letter), None), right)
    return Verdict.WRONG if left.body is None else compare(left.body, right)


def _compare_union(left: Union, right: Answer) -> Verdict:
    if isinstance(right, Union):
        return _as_sets(left.parts, right.parts)
    if isinstance(right, Group) and not right.opening:
        return _as_sets(left.parts, right.items)
    return Verdict.WRONG


def _compare_group(left: Group, right: Answer) -> Verdict:
    if isinstance(right, Matrix):
        return _compare_vector(right, left)
    if not isinstance(right, Group):
        if len(left.items) == 1:
            return compare(left.items[0], right)
        return Verdict.WRONG
    braces = [group.opening == "\\{" for group in (left, right)]
    bare = [not group.opening for group in (left, right)]
    if any(braces):
        unordered = all(is_set or is_list for is_set, is_list in zip(braces, bare, strict=True))
        return _as_sets(left.items, right.items) if unordered else Verdict.WRONG
    if all(bare):
        if _names_order(left) != _names_order(right):
            return _in_order(left.items, right.items)
        return _in_any_order(left.items, right.items)
    if _same_brackets(left, right):
        return _in_order(left.items, right.items)
    return Verdict.WRONG


def _names_order(group: Group) -> bool:
    """Do names tell the items apart? Then a list without names has to keep their order."""
    names = [item.name for item in group.items if isinstance(item, Named)]
    return len(names) == len(group.items) == len(set(names)) > 1


def _same_brackets(left: Group, right: Group) -> bool:
    kinds = [_brackets(group) for group in (left, right)]
    return kinds[0] == kinds[1] or min(len(left.items), len(right.items)) > 2


def _brackets(group: Group) -> str:
    if group.opening in ("", "\\langle"):
        return "()"
    return group.opening + group.closing


def _compare_matrix(left: Matrix, right: Answer) -> Verdict:
    if not isinstance(right, Matrix) or left.determinant != right.determinant:
        return Verdict.WRONG
    if len(left.rows) != len(right.rows):
        return Verdict.WRONG
    return all_right([_in_order(a, b) for a, b in zip(left.rows, right.rows, strict=True)])


def _compare_vector(matrix: Matrix, group: Group) -> Verdict:
    if group.opening == "\\{" or matrix.determinant:
        return Verdict.WRONG
    if len(matrix.rows) == 1:
        return _in_order(matrix.rows[0], group.items)
    if all(len(row) == 1 for row in matrix.rows):
        return _in_order([row[0] for row in matrix.rows], group.items)
    return Verdict.WRONG


def _compare_ratio(left: Ratio, right: Answer) -> Verdict:
    if isinstance(right, Scalar) and len(left.terms) == 2:
        right = Ratio((right, Scalar(number(1), Fraction(1))))
    if not isinstance(right, Ratio) or len(left.terms) != len(right.terms):
        return Verdict.WRONG
    if any(term.exact == 0 for term in (*left.terms, *right.terms)):
        return _in_order(left.terms, right.terms)  # a time of day, or no ratio at all
    pairs = zip(left.terms[1:], right.terms[1:], strict=True)
    return all_right([_compare_scalar(_times(a, right.terms[0]), _times(b, left.terms[0])) for a, b in pairs])


def _times(left: Scalar, right: Scalar) -> Scalar:
    if left.node is None or right.node is None:
        return Scalar(None, None)  # infinite terms have no ratio
    node = Node("product", (left.node, right.node))
    return Scalar(node, exact_value(node))


def _compare_scalar(left: Scalar, right: Answer) -> Verdict:
    if not isinstance(right, Scalar):
        return Verdict.WRONG
    factor = conversion(left.unit, right.unit)
    if factor is None:
        return Verdict.WRONG
    if left.percent == right.percent:
        return _same_value(left, right, factor)
    percent, other = (left, right) if left.percent else (right, left)
    if _same_value(percent, other, Fraction(1)) is Verdict.RIGHT:
        return Verdict.RIGHT
    return _same_value(percent, other, Fraction(1, 100))


def _same_value(left: Scalar, right: Scalar, factor: Fraction) -> Verdict:
    """Is `left` times `factor` the number `right`?"""
    if left.exact is not None and right.exact is not None:
        return verdict_of(left.exact * factor == right.exact)
    if left.node is None or right.node is None:
        return Verdict.WRONG
    node = left.node if factor == 1 else Node("product", (number(factor), left.node))
    return verdict_of(are_equal(node, right.node))


def _compare_words(left: Text, right: Answer) -> Verdict:
    return verdict_of(left == right)


_RULES: tuple[tuple[type, Callable[[Any, Answer], Verdict]], ...] = (
    (Opaque, _compare_opaque),
    (Named, _compare_named),
    (Choice, _compare_choice),
    (Text, _compare_words),
    (Based, _compare_words),
    (Union, _compare_union),
    (Group, _compare_group),
    (Matrix, _compare_matrix),
    (Relation, _compare_relation),
    (Ratio, _compare_ratio),
    (Scalar, _compare_scalar),
)
