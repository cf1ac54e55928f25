"""English number words: one list for all that read or write them."""

from __future__ import annotations

import pytest

from eduardo.answers.atoms import read_based
from eduardo.dataset.wording import masked_words
from eduardo.exploit_bench.disguises import spelled
from eduardo.leak_detector.numbers import find_numbers
from eduardo.number_words import VALUES


def test_every_word_has_its_value() -> None:
    assert list(VALUES.values()) == [*range(20), *range(20, 100, 10)]


@pytest.mark.parametrize(("word", "value"), VALUES.items())
def test_what_is_spelled_is_found_and_masked(word: str, value: int) -> None:
    assert spelled(value) == word
    assert [mention.values for mention in find_numbers(word)] == [{value}]
    assert masked_words(f"take {word} apples") == masked_words(f"take {value} apples")


def test_a_base_is_named_by_a_word_up_to_ten() -> None:
    assert read_based(r"12_{\text{five}}") == read_based("12_5")
    assert read_based(r"12_{\text{ten}}") == read_based("12_{10}")
    assert read_based(r"12_{\text{eleven}}") is None
