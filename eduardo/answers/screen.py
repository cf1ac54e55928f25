"""A cheap look at text that only math-verify would evaluate: refuse what takes unbounded time or memory there.

The exact comparison needs no such screen, since each of its operations is bounded.
"""

from __future__ import annotations

import re

from eduardo.answers.tree import MAX_DEPTH, TooCostly

_MAX_DIGITS = 1000
_MAX_SIZE_DIGITS = 4  # of an exponent, of the argument of a factorial or binomial, of the bound of a sum
_LONG_NUMBER = re.compile(rf"\d{{{_MAX_DIGITS + 1},}}")
_BIG = rf"\d{{{_MAX_SIZE_DIGITS + 1},}}"
_BRACE = re.compile(r"\\.|[{}()]", re.DOTALL)
_TOWER = re.compile(r"\^\s*\{?\s*\(?\s*[\d.]+\s*\^|\^\s*\{[^{}]*\d\s*\^\s*\{?\s*\d")
_BIG_EXPONENT = re.compile(rf"\^\s*[{{(]?\s*-?{_BIG}")
_FACTORIAL = re.compile(rf"{_BIG}\s*\)?!|\^\s*\{{?\s*\d+\s*\}}?\s*[)}}]\s*!|!\s*\)*\s*!")
_BIG_OPERATOR = re.compile(r"\\(?:sum|prod|binom|int|lim)(?![A-Za-z])")
_BIG_BOUND = re.compile(rf"{_BIG}|\{{[^{{}}]*\d\s*\^")


def screen(text: str) -> None:
    """Raise TooCostly when `text` shows a power tower, or a huge power, factorial, sum, number or nesting."""
    depth = deepest = 0
    for token in _BRACE.finditer(text):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(token.group(), 0)
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise TooCostly("nested too deeply")
    if any(pattern.search(text) for pattern in (_LONG_NUMBER, _TOWER, _BIG_EXPONENT, _FACTORIAL)):
        raise TooCostly("a number with too many digits")
    if _BIG_OPERATOR.search(text) and _BIG_BOUND.search(text):
        raise TooCostly("a sum, product or binomial with too many terms")
