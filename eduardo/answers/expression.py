"""Reader of mathematical expressions in cleaned LaTeX or plain text: text → tree. Nothing is evaluated here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


class Unreadable(Exception):
    """The text is no expression of the grammar below."""


class TooCostly(Exception):
    """Reading or evaluating the text would take unbounded time or memory."""


MAX_DEPTH = 30
_MAX_DIGITS = 1000
_MAX_EXPONENT_DIGITS = 4

FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp".split()
)
_GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell hbar".split()
)
_MARKED_NAMES = frozenset("overline vec hat bar widehat widetilde tilde overrightarrow dot mathcal mathbb".split())
_PREFIXED_NAMES = frozenset("angle triangle measuredangle odot".split())
_CLOSED_BY = {"(": ")", "[": "]", "{": "}", "|": "|"}
_ROUNDED = {"lfloor": ("rfloor", "floor"), "lceil": ("rceil", "ceil")}


@dataclass(frozen=True, slots=True)
class Node:
    """`op` is one of: number, symbol, constant, sum, product, inverse, power, root, factorial, binomial, absolute, floor,
    ceil, log (argument, base), or a name in FUNCTIONS. `root` is (radicand, index)."""

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction = Fraction(0)
    name: str = ""


class Token(NamedTuple):
    kind: str
    text: str
    spaced: bool  # a blank stands before it


_TOKEN = re.compile(
    r"(?P<space>\s*)(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+(?![\w.]))?|\.\d+)"
    r"|\\(?P<command>[A-Za-z]+)|(?P<letter>[^\W\d_])|(?P<mark>[-+*/^_!()\[\]{}|']|\\[{}|]))"
)
_WHOLE_REPEAT = re.compile(r"\d+")


def parse_number(text: str) -> Fraction:
    """Exact value of a decimal literal with an optional exponent."""
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > _MAX_DIGITS or len(exponent.lstrip("+-")) > _MAX_EXPONENT_DIGITS:
        raise TooCostly("a number with too many digits")
    return Fraction(digits.rstrip(".") + (f"e{exponent}" if exponent else ""))


def number(value: Fraction | int) -> Node:
    return Node("number", value=Fraction(value))


def negative(node: Node) -> Node:
    return number(-node.value) if node.op == "number" else Node("product", (number(-1), node))


def parse_expression(text: str) -> Node:
    """Read all of `text`; raise Unreadable or TooCostly."""
    parser = _Parser(_tokenize(text))
    node = parser.sum()
    if parser.peek().kind != "end":
        raise Unreadable(f"unexpected {parser.peek().text!r}")
    return node


def _tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at:].isspace():
                break
            raise Unreadable(f"unexpected {text[at]!r}")
        kind = match.lastgroup or ""
        tokens.append(Token(kind, match[kind], bool(match["space"])))
        at = match.end()
    return tokens


_END = Token("end", "", False)


class _Parser:
    """Recursive descent. Products written side by side bind like written ones: 1/2x is (1/2)·x."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._in_absolute = 0

    def peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else _END

    def sum(self) -> Node:
        terms = [self._signed_term()]
        while self.peek().text in ("+", "-") and self.peek().kind == "mark":
            terms.append(self._signed_term())
        return terms[0] if len(terms) == 1 else Node("sum", tuple(terms))

    def _next(self) -> Token:
        token = self.peek()
        if token.kind == "end":
            raise Unreadable("the expression ends too early")
        self._at += 1
        return token

    def _accept(self, kind: str, text: str) -> bool:
        if self.peek().kind == kind and self.peek().text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if self._next().text != text:
            raise Unreadable(f"{text!r} is missing")

    def _sign(self) -> int:
        sign = 1
        while self.peek().kind == "mark" and self.peek().text in ("+", "-"):
            sign = -sign if self._next().text == "-" else sign
        return sign

    def _signed_term(self) -> Node:
        sign = self._sign()
        term = self._term()
        return term if sign > 0 else negative(term)

    def _term(self) -> Node:
        factors = [self._power()]
        while True:
            if self._accept("mark", "*") or self._accept("command", "cdot"):
                factors.append(self._signed_power())
            elif self._accept("mark", "/"):
                factors.append(Node("inverse", (self._signed_power(),)))
            elif self._starts_factor():
                factors.append(self._power())
            else:
                return factors[0] if len(factors) == 1 else Node("product", tuple(factors))

    def _signed_power(self) -> Node:
        sign = self._sign()
        power = self._power()
        return power if sign > 0 else negative(power)

    def _starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "mark":
            return token.text in ("(", "{", "[") or (token.text == "|" and not self._in_absolute)
        if token.kind == "number":
            return self.peek(-1).kind != "number"
        return token.kind == "letter" or (
            token.kind == "command" and token.text not in ("cdot", "rfloor", "rceil", "degree")
        )

    def _power(self) -> Node:
        base = self._atom()
        while self._accept("mark", "!"):
            if base.op == "factorial":
                raise Unreadable("double factorial")
            base = Node("factorial", (base,))
        if self._accept("mark", "^"):
            return Node("power", (base, self._exponent()))
        return base

    def _exponent(self) -> Node:
        sign = self._sign()
        exponent = self._argument(whole_number=True)
        if self._accept("mark", "^"):
            exponent = Node("power", (exponent, self._exponent()))
        return exponent if sign > 0 else negative(exponent)

    def _argument(self, *, whole_number: bool = False) -> Node:
        """One TeX argument: a group or the next token; of a number its first digit, unless `whole_number`."""
        token = self.peek()
        if token.kind == "number" and not whole_number:
            self._next()
            if len(token.text) > 1:
                self._at -= 1
                self._tokens[self._at] = Token("number", token.text[1:], False)
            if not token.text[0].isdigit():
                raise Unreadable("a decimal point begins an argument")
            return number(int(token.text[0]))
        return self._atom()

    def _atom(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooCostly("nested too deeply")
        token = self._next()
        if token.kind == "number":
            node = self._number(token)
        elif token.kind == "letter":
            node = self._letter(token)
        elif token.kind == "command":
            node = self._command(token.text)
        elif token.text in _CLOSED_BY:
            node = self._group(token.text)
        else:
            raise Unreadable(f"unexpected {token.text!r}")
        self._depth -= 1
        return node

    def _group(self, opening: str) -> Node:
        outer, self._in_absolute = self._in_absolute, int(opening == "|")
        inner = self.sum()
        self._expect(_CLOSED_BY[opening])
        self._in_absolute = outer
        return Node("absolute", (inner,)) if opening == "|" else inner

    def _number(self, token: Token) -> Node:
        value = parse_number(token.text)
        following = self.peek()
        if "." in token.text and following.kind == "command" and following.text in ("overline", "bar", "dot"):
            self._next()
            return number(value + self._repeating_part(token.text))
        if token.text.isdigit() and (fraction := self._mixed_fraction()):
            return number(value + fraction)
        return number(value)

    def _repeating_part(self, decimal: str) -> Fraction:
        digits = self._raw_group()
        if not _WHOLE_REPEAT.fullmatch(digits) or len(digits) > _MAX_DIGITS:
            raise Unreadable("a repeating part that is no number")
        places = len(decimal.partition(".")[2])
        return Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)

    def _mixed_fraction(self) -> Fraction | None:
        """The proper fraction that follows a whole number (`2\\frac{1}{2}`, `2 1/2`), or None and nothing is read."""
        start, tokens, depth = self._at, list(self._tokens), self._depth
        try:
            top, bottom = self._two_numbers()
        except Unreadable:
            top = bottom = None
        if top is not None and bottom is not None and 0 < top < bottom and top.denominator == bottom.denominator == 1:
            return top / bottom
        self._at, self._tokens, self._depth = start, tokens, depth
        return None

    def _two_numbers(self) -> tuple[Fraction | None, Fraction | None]:
        if self._accept("command", "frac"):
            parts = self._argument(), self._argument()
        elif self.peek().kind == "number" and self.peek().spaced and self.peek(1).text == "/":
            parts = self._literal(), self._literal()
        else:
            return None, None
        top, bottom = (part.value if part.op == "number" else None for part in parts)
        return top, bottom

    def _literal(self) -> Node:
        """The next number, with a slash before it or not."""
        self._accept("mark", "/")
        token = self._next()
        if token.kind != "number":
            raise Unreadable("a fraction without a denominator")
        return number(parse_number(token.text))

    def _letter(self, token: Token) -> Node:
        if token.text in ("e", "i") and self.peek().text not in ("_", "'"):
            return Node("constant", name=token.text)
        return self._symbol(token.text)

    def _symbol(self, name: str) -> Node:
        while self._accept("mark", "'"):
            name += "'"
        if self._accept("mark", "_"):
            name += "_" + self._raw_group()
        return Node("symbol", name=name)

    def _raw_group(self) -> str:
        """Characters of the next argument, unread."""
        token = self._next()
        if token.text != "{":
            return token.text
        depth, parts = 1, []
        while True:
            token = self._next()
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0:
                return "".join(parts)
            parts.append(token.text)

    def _command(self, name: str) -> Node:
        if name == "frac":
            top, bottom = self._argument(), self._argument()
            return Node("product", (top, Node("inverse", (bottom,))))
        if name == "sqrt":
            return self._root()
        if name == "binom":
            return Node("binomial", (self._argument(), self._argument()))
        if name in FUNCTIONS:
            return self._function(name)
        if name == "pi":
            return Node("constant", name="pi")
        if name in _ROUNDED:
            closing, op = _ROUNDED[name]
            inner = self.sum()
            self._expect(closing)
            return Node(op, (inner,))
        if name in _GREEK:
            return self._symbol("\\" + name)
        if name in _MARKED_NAMES or name in _PREFIXED_NAMES:
            return self._marked_name(name)
        if name == "text":
            return self._text_name()
        raise Unreadable(f"unknown command \\{name}")

    def _marked_name(self, name: str) -> Node:
        if name in _PREFIXED_NAMES and self.peek().kind == "letter":
            letters = ""
            while self.peek().kind == "letter":
                letters += self._next().text
            return self._symbol(f"\\{name} {letters}")
        return self._symbol(f"\\{name} {self._raw_group()}")

    def _text_name(self) -> Node:
        name = self._raw_group()
        if name in ("e", "i"):
            return Node("constant", name=name)
        if not name.isalpha():
            raise Unreadable("text inside an expression")
        return self._symbol(name)

    def _root(self) -> Node:
        index = number(2)
        if self._accept("mark", "["):
            index = self.sum()
            self._expect("]")
        return Node("root", (self._argument(whole_number=True), index))

    def _function(self, name: str) -> Node:
        base = self._argument(whole_number=True) if name == "log" and self._accept("mark", "_") else None
        power = self._exponent() if self._accept("mark", "^") else None
        argument = self._function_argument()
        if power is not None and power == number(-1) and name in ("sin", "cos", "tan"):
            return Node("arc" + name, (argument,))
        if name in ("log", "lg"):
            node = Node("log", (argument, base or number(10)))
        else:
            node = Node(name, (argument,))
        return node if power is None else Node("power", (node, power))

    def _function_argument(self) -> Node:
        if self.peek().text in ("(", "{", "["):
            return self._atom()
        factors = [self._power()]
        while self._starts_factor() and self.peek().text not in FUNCTIONS and self.peek().text not in ("(", "["):
            factors.append(self._power())
        return factors[0] if len(factors) == 1 else Node("product", tuple(factors))
