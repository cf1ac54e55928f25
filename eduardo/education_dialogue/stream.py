"""One split as a stream of usable conversations, with an account of what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.location import Location
from eduardo.dataset.sources import PairSource
from eduardo.education_dialogue.cleaning import Cleaning
from eduardo.education_dialogue.conversation import Conversation
from eduardo.education_dialogue.reading import parse_conversation


class Sourced(NamedTuple):
    conversation: Conversation
    where: Location


class ConversationStream:
    """Iterate once; the counts are complete afterwards. Keeps ids and backgrounds, not conversations."""

    def __init__(self, source: PairSource, split: str, *, not_again: Collection[str] = ()) -> None:
        """`not_again`: ids of the test split, which no other split may repeat."""
        self._source = source
        self._split = split
        self._not_again = not_again
        self.ids: set[str] = set()
        self.backgrounds = Counter[str]()  # by key
        self.num_read = 0
        self.cleaned = Counter[Cleaning]()
        self.dropped: list[Dropped] = []

    def __iter__(self) -> Iterator[Sourced]:
        for record in self._source.records(self._split):
            self.num_read += 1
            parsed = parse_conversation(record, self.cleaned)
            if isinstance(parsed, Dropped):
                self.dropped.append(parsed)
                continue
            name = parsed.id
            if name in self._not_again:
                self.drop(record.where, Rule.NEAR_TEST, "same conversation as one of the test split")
            elif name in self.ids:
                self.drop(record.where, Rule.DUPLICATE, "same conversation as an earlier one")
            else:
                self.ids.add(name)
                self.backgrounds[parsed.background.key] += 1
                yield Sourced(parsed, record.where)

    def drop(self, where: Location, rule: Rule, reason: str) -> None:
        self.dropped.append(Dropped(where, rule, reason))
