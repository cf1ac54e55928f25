"""Choose items of a stream by hash rank, so that memory holds the choice and not the stream."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

import xxhash

Item = TypeVar("Item")


class LowestRanked(Generic[Item]):
    """Keeps at most `size` items, in whole groups: those whose group has the lowest hash under `seed`.

    Which items are kept does not depend on the order of the stream.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._heap: list[tuple[int, int, Item]] = []  # negated rank, negated position: highest rank on top
        self._num_seen = 0
        self._limit = -(1 << 64)  # negated rank of the lowest group that was ever turned away

    def offer(self, group: str, item: Item) -> list[Item]:
        """Take `item` in and hand back what has no place any more, perhaps `item` itself."""
        rank = -xxhash.xxh3_64_intdigest(group.encode(), seed=self._seed)
        self._num_seen += 1
        if rank <= self._limit:
            return [item]
        heapq.heappush(self._heap, (rank, -self._num_seen, item))
        if len(self._heap) <= self._size:
            return []
        self._limit = self._heap[0][0]
        turned_away = []
        while self._heap and self._heap[0][0] == self._limit:
            turned_away.append(heapq.heappop(self._heap)[2])
        return turned_away

    def kept(self) -> list[Item]:
        """The chosen items in the order of the stream."""
        return [item for _, _, item in sorted(self._heap, key=lambda entry: -entry[1])]
