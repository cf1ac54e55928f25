"""Units of measure and currencies of an answer.

Policy: a unit that only one side states is ignored; two known units of one kind are converted exactly; two known
units of different kinds never match; a word that is no known unit ("apples") is ignored.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    kind: str | None  # what it measures, e.g. "length^2/time"; None for an unknown word
    factor: Fraction = Fraction(1)  # size in the base unit of its kind


# kind: base unit first; "factor: names"
_TABLE: dict[str, dict[str, str]] = {
    "length": {
        "1": "m meter metre",
        "1/100": "cm centimeter centimetre",
        "1/1000": "mm millimeter millimetre",
        "1000": "km kilometer kilometre",
        "0.0254": "in inch inches",
        "0.3048": "ft foot feet",
        "0.9144": "yd yard",
        "1609.344": "mi mile",
    },
    "mass": {
        "1": "g gram gramme",
        "1/1000": "mg milligram",
        "1000": "kg kilogram kilo",
        "453.59237": "lb pound",
        "28.349523125": "oz ounce",
    },
    "time": {
        "1": "s sec second",
        "60": "min minute",
        "3600": "h hr hour",
        "86400": "day",
        "604800": "wk week",
        "31536000": "yr year",
        "2628000": "month",
    },
    "volume": {"1": "L l liter litre", "1/1000": "mL ml milliliter millilitre"},
    "dollar": {"1": "$ dollar USD", "1/100": "cent ¢"},
    "euro": {"1": "€ euro EUR"},
    "pound sterling": {"1": "£ GBP"},
    "rupee": {"1": "₹ rupee Rs INR"},
    "yen": {"1": "¥ yen JPY"},
    "angle": {"1": "degree deg"},
    "length/time": {"0.44704": "mph", "5/18": "kph kmh kmph"},
}
_KNOWN = {
    name: Unit(kind, Fraction(factor))
    for kind, sizes in _TABLE.items()
    for factor, names in sizes.items()
    for name in names.split()
}
_SYMBOLS_READ_WITH_A_SPACE = frozenset(["m", "g", "s", "h", "L", "l"])  # "5 m" is a length, "5m" a product
_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_POWER_SUFFIX = re.compile(r"\^?\{?(-?\d)\}?$")
_POWER = r"(?:\s*\^\s*(?:\{\s*-?\d\s*\}|-?\d))?"
_TEXT_PIECE = rf"(?:[\s/]|\\cdot\s?)*\\text\s*\{{[^{{}}]*\}}{_POWER}"
_TEXT_SUFFIX = re.compile(rf"\s*((?:{_TEXT_PIECE}){{1,6}})$")
_RAW_WORD = rf"[^\W\d_]+\.?{_POWER}"
_RAW_SUFFIX = re.compile(rf"(?<=[\d}})\s])(\s*)({_RAW_WORD}(?:(?:\s*/\s*|\s+|-){_RAW_WORD}){{0,6}})$")
_CURRENCY_PREFIX = re.compile(
    r"^(-?)\s*(?:\\?\$|US\\?\$|(?P<sign>[€£¥₹])|(?P<word>Rs\.?|USD|EUR|GBP)(?=[\s\d]))\s*(?=[-\d.\\])"
)
_CURRENCY_SUFFIX = re.compile(r"\s*(?:(?P<dollar>\\?\$)|(?P<sign>[€£¥₹¢]))$")
_PERCENT = re.compile(
    r"\s*(?:\\?%|\\text\s*\{\s*(?:percent(?:age)?|pct|per cent|\\?%)\s*\}|\b(?:percent(?:age)?|pct))$"
)
_DEGREE = re.compile(r"\s*(?:\\degree|\\circ|\bdegrees?\b)$")
_ANGLE_INSIDE = re.compile(r"\\(?:degree|sin|cos|tan|cot|sec|csc)(?![A-Za-z])")
_FIRST_DIGIT = re.compile(r"\d|\\pi|\\frac|\\sqrt|\\infty")


@dataclass(frozen=True, slots=True)
class Measure:
    """An amount, still unread, with what stood around it."""

    amount: str
    unit: Unit | None = None
    percent: bool = False


def split_unit(text: str) -> Measure:
    """Split cleaned text into amount and unit, currency or percent sign. Text without an amount is left whole."""
    if match := _CURRENCY_PREFIX.match(text):
        name = match["sign"] or (match["word"] or "$").rstrip(".")
        rest = split_unit(text[match.end() :])
        return Measure(match[1] + rest.amount, _KNOWN.get(name))
    if match := _PERCENT.search(text):
        return Measure(text[: match.start()], percent=True)
    if (match := _DEGREE.search(text)) and not _ANGLE_INSIDE.search(text, 0, match.start()):
        return Measure(text[: match.start()], _KNOWN["degree"])
    if match := _CURRENCY_SUFFIX.search(text):
        return Measure(text[: match.start()], _KNOWN[match["sign"] or "$"])
    return _split_words(text)


def _split_words(text: str) -> Measure:
    if match := _TEXT_SUFFIX.search(text):
        amount = text[: match.start()]
        words = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", match[1]).replace("\\cdot", " ")
        if _FIRST_DIGIT.search(amount):
            return Measure(amount, read_unit(words))
    if match := _RAW_SUFFIX.search(text):
        amount = text[: match.start()]
        if _FIRST_DIGIT.search(amount) and _is_raw_unit(
            match[2].strip(), spaced=bool(match[1]) or text[match.start() - 1] == " "
        ):
            return Measure(amount, read_unit(match[2]))
    return Measure(text)


def _is_raw_unit(words: str, *, spaced: bool) -> bool:
    """May these bare letters be a unit, and not a product of variables?"""
    names = re.split(r"[\s/.-]+", re.sub(_POWER, "", words).strip("./- "))
    if not all(name.isascii() for name in names):
        return True
    if all(len(name) > 1 and _lookup(name) for name in names):
        return True
    if not spaced:
        return False
    return all(
        name in _SYMBOLS_READ_WITH_A_SPACE
        or (len(name) >= 2 and (_lookup(name) is not None or len(names) > 1))
        or (len(name) >= 3 and re.search("[aeiou]", name.lower()) is not None and not _is_alphabet_run(name))
        for name in names
    )


def _is_alphabet_run(name: str) -> bool:
    return all(ord(b) - ord(a) == 1 for a, b in itertools.pairwise(name))


def read_unit(words: str) -> Unit | None:
    """`cm^2`, `square feet`, `km/h`, `miles per hour`, `dollars` → unit; unknown words → a unit without a kind."""
    words = " ".join(words.replace("-", " ").split())
    if not words:
        return None
    parts = re.split(r"\s*/\s*|\s+per\s+", words)
    units = [_simple_unit(part) for part in parts if part]
    if not units or any(unit.kind is None for unit in units):
        return Unit(None)
    factor = units[0].factor
    for unit in units[1:]:
        factor /= unit.factor
    return Unit("/".join(str(unit.kind) for unit in units), factor)


def _simple_unit(text: str) -> Unit:
    power = 1
    if (match := _POWER_SUFFIX.search(text)) is not None:
        power, text = int(match[1]), text[: match.start()].strip()
    first, _, rest = text.partition(" ")
    if rest and first.lower() in _POWER_WORDS:
        power, text = _POWER_WORDS[first.lower()], rest
    elif rest in ("squared", "cubed"):
        power, text = 2 if rest == "squared" else 3, first
    unit = _lookup(text.strip(" ."))
    if unit is None:
        return Unit(None)
    return unit if power == 1 else Unit(f"{unit.kind}^{power}", unit.factor**power)


def _lookup(name: str) -> Unit | None:
    for candidate in (name, name.lower(), name.lower().removesuffix("s")):
        if candidate in _KNOWN:
            return _KNOWN[candidate]
    return None


def conversion(left: Unit | None, right: Unit | None) -> Fraction | None:
    """Factor that turns an amount in `left` into one in `right`; None when they measure different things."""
    if left is None or right is None or left.kind is None or right.kind is None:
        return Fraction(1)
    return left.factor / right.factor if left.kind == right.kind else None
