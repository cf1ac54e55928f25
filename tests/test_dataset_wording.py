"""What counts as the same wording, and what is a near-duplicate."""

from __future__ import annotations

import pytest

from eduardo.dataset.near_duplicates import group_near_duplicates
from eduardo.dataset.wording import exact_key, masked_words

JANET = (
    "Janet has 3 apples and buys 4 more. She gives half of them to Tom. How many apples does Janet have left?"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Find  $x$\nif $x+1=2$.", "Find x if x + 1 = 2"),
        (r"Compute $\dfrac{1}{2} + \tfrac12$.", r"Compute \(\frac{1}{2} + \frac12\)"),
        (r"Solve $\left( x \right) = 1$", r"solve $(x)=1$"),
        (r"The area in $\text{cm}^2$", "The area in cm^2"),
        ("Café ﬁle", "Cafe\u0301 file"),
    ],
)
def test_notation_does_not_make_another_problem(one, other):
    assert exact_key(one) == exact_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 2 + 3?", "What is 2 + 4?"),
        ("Find x if x < 3", "Find x if x > 3"),
        (JANET, JANET.replace("Tom", "Tim")),
    ],
)
def test_other_content_is_another_problem(one, other):
    assert exact_key(one) != exact_key(other)


def test_numbers_and_names_are_masked_but_structure_is_kept():
    sibling = JANET.replace("Janet", "Omar").replace("Tom", "Ana").replace("3", "1,250").replace("4", "seven")
    assert masked_words(sibling) == masked_words(JANET)
    assert masked_words("Find x + 2") != masked_words("Find x - 2")
    assert masked_words("triangle ABC") != masked_words("triangle XYZ")


def groups(*texts: str, threshold: float = 0.5) -> list[int]:
    return group_near_duplicates([[masked_words(text)] for text in texts], [None] * len(texts), threshold)


def test_reworded_copies_share_a_group_and_other_problems_do_not():
    longer = JANET.replace("How many", "Can you say how many")
    other = "A train covers 60 miles in 2 hours. At the same speed, how long does it take to cover 150 miles?"
    assert groups(JANET, other, longer) == [0, 1, 0]


def test_groups_are_chained_over_any_text_of_a_row():
    other = "A train covers 60 miles in 2 hours. At the same speed, how long does it take to cover 150 miles?"
    texts = [[masked_words(JANET)], [masked_words(JANET), masked_words(other)], [masked_words(other)]]
    assert group_near_duplicates(texts, [None] * 3, 0.5) == [0, 0, 0]


def test_a_group_label_ties_rows_together_whatever_their_wording():
    texts = [[("a",)], [("b",)], [("c",)]]
    assert group_near_duplicates(texts, ["t", None, "t"], 0.5) == [0, 1, 0]


def test_short_texts_are_compared_whole():
    assert groups("2 + 3", "4 + 5", "4 - 5") == [0, 0, 2]


def test_no_rows_no_groups():
    assert groups() == []
