"""Reader of mathematical expressions in cleaned LaTeX or plain text: text → tree. Nothing is evaluated."""

from __future__ import annotations

from fractions import Fraction

from eduardo.answers.tokens import Cursor, Token, is_proper, parse_number, parse_repeating, tokenize
from eduardo.answers.tree import FUNCTIONS, MAX_DEPTH, Node, TooCostly, Unreadable, negative, number

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell hbar"
)
_GREEK = frozenset(_GREEK_NAMES.split())
_ACCENTS = frozenset(
    ("overline", "overrightarrow", "vec", "hat", "bar", "widehat", "widetilde", "tilde", "dot")
)
_ALPHABETS = frozenset(("mathcal", "mathbb"))
_SHAPES = frozenset(("angle", "triangle", "measuredangle", "odot"))  # before the letters of corners
_CLOSED_BY = {"(": ")", "[": "]", "{": "}", "|": "|"}
_ROUNDED = {"lfloor": ("rfloor", "floor"), "lceil": ("rceil", "ceil")}


def parse_expression(text: str) -> Node:
    """Read all of `text`; raises Unreadable or TooCostly."""
    parser = _Parser(tokenize(text))
    node = parser.sum()
    if parser.peek().kind != "end":
        raise Unreadable(f"unexpected {parser.peek().text!r}")
    return node


class _Parser(Cursor):
    """Recursive descent. Products written side by side bind like written ones: 1/2x is (1/2)·x."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._depth = 0
        self._in_absolute = False

    def sum(self) -> Node:
        terms = [self._signed_term()]
        while self.peek().text in ("+", "-") and self.peek().kind == "mark":
            terms.append(self._signed_term())
        return terms[0] if len(terms) == 1 else Node("sum", tuple(terms))

    def _signed_term(self) -> Node:
        sign = self.sign()
        term = self._term()
        return term if sign > 0 else negative(term)

    def _term(self) -> Node:
        factors = [self._power()]
        while True:
            if self.accept("mark", "*") or self.accept("command", "cdot"):
                factors.append(self._signed_power())
            elif self.accept("mark", "/"):
                factors.append(Node("inverse", (self._signed_power(),)))
            elif self._starts_factor():
                factors.append(self._power())
            else:
                return factors[0] if len(factors) == 1 else Node("product", tuple(factors))

    def _signed_power(self) -> Node:
        sign = self.sign()
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
        while self.accept("mark", "!"):
            if base.op == "factorial":
                raise Unreadable("double factorial")
            base = Node("factorial", (base,))
        if self.accept("command", "degree"):
            return Node("product", (base, number(Fraction(1, 180)), Node("constant", name="pi")))
        if self.accept("mark", "^"):
            return Node("power", (base, self._exponent()))
        return base

    def _exponent(self) -> Node:
        sign = self.sign()
        exponent = self._argument(whole_number=True)
        if self.accept("mark", "^"):
            exponent = Node("power", (exponent, self._exponent()))
        return exponent if sign > 0 else negative(exponent)

    def _argument(self, *, whole_number: bool = False) -> Node:
        """One TeX argument: a group or the next token; of a number its first digit, unless `whole_number`."""
        token = self.peek()
        if token.kind == "number" and not whole_number:
            return number(self.next_digit())
        return self._atom()

    def _atom(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooCostly("nested too deeply")
        token = self.next()
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
        outer, self._in_absolute = self._in_absolute, opening == "|"
        inner = self.sum()
        self.expect(_CLOSED_BY[opening])
        self._in_absolute = outer
        return Node("absolute", (inner,)) if opening == "|" else inner

    def _number(self, token: Token) -> Node:
        value = parse_number(token.text)
        following = self.peek()
        if "." in token.text and following.kind == "command" and following.text in ("overline", "bar", "dot"):
            self.next()
            return number(value + parse_repeating(token.text, self.raw_group()))
        if token.text.isdigit() and (fraction := self._mixed_fraction()):
            return number(value + fraction)
        return number(value)

    def _mixed_fraction(self) -> Fraction | None:
        """Read the proper fraction after a whole number (`2\\frac{1}{2}`, `2 1/2`), or nothing."""
        following = self.peek()
        if following.text != "frac" and not (following.kind == "number" and following.spaced):
            return None
        position, depth = self.position(), self._depth
        try:
            top, bottom = self._two_numbers()
        except Unreadable:
            top = bottom = None
        if top is not None and bottom is not None and is_proper(top, bottom):
            return top / bottom
        self.go_back(position)
        self._depth = depth
        return None

    def _two_numbers(self) -> tuple[Fraction | None, Fraction | None]:
        if self.accept("command", "frac"):
            parts = self._argument(), self._argument()
        elif self.peek(1).text == "/":
            parts = self._literal(), self._literal()
        else:
            return None, None
        top, bottom = (part.value if part.op == "number" else None for part in parts)
        return top, bottom

    def _literal(self) -> Node:
        """The next number, with a slash before it or not."""
        self.accept("mark", "/")
        token = self.next()
        if token.kind != "number":
            raise Unreadable("a fraction without a denominator")
        return number(parse_number(token.text))

    def _letter(self, token: Token) -> Node:
        if token.text in ("e", "i") and self.peek().text not in ("_", "'"):
            return Node("constant", name=token.text)
        return self._symbol(token.text)

    def _symbol(self, name: str) -> Node:
        while self.accept("mark", "'"):
            name += "'"
        if self.accept("mark", "_"):
            name += "_" + self.raw_group()
        return Node("symbol", name=name)

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
            self.expect(closing)
            return Node(op, (inner,))
        if name in _GREEK:
            return self._symbol("\\" + name)
        if name in _ACCENTS | _ALPHABETS | _SHAPES:
            return self._marked_name(name)
        if name == "text":
            return self._text_name()
        raise Unreadable(f"unknown command \\{name}")

    def _marked_name(self, name: str) -> Node:
        if name in _SHAPES and self.peek().kind == "letter":
            letters = ""
            while self.peek().kind == "letter":
                letters += self.next().text
            return self._symbol(f"\\{name} {letters}")
        return self._symbol(f"\\{name} {self.raw_group()}")

    def _text_name(self) -> Node:
        name = self.raw_group()
        if name in ("e", "i"):
            return Node("constant", name=name)
        if not name.isalpha():
            raise Unreadable("text inside an expression")
        return self._symbol(name)

    def _root(self) -> Node:
        index = number(2)
        if self.accept("mark", "["):
            index = self.sum()
            self.expect("]")
        return Node("root", (self._argument(whole_number=True), index))

    def _function(self, name: str) -> Node:
        base = self._argument(whole_number=True) if name == "log" and self.accept("mark", "_") else None
        power = self._exponent() if self.accept("mark", "^") else None
        argument = self._function_argument()
        if power is not None and power == number(-1) and name in ("sin", "cos", "tan"):
            return Node("arc" + name, (argument,))
        node = (
            Node("log", (argument, base or number(10))) if name in ("log", "lg") else Node(name, (argument,))
        )
        return node if power is None else Node("power", (node, power))

    def _function_argument(self) -> Node:
        if self.peek().text in ("(", "{", "["):
            return self._atom()
        factors = [self._power()]
        while self._starts_factor() and self.peek().text not in (*FUNCTIONS, "(", "["):
            factors.append(self._power())
        return factors[0] if len(factors) == 1 else Node("product", tuple(factors))
