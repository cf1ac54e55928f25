"""Which rows say nearly the same, and which groups they make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from eduardo.dataset.wording_index import WordingIndex, Words


class NearDuplicates:
    """Relations between rows 0 .. n-1: a shared label, or texts that overlap.

    Two texts overlap when the Jaccard index of their sets of three-word shingles is at least `threshold`.
    """

    def __init__(
        self, texts: Sequence[Sequence[Words]], labels: Sequence[Collection[str]], threshold: float
    ) -> None:
        """`texts[i]` are the masked word sequences of row i, `labels[i]` its labels."""
        numbers: dict[Words | str, int] = {}  # of distinct texts, then of labels
        features = [[numbers.setdefault(words, len(numbers)) for words in row] for row in texts]
        pairs = _overlapping([words for words in numbers if not isinstance(words, str)], threshold)
        for row, own in zip(features, labels, strict=True):
            row += [numbers.setdefault(label, len(numbers)) for label in own]
        self._features = features
        self._close: dict[int, list[int]] = defaultdict(list)  # feature -> features that it overlaps with
        for a, b in pairs:
            self._close[a].append(b)
            self._close[b].append(a)

    def related(self, rows: Iterable[int], targets: Iterable[int]) -> dict[int, int]:
        """Those of `rows` that are directly related to one of `targets`, each with the first such target."""
        reach: dict[int, int] = {}
        for target in targets:
            for feature in self._features[target]:
                for close in (feature, *self._close[feature]):
                    reach.setdefault(close, target)
        found = {}
        for row in rows:
            hits = [reach[feature] for feature in self._features[row] if feature in reach]
            if hits:
                found[row] = min(hits)
        return found

    def groups(self, rows: Iterable[int]) -> list[list[int]]:
        """`rows` in groups, so that rows of different groups are unrelated. Relations chain."""
        rows = list(rows)
        sets = _DisjointSets(len(self._features))
        owner: dict[int, int] = {}
        for row in rows:
            for feature in self._features[row]:
                sets.join(row, owner.setdefault(feature, row))
        for feature, row in owner.items():
            for close in self._close[feature]:
                if close in owner:
                    sets.join(row, owner[close])
        members: dict[int, list[int]] = defaultdict(list)
        for row in rows:
            members[sets.root(row)].append(row)
        return list(members.values())


class _DisjointSets:
    """Union-find over 0 .. n-1; the root of a set is its smallest member."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def root(self, item: int) -> int:
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, a: int, b: int) -> None:
        a, b = self.root(a), self.root(b)
        self._parent[max(a, b)] = min(a, b)


def _overlapping(texts: list[Words], threshold: float) -> list[tuple[int, int]]:
    index = WordingIndex(threshold)
    return [(number, other) for number, words in enumerate(texts) for other in index.add(words)]
