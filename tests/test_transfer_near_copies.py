"""Near-copies: the same numbers in the same words. Other numbers, or another story, is what a variant is."""

from __future__ import annotations

import pytest

from eduardo.transfer_generation.near_copies import NearCopies

JANET = (
    "Janet's ducks lay 16 eggs per day. She eats three for breakfast every morning and bakes muffins for her friends "
    "every day with four. She sells the remainder at the farmers' market daily for $2 per fresh duck egg. How much in "
    "dollars does she make every day at the farmers' market?"
)
known = NearCopies(0.7, [("janet", JANET), ("robe", "A robe takes 2 bolts of blue fiber.")])


@pytest.mark.parametrize(
    "text",
    [
        JANET,
        JANET.upper(),
        JANET.replace("Janet", "Olga"),
        JANET.replace("three", "3").replace("four", "4"),
        JANET.replace("fresh duck egg", "duck egg"),
        f"Read this. {JANET}",
    ],
)
def test_the_same_numbers_in_nearly_the_same_words_are_a_near_copy(text: str) -> None:
    assert known.find(text) == "janet"


@pytest.mark.parametrize(
    "text",
    [
        JANET.replace("16", "21"),
        JANET.replace("three", "five"),
        "A printer makes 16 pages a day. Three are thrown away, four are given to a friend and the others sold for 2 "
        "dollars a page. What does it earn?",
        "Which is the last day of the week?",
    ],
)
def test_other_numbers_or_another_story_are_none(text: str) -> None:
    assert known.find(text) is None


def test_a_problem_that_was_added_later_counts_too() -> None:
    copies = NearCopies(0.7)
    assert copies.find(JANET) is None
    copies.add("one", JANET)
    assert copies.find(JANET) == "one"
