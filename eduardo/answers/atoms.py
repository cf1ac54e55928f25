"""Answers without parts: numbers, expressions, words, digits in a base."""

from __future__ import annotations

import math
import re

from eduardo.answers.parser import parse_expression
from eduardo.answers.rational import exact_value
from eduardo.answers.split import enclosing
from eduardo.answers.tokens import parse_number
from eduardo.answers.tree import Node
from eduardo.answers.units import split_unit
from eduardo.answers.values import Answer, Based, Group, Scalar, Text
from eduardo.number_words import ONES

TEXT_GROUP = re.compile(r"\\text\s*\{([^{}]*)\}")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)")
_GROUPED_NUMBER = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_BASED = re.compile(r"\(?([0-9A-Z]+)\)?_\s*(?:\{\s*(?:\\text\s*\{)?\s*(\w+)\s*\}?\s*\}|(\d+))")
_BASE_NAMES = ONES[:11]
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[\s'’\"./&!?,;-])*")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?\s*([AaPp])\.?\s*[Mm]\.?")
_WORD_SEPARATOR = re.compile(r"\s*(?:[,;]|\b(?:and|or)\b)\s*")
_FORMULA_LETTERS = re.compile(r"(?![^au][au][^au]$)[abcdkmnpqrstuvwxyz]{1,3}|[A-Z]{1,4}")  # abc, but not cat


def read_number(text: str) -> Scalar | None:
    """A signed integer or decimal, the most frequent answer; None for everything else."""
    if not _NUMBER.fullmatch(text):
        return None
    value = parse_number(text.lstrip("+-"))
    value = -value if text.startswith("-") else value
    return Scalar(Node("number", value=value), value)


def infinity(sign: int) -> Scalar:
    return Scalar(None, sign * math.inf)


def read_scalar(text: str) -> Scalar:
    """A number or expression with or without a unit; raises Unreadable for everything else."""
    measure = split_unit(text)
    amount = measure.amount.strip()
    infinite = amount.replace(" ", "").lstrip("+")
    if infinite in ("\\infty", "-\\infty"):
        return infinity(-1 if infinite.startswith("-") else 1)
    node = parse_expression(join_number_groups(amount))
    return Scalar(node, exact_value(node), measure.unit, measure.percent)


def join_number_groups(text: str) -> str:
    """`1,234` → `1234`, but not in `(1,234)`: in brackets only beside a comma that a blank follows."""
    if "," not in text or (", " not in text and text[0] in "([{\\" and enclosing(text)):
        return text
    return _GROUPED_NUMBER.sub(lambda match: match.group().replace(",", ""), text)


def read_based(text: str) -> Answer | None:
    """Digits with their base as a subscript: `1001_2`, `4A_{16}`, `12_{\\text{five}}`."""
    match = _BASED.fullmatch(text)
    if match is None or (not match[1][0].isdigit() and not match[1].isupper()):
        return None
    word = (match[2] or match[3]).lower()
    named = _BASE_NAMES.index(word) if word in _BASE_NAMES else 0
    base = int(word) if word.isdecimal() and len(word) < 3 else named
    if not 2 <= base <= 36 or any(int(digit, 36) >= base for digit in match[1]):
        return None
    digits = match[1].lstrip("0") or "0"
    return read_number(digits) if base == 10 else Based(digits, base)


def read_clock(text: str) -> Answer | None:
    """A time of day with its half: `3:30 PM`, `3:30 \\text{ p.m.}`."""
    match = _CLOCK.fullmatch(TEXT_GROUP.sub(r"\1", text))
    return Text(f"{int(match[1])}:{match[2] or '00'} {match[3].lower()}m") if match else None


def read_words(text: str) -> Answer | None:
    """Words, or a list of words. Letters that may be variables of a formula are left to the other forms."""
    bare = " ".join(TEXT_GROUP.sub(r" \1 ", text).split())
    if not _WORDS.fullmatch(bare):
        return None
    parts = [part for part in _WORD_SEPARATOR.split(bare) if part]
    if any(len(part) == 1 or (bare == text and _FORMULA_LETTERS.fullmatch(part)) for part in parts):
        return None
    texts = tuple(_text(part) for part in parts)
    return texts[0] if len(texts) == 1 else Group(texts)


def _text(words: str) -> Text:
    parts = re.sub(r"\W+", " ", words).casefold().split()
    return Text(" ".join(parts[1:] if len(parts) > 1 and parts[0] in ("a", "an", "the") else parts))
