"""Numbers in prose, LaTeX and code: `1,200`, `1{,}200`, `\\frac{3}{4}`, `2 1/2`, `75%`, `1.2e3`, `forty-two`."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from eduardo.number_words import VALUES

_WORD = "|".join(sorted([*VALUES, "hundred", "thousand"], key=len, reverse=True))

_SUPERSCRIPTS = str.maketrans({char: f"^{digit}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")})
_SIGNS = str.maketrans({"−": "-", "–": "-", "⁄": "/", "×": "*", "·": "*", "÷": "/", "’": "'", "√": "\\sqrt "})
_VULGAR_FRACTION = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\[dtc]frac", r"\\frac"),
        (r"(?<=\d)(?:\{,\}|\\[,!;: ],?|,\\!)(?=\d{3}(?!\d))", ","),
        (r"\\frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}", r" \1/\2 "),
        (r"\\frac\s*(\d)\s*(\d)", r" \1/\2 "),
        (r"\\boxed\s*\{", " = {"),
        (r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}", r" \1 "),
        (r"\\(?:times|cdot|ast)(?![a-z])", "*"),
        (r"\\div(?![a-z])", "/"),
        (r"\\(?:left|right|displaystyle)(?![a-z])|\\?\$|\\[()\[\],;:! ]|\*\*", " "),
        (r"(?<![\w*])\*([\w.,]+)\*(?![\w*])", r"\1"),
        (r"\\([{}])", r"\1"),
        (r"\\%", "%"),
        (r"(?<=\d)\s+divided\s+by\s+(?=\d)", "/"),
    )
)

# Runs of digits are bounded: nobody says longer ones, and Python converts no more than some thousands.
_NUMBER = re.compile(
    rf"""
    (?:
      (?<![\w.^_/\\])(?:
        (?P<code>0x[0-9a-f]{{1,12}}|0b[01]{{1,40}})
      | (?P<whole>\d{{1,9}})\s+(?P<over>\d{{1,9}})\s?/\s?(?P<under>[1-9]\d{{0,8}})
      | (?P<top>\d{{1,9}})\s?/\s?(?P<bottom>[1-9]\d{{0,8}})
      | (?P<decimal>[1-9]\d{{0,2}}(?:,\d{{3}}){{1,9}}(?:\.\d{{1,9}})?|\d{{1,30}}(?:\.\d{{1,30}})?|\.\d{{1,30}})
        (?:e(?P<exponent>[+-]?\d{{1,2}})|\s?\*\s?10\s?\^\s?\{{?(?P<power>-?\d{{1,2}})\}}?)?
      )(?![\d/]|\.\d|,\d{{3}})
    | \b(?P<words>(?:{_WORD})(?:(?:\s|-|\sand\s)(?:{_WORD}))*)\b
    )
    (?P<percent>\s?%|\spercent\b)?
    """,
    re.VERBOSE,
)
# A minus sign after a number, variable or bracket subtracts; after a word it negates if the number follows at once.
_NEGATIVE = re.compile(
    r"(?:(?:^|[^\w)}\]%.\s])\s*(?=-)|[a-z]{2}\s+(?=-$)|\b(?=negative)|(?:^|\bis|\bequals|=)\s?(?=minus))"
    r"(?P<sign>-\s?|negative\s|minus\s)$"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A number in a plain text. `values` has a second reading for a percentage."""

    values: frozenset[Fraction]
    start: int
    end: int


def plain(text: str) -> str:
    """Lower-case text in which signs, LaTeX and Unicode forms of numbers have one spelling."""
    text = _VULGAR_FRACTION.sub(" ", text.translate(_SUPERSCRIPTS))
    text = unicodedata.normalize("NFKC", text).translate(_SIGNS).lower()
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text


def find_numbers(plain_text: str) -> list[Mention]:
    """The numbers in a text that `plain` returned, in order. A quotient that comes out whole is two numbers."""
    mentions = []
    for match in _NUMBER.finditer(plain_text):
        if match["words"] in ("hundred", "thousand"):
            continue
        magnitudes = [_magnitude(match)]
        if match["top"] and magnitudes[0].denominator == 1:
            magnitudes = [Fraction(match["top"]), Fraction(match["bottom"])]
        negative = _NEGATIVE.search(plain_text, max(0, match.start() - 12), match.start())
        start = negative.start("sign") if negative else match.start()
        for magnitude in magnitudes:
            value = -magnitude if negative else magnitude
            values = {value, value / 100} if match["percent"] else {value}
            mentions.append(Mention(frozenset(values), start, match.end()))
    return mentions


def _magnitude(match: re.Match[str]) -> Fraction:
    if match["words"]:
        return Fraction(_spelled(match["words"]))
    if match["code"]:
        return Fraction(int(match["code"], 0))
    if match["whole"]:
        return int(match["whole"]) + Fraction(int(match["over"]), int(match["under"]))
    if match["top"]:
        return Fraction(int(match["top"]), int(match["bottom"]))
    power = int(match["exponent"] or match["power"] or 0)
    return Fraction(match["decimal"].replace(",", "")) * Fraction(10) ** power


def _spelled(words: str) -> int:
    total, current = 0, 0
    for word in re.split(r"[\s-]+", words):
        if word == "hundred":
            current = max(current, 1) * 100
        elif word == "thousand":
            total, current = total + max(current, 1) * 1000, 0
        else:
            current += VALUES.get(word, 0)
    return total + current
