"""The first stage of grading, in this process and bounded: is an answer the key, may the verdict stand alone?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from eduardo.answers.compare import compare
from eduardo.answers.extract import extract_final_answer
from eduardo.answers.normalize import clean, plain_text
from eduardo.answers.read import read_answer
from eduardo.answers.screen import screen
from eduardo.answers.tree import TooCostly
from eduardo.answers.values import Answer, Scalar, Text, is_plain
from eduardo.answers.verdict import Verdict

_PLACEHOLDERS = frozenset({"?", "nan", "null", "n/a", "None"})  # how missing values look once they are text
_MAX_KEY_WORDS = 40


@dataclass(frozen=True, slots=True)
class Key:
    text: str
    answer: Answer


class Decision(NamedTuple):
    verdict: Verdict
    final: bool  # no second comparison is needed
    refused: bool = False  # too costly to evaluate


def check_key(key: str) -> str | None:
    """Why `key` cannot be graded against, or None when it can.

    A key is gradable when it reads as one answer and its own boxed form is graded right.
    """
    read = read_key(key)
    return read if isinstance(read, str) else None


def is_whole_number(answer: str) -> bool:
    """Whether an answer is a whole number, perhaps with a unit."""
    try:
        read = read_answer(answer)
    except TooCostly:
        return False
    return isinstance(read, Scalar) and isinstance(read.exact, Fraction) and read.exact.denominator == 1


def read_key(key: str) -> Key | str:
    """The key, read, or the reason why it cannot be graded against."""
    if not clean(key).strip("$"):
        return "the key is empty"
    if key.strip() in _PLACEHOLDERS:
        return f"the key is a placeholder ({key.strip()})"
    try:
        read = Key(key, read_answer(key))
    except TooCostly as error:
        return f"the key is too costly to evaluate ({error})"
    if isinstance(read.answer, Text) and len(read.answer.words.split()) > _MAX_KEY_WORDS:
        return f"the key is prose of more than {_MAX_KEY_WORDS} words"
    boxed = extract_final_answer(f"\\boxed{{{key}}}")
    if boxed is None or decide(read, boxed).verdict is not Verdict.RIGHT:
        return "the key is not graded right against itself in a box: are its braces balanced?"
    return read


def decide(key: Key, answer: str) -> Decision:
    """Compare exactly. The decision is final where it needs no number of finite precision and no second reader."""
    try:
        if answer.strip() == key.text.strip():
            return Decision(Verdict.RIGHT, final=True)
        read = read_answer(answer)
        plain = is_plain(key.answer) and is_plain(read)
        if plain and "," not in answer:
            return Decision(compare(key.answer, read), final=True)
        if plain_text(clean(key.text)) == plain_text(clean(answer)):
            return Decision(Verdict.RIGHT, final=True)
        verdict = compare(key.answer, read)
    except TooCostly:
        return Decision(Verdict.WRONG, final=True, refused=True)
    return Decision(verdict, final=plain or isinstance(key.answer, Text) or isinstance(read, Text))


def screened(decision: Decision, key: str, answer: str) -> Decision:
    """Make a decision final where math-verify must not see the pair, because it would take unbounded time."""
    if decision.final:
        return decision
    try:
        screen(key)
        screen(answer)
    except TooCostly:
        return Decision(decision.verdict, final=True, refused=decision.verdict is Verdict.UNKNOWN)
    return decision
