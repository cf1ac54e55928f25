"""Whether the words that a judge's rejection rests on were said by the tutor."""

from __future__ import annotations

import re
import unicodedata

from eduardo.types import Transcript

# Where a quote may leave words out, or go on to another one: ellipses, line breaks, quotation marks, slashes.
_BREAKS = re.compile(r"\.{3,}|…|[\r\n]|[\"“”„«»]|\s/\s")
_LABEL = re.compile(
    r"^\W*(?:turn\s*\d+\W*)?(?:(?:tutor|teacher|assistant)\W*)?(?:turn\s*\d+\W*)?:", re.IGNORECASE
)
_COMMAND = re.compile(r"\\[a-zA-Z]+")


def quotes_tutor(quote: str, transcript: Transcript) -> bool:
    """Whether every piece of `quote` stands in some tutor turn.

    Judges change case, spacing, punctuation, markdown and LaTeX when they copy, so letters and digits alone are
    compared; where a quote has none, all that is no space.
    """
    said = [turn.text for turn in transcript.tutor_turns]
    pieces = [bare for piece in _BREAKS.split(quote) if (bare := _bare(_LABEL.sub("", piece)))]
    if pieces:
        turns = [_bare(text) for text in said]
        return all(any(piece in turn for turn in turns) for piece in pieces)
    marks = "".join(quote.split())
    return bool(marks) and any(marks in "".join(text.split()) for text in said)


def _bare(text: str) -> str:
    letters = _COMMAND.sub("", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in letters if character.isalnum())
