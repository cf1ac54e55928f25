"""A final answer, and how to recognise it in a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from eduardo.leak_detector.numbers import Mention, find_numbers, plain

_LARGEST_SMALL_NUMBER = 12
# What may stand around the number of a numeric answer: a name (`x =`) before it, a unit after it.
_NAME = re.compile(r"[\s{(]*(?:(?:[a-z]\w{0,2}\s*)?=)?[\s{(]*")
_UNIT = re.compile(
    r"[\s})]*(?:\^?\s*\{?\s*\\circ\s*\}?|°)?"
    r"[\s})]*(?:[a-z]{1,4}\s?\^?\{?[23]\}?|[a-z]{2,}[a-z\s./-]*)?[\s.})]*"
)
_WORDS = re.compile(r"[a-z' -]+")
_LIST_PART = re.compile(r",(?!\d{3}(?!\d))|;|\band\b|\bor\b")

_FILLER = r"[\s:({\[\"'*`]*"
_CLAIM = re.compile(
    r"(?:[=≈]|\b(?:is|be|was|equals?|equal to|answer|result|total of|gets?|gives?|makes?|leaves?|it'?s)\b)"
    rf"{_FILLER}(?:(?:it|that|this|just|only|exactly|simply|about|to be|[a-z] =)\s)?{_FILLER}$"
)
_NO_CLAIM = re.compile(
    r"\bthere(?:'s| is| are| was)[\s\"']*$|\b(?:step|part|question|example|option|line)\s*$"
)
_CLOSE = re.compile(
    r"[\s})\]\"'*`]*(?:[.?!,;:]|$|(?!(?:more|less|times|of|out|by|to|steps?|parts?|ways?|things?)\b)[a-z])"
)
_OPERATOR_BEFORE = re.compile(r"(?:[-+*/^]|\b(?:plus|minus|times|by|add|multiply|divide|subtract))\s*$")
_OPERATOR_AFTER = re.compile(r"\s*(?:[-+*/^]|(?:plus|minus|times|by)\b)")
_TOKEN = re.compile(r"\\[a-z]+|\d+(?:\.\d+)?|[a-z]+|[^\s{}()]")
_CHOICE = re.compile(r"(?:\\text\s*\{)?\(?([A-H])\)?\}?")


class FinalAnswer(Protocol):
    @property
    def digits(self) -> str | None:
        """The digits of a whole number of two digits or more, else None."""
        ...

    def is_in(self, plain_text: str) -> bool:
        """Does the text contain the answer at all?"""
        ...

    def is_told_by(self, plain_sentence: str) -> bool:
        """Does the sentence give the answer away?"""
        ...


def read_final_answer(key: str) -> FinalAnswer | None:
    """The recognisable form of an answer key; None when recognising it would be guesswork."""
    key = key.strip().strip("$").strip()
    if choice := _CHOICE.fullmatch(key):
        return _Choice(choice[1].lower())
    numbers = _numbers_of(plain(key))
    if numbers:
        return _Numbers(numbers)
    tokens = _TOKEN.findall(plain(key))
    if sum(len(token) for token in tokens) < 3:
        return None
    source = r"(?<![\w\\.^])" + r"[\s{}()]*".join(map(re.escape, tokens)) + r"(?![\w^]|\.\d)"
    return _Formula(re.compile(source), in_words=_WORDS.fullmatch(plain(key)) is not None)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """One number, or several that must all be there, each given by its possible values."""

    values: tuple[frozenset[Fraction], ...]

    @property
    def digits(self) -> str | None:
        [value, *others] = [max(values) for values in self.values]
        whole = not others and value.denominator == 1 and value >= 10
        return str(value.numerator) if whole else None

    def is_in(self, plain_text: str) -> bool:
        found = find_numbers(plain_text)
        return all(any(values & mention.values for mention in found) for values in self.values)

    def is_told_by(self, plain_sentence: str) -> bool:
        found = find_numbers(plain_sentence)
        return all(
            any(values & mention.values and _is_result(mention, plain_sentence) for mention in found)
            for values in self.values
        )


@dataclass(frozen=True, slots=True)
class _Formula:
    """A formula or words, compared token by token. Words are told only where they are claimed."""

    pattern: re.Pattern[str]
    in_words: bool
    digits: None = None

    def is_in(self, plain_text: str) -> bool:
        return self.pattern.search(plain_text) is not None

    def is_told_by(self, plain_sentence: str) -> bool:
        return any(
            not self.in_words or _CLAIM.search(plain_sentence[: match.start()])
            for match in self.pattern.finditer(plain_sentence)
        )


@dataclass(frozen=True, slots=True)
class _Choice:
    """The letter of a multiple-choice answer."""

    letter: str
    digits: None = None

    def is_in(self, plain_text: str) -> bool:
        pattern = rf"\b(?:answer|option|choice)\b[^.?!]{{0,20}}?(?:\s|\(){self.letter}(?![\w'])"
        return re.search(pattern, plain_text) is not None

    def is_told_by(self, plain_sentence: str) -> bool:
        return self.is_in(plain_sentence)


def _numbers_of(plain_key: str) -> tuple[frozenset[Fraction], ...]:
    """The values of a key that consists of numbers, names and units; empty for anything else."""
    parts = [part for part in _LIST_PART.split(plain_key.strip("()[]{} ")) if part.strip()]
    numbers = []
    for part in parts:
        mentions = find_numbers(part)
        if not mentions or not _NAME.fullmatch(part[: mentions[0].start]):
            return ()
        if not _UNIT.fullmatch(part[mentions[0].end :]):
            return ()
        numbers.append(mentions[0].values)
    return tuple(numbers)


def _is_result(mention: Mention, sentence: str) -> bool:
    before, after = sentence[: mention.start], sentence[mention.end :]
    if _NO_CLAIM.search(before) or _OPERATOR_BEFORE.search(before) or _OPERATOR_AFTER.match(after):
        return False
    if any(value.denominator > 1 or abs(value) > _LARGEST_SMALL_NUMBER for value in mention.values):
        return True
    return _CLAIM.search(before) is not None and _CLOSE.match(after) is not None
