"""Two views of a problem's text: what it says exactly, and what is left when numbers and names are masked."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import xxhash

from eduardo.number_words import VALUES

# Notation that does not change what a problem says.
_LATEX_NOISE = [
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|limits)(?![a-zA-Z])"), ""),
    (re.compile(r"\\(?:text|mathrm|textbf|mathbf|operatorname|mbox)\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\!"), ""),
    (re.compile(r"\\[,;: ]|(?<=[\w.,}$])~(?=[\w\\{$])|\\q?quad(?![a-zA-Z])"), " "),
    (re.compile(r"\\[()\[\]]|\$"), " "),
]
_LATEX_MARKS = frozenset("\\$~")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]|_")
# A final `!` is a factorial, and dots that go on are part of a series or a decimal.
_SENTENCE_END = re.compile(r"(?:[?:;,\s]|(?<!\.)\.(?!\.))+$")
# What NFKC would glue to its neighbours: x² is not x2, and 2½ is not 21/2.
_GLUED = {"<super>": "^{%s}", "<sub>": "_{%s}", "<fraction>": " %s ", "<circle>": " %s "}
# A blank that tells numbers apart: 2 1/2 and 21/2, 5 -3 and 5-3, a sentence that ends with 5 and 5.3, 1, 234 and 1,234.
_BLANK = re.compile(r"(?<=\d)\s+(?=[-+\u2212]?\.?\d)|(?<=\d\.)\s+(?=\d)|(?<=\d,)\s+(?=\d{3}(?!\d))")
_KEPT_BLANK = "\0"
# The case of commands and of single letters carries meaning: \Delta and \delta, side a and angle A.
_CASELESS = re.compile(r"\\[a-zA-Z]+|([^\W\d_]+(?:'[^\W\d_]+)*)")
_NUMBER_WORDS = frozenset(VALUES) | {
    "hundred", "thousand", "million", "half", "third", "quarter", "fifth", "sixth", "eighth", "tenth",
    "twice", "thrice", "double", "triple",
}  # fmt: skip
_DIGITS = {word: str(value) for word, value in VALUES.items()}
NUMBER = "#"
NAME = "@"


def normalize(text: str) -> str:
    """The text without differences of notation: Unicode forms, LaTeX spacing and delimiters, final stop."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _unglued(text)).replace("\u2044", "/")
    if _LATEX_MARKS & set(text):
        for pattern, replacement in _LATEX_NOISE:
            text = pattern.sub(replacement, text)
    return _SENTENCE_END.sub("", text)


def bare(text: str) -> str:
    """The normalized text without the blanks that tell no numbers apart."""
    return _without_blanks(normalize(text))


@lru_cache(maxsize=1 << 16)  # the checks over all rows ask for the same texts in turn
def exact_key(text: str) -> str:
    """Equal for two texts that differ in notation, spacing or the case of words only. 32 hex digits."""
    return xxhash.xxh3_128_hexdigest(_without_blanks(_CASELESS.sub(_folded, normalize(text))).encode())


def masked_words(text: str) -> tuple[str, ...]:
    """Words and symbols in order, with every number as `#` and every capitalised word as `@`.

    Equal for siblings made from one template with other numbers and people. Masking all capitalised words,
    sentence starts included, needs no list of names and loses next to nothing.
    """
    return tuple(_mask(word) for word in _TOKEN.findall(normalize(text)))


def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text, sorted: what `masked_words` hides. `13` and `thirteen` are the same number; words that
    only together make one, as `forty-two`, count one by one.
    """
    words = (
        word.casefold().replace(",", "") for word in _TOKEN.findall(normalize(text)) if _mask(word) == NUMBER
    )
    return tuple(sorted(_DIGITS.get(word, word) for word in words))


@lru_cache(maxsize=1 << 16)
def _mask(word: str) -> str:
    if word[0].isdigit() or word.casefold() in _NUMBER_WORDS:
        return NUMBER
    base = word.split("'", maxsplit=1)[0]
    if len(base) > 1 and base[0].isupper() and base[1:].islower():
        return NAME
    return word.casefold()


def _folded(word: re.Match[str]) -> str:
    return word[0].casefold() if word[1] and len(word[1]) > 1 else word[0]


def _without_blanks(text: str) -> str:
    return "".join(_BLANK.sub(_KEPT_BLANK, text).split())


def _unglued(text: str) -> str:
    """Raised, lowered and circled characters and fractions in a form that NFKC leaves apart from their neighbours."""
    return "".join(
        _GLUED.get(unicodedata.decomposition(char).partition(" ")[0], "%s") % char for char in text
    )
