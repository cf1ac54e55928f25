"""Tokens of mathematical expressions."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from eduardo.answers.tree import TooCostly, Unreadable

_MAX_DIGITS = 1000
_MAX_EXPONENT_DIGITS = 4
_TOKEN = re.compile(
    r"(?P<space>\s*)(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+(?![\w.]))?|\.\d+)"
    r"|\\(?P<command>[A-Za-z]+)|(?P<letter>[^\W\d_])|(?P<mark>[-+*/^_!()\[\]{}|']|\\[{}|]))"
)


class Token(NamedTuple):
    kind: str  # number, command (without its backslash), letter, mark or end
    text: str
    spaced: bool = False  # a blank stands before it


END = Token("end", "")


def tokenize(text: str) -> list[Token]:
    """All tokens of `text`; raises Unreadable where a character belongs to none."""
    tokens: list[Token] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable(f"unexpected {text[at]!r}")
        kind = str(match.lastgroup)
        tokens.append(Token(kind, match[kind], bool(match["space"])))
        at = match.end()
    return tokens


def parse_number(text: str) -> Fraction:
    """Exact value of an unsigned decimal literal with an optional exponent; raises TooCostly."""
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > _MAX_DIGITS or len(exponent.lstrip("+-")) > _MAX_EXPONENT_DIGITS:
        raise TooCostly("a number with too many digits")
    return Fraction(digits.rstrip(".") + (f"e{exponent}" if exponent else ""))


def parse_repeating(decimal: str, digits: str) -> Fraction:
    """Value that the repeating part `digits` adds to the literal `decimal`, as in `0.1\\overline{6}`."""
    if not digits.isdecimal() or len(digits) > _MAX_DIGITS:
        raise Unreadable("a repeating part that is no number")
    places = len(decimal.partition(".")[2])
    return Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)


def is_proper(top: Fraction, bottom: Fraction) -> bool:
    """Is top/bottom the fraction of a mixed number?"""
    return 0 < top < bottom and top.denominator == bottom.denominator == 1


class Cursor:
    """A position in a list of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def position(self) -> tuple[int, list[Token]]:
        return self._at, list(self._tokens)

    def go_back(self, position: tuple[int, list[Token]]) -> None:
        self._at, self._tokens = position

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or one further on (-1: the last one read); END after the last."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else END

    def next(self) -> Token:
        token = self.peek()
        if token is END:
            raise Unreadable("the expression ends too early")
        self._at += 1
        return token

    def next_digit(self) -> int:
        """Read only the first digit of the number that comes next, as TeX does: `\\frac12` is one half."""
        token = self.next()
        if not token.text[0].isdecimal():
            raise Unreadable("a decimal point begins an argument")
        if len(token.text) > 1:
            self._at -= 1
            self._tokens[self._at] = Token("number", token.text[1:])
        return int(token.text[0])

    def accept(self, kind: str, text: str) -> bool:
        """Read the next token if it is this one."""
        if self.peek().kind == kind and self.peek().text == text:
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if self.next().text != text:
            raise Unreadable(f"{text!r} is missing")

    def sign(self) -> int:
        """Read any number of signs: 1 or -1."""
        sign = 1
        while self.peek().kind == "mark" and self.peek().text in ("+", "-"):
            sign = -sign if self.next().text == "-" else sign
        return sign

    def raw_group(self) -> str:
        """Characters of the next token or braced group, unread."""
        token = self.next()
        if token.text != "{":
            return token.text
        depth = 1
        parts: list[str] = []
        while True:
            token = self.next()
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0:
                return "".join(parts)
            parts.append(token.text)
