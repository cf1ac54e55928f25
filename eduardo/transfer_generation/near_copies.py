"""Variants that are hardly different from a problem that there is already."""

from __future__ import annotations

from collections.abc import Iterable

from eduardo.dataset.wording import exact_key, masked_words, numbers
from eduardo.dataset.wording_index import WordingIndex


class NearCopies:
    """Problems, each with a label. A text is a near-copy of one of them when both have the same wording, names and
    numbers apart, and the same numbers. The same wording with other numbers is what a variant is meant to be.
    """

    def __init__(self, similarity: float, problems: Iterable[tuple[str, str]] = ()) -> None:
        """`problems` are (label, text); `similarity` is the share of common wording, see `WordingIndex`."""
        self._index = WordingIndex(similarity)
        self._numbers: list[tuple[str, ...]] = []
        self._labels: list[str] = []
        self._exact: dict[str, str] = {}
        for label, text in problems:
            self.add(label, text)

    def add(self, label: str, text: str) -> None:
        self._index.add(masked_words(text))
        self._numbers.append(numbers(text))
        self._labels.append(label)
        self._exact.setdefault(exact_key(text), label)

    def find(self, text: str) -> str | None:
        """The label of the first problem that `text` is a near-copy of."""
        if (label := self._exact.get(exact_key(text))) is not None:
            return label
        own = numbers(text)
        same = (n for n in self._index.matches(masked_words(text)) if self._numbers[n] == own)
        return next((self._labels[number] for number in same), None)
