"""What counts as the same wording, and what is a near-duplicate."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.dataset.near_duplicates import NearDuplicates
from eduardo.dataset.wording import exact_key, masked_words, numbers
from eduardo.number_words import VALUES

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
        ("Find  x\tif x + 1 = 2", "Find x if x + 1 = 2."),
        ("It costs $1,\\!000$ at Fig.~3", "It costs 1,000 at fig. 3"),
        ("Find $2 x - 3$, $( 2, 3 )$ and 1 / 2 .", "find 2x-3, (2,3) and 1/2"),
        ("Add ２½ and x²", "Add 2 1/2 and x^{2}"),
    ],
)
def test_d03_notation_does_not_make_another_problem(one, other):
    assert exact_key(one) == exact_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 2 + 3?", "What is 2 + 4?"),
        ("Find x if x < 3", "Find x if x > 3"),
        ("Say 2 1/2 in decimals", "Say 21/2 in decimals"),
        ("Say 2½ in decimals", "Say 21/2 in decimals"),
        ("Say 1/2 3 times", "Say 1/23 times"),
        ("Compute $2$ $3$", "Compute $23$"),
        ("Compute 5!", "Compute 5"),
        ("Compute 2^3", "Compute 23"),
        ("Compute 2³", "Compute 23"),
        ("Compute 10⁻³", "Compute 10-3"),
        ("Read a₁₂", "Read a12"),
        ("Add ①2", "Add 12"),
        ("Compute 3.5", "Compute 35"),
        ("He had 5. 3 were red", "He had 5.3 were red"),
        ("Add 2 .5", "Add 2.5"),
        ("Add 1, 234", "Add 1,234"),
        ("Sort 5 -3", "Sort 5-3"),
        ("Sort 5 −3", "Sort 5−3"),
        ("Compute -3", "Compute 3"),
        ("Compute 50%", "Compute 50"),
        (r"Compute 50\%", "Compute 50"),
        ("Find sin 30°", "Find sin 30"),
        (r"Find sin 30^\circ", "Find sin 30"),
        ("Find f'", "Find f"),
        ("Find f''", "Find f'"),
        ("Find f′", "Find f"),
        ("Add 1 + 1/2 + ...", "Add 1 + 1/2 +"),
        ("A fraction for 0.333...", "A fraction for 0.333"),
        ("A fraction for 0.3…", "A fraction for 0.3."),
        ("Negate ~p", "Negate p"),
        ("Find side $a$", "Find side $A$"),
        (r"Find $\Delta$", r"Find $\delta$"),
        (JANET, JANET.replace("Tom", "Tim")),
    ],
)
def test_other_content_is_another_problem(one, other):
    assert exact_key(one) != exact_key(other)


NUMBERS = st.from_regex(r"[-−]?[1-9][0-9]{0,3}(\.[0-9]{1,2}|/[1-9]|!|%|°|²)?", fullmatch=True)


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.lists(NUMBERS, min_size=1, max_size=4))
def test_other_numbers_are_another_problem_wherever_one_ends_and_the_next_begins(one, other):
    ours, theirs = (f"Add {' '.join(numbers)}" for numbers in (one, other))
    assert (exact_key(ours) == exact_key(theirs)) == (one == other)


@given(st.lists(NUMBERS, min_size=2, max_size=4), st.sampled_from(["  ", "\n", "\t ", r"\,", r"\ ", "$ $"]))
def test_however_wide_a_blank_between_two_numbers_is_they_stay_the_same_two(numbers, blank):
    assert exact_key(f"Add ${blank.join(numbers)}$.") == exact_key(f"add {' '.join(numbers)}")


def test_d03_numbers_and_names_are_masked_but_structure_is_kept():
    sibling = JANET.replace("Janet", "Omar").replace("Tom", "Ana").replace("3", "1,250").replace("4", "seven")
    assert masked_words(sibling) == masked_words(JANET)
    assert masked_words("Find x + 2") != masked_words("Find x - 2")
    assert masked_words("triangle ABC") != masked_words("triangle XYZ")


@pytest.mark.parametrize(("word", "value"), VALUES.items())
def test_a_number_is_the_same_in_words_and_in_digits(word, value):
    assert numbers(f"Buy {word} pens and 1,000 nibs.") == numbers(f"Buy {value} pens and 1000 nibs.")


def test_words_that_only_together_make_a_number_count_one_by_one():
    assert numbers("forty-two pens") == ("2", "40")


def relations(*texts: str, labels: list[list[str]] | None = None, threshold: float = 0.5) -> NearDuplicates:
    return NearDuplicates([[masked_words(text)] for text in texts], labels or [[]] * len(texts), threshold)


def groups(*texts: str, labels: list[list[str]] | None = None) -> list[list[int]]:
    return relations(*texts, labels=labels).groups(range(len(texts)))


TRAIN = "A train covers 60 miles in 2 hours. At the same speed, how long does it take to cover 150 miles?"


def test_reworded_copies_are_related_and_other_problems_are_not():
    longer = JANET.replace("How many", "Can you say how many")
    assert groups(JANET, TRAIN, longer) == [[0, 2], [1]]
    assert relations(JANET, TRAIN, longer).related([1, 2], [0]) == {2: 0}


def test_groups_chain_over_any_text_of_a_row_and_direct_relations_do_not():
    janet, train = masked_words(JANET), masked_words(TRAIN)
    near = NearDuplicates([[janet], [janet, train], [train]], [[]] * 3, 0.5)
    assert near.groups(range(3)) == [[0, 1, 2]]
    assert near.related([1, 2], [0]) == {1: 0}


def test_a_chain_over_a_row_that_is_left_out_joins_nothing():
    words = tuple(f"w{n}" for n in range(20))
    near = NearDuplicates([[words[:16]], [words[2:18]], [words[4:]]], [[]] * 3, 0.7)
    assert near.groups([0, 1, 2]) == [[0, 1, 2]]
    assert near.groups([0, 2]) == [[0], [2]]
    assert near.related([0, 1], [2]) == {1: 2}


def test_a_label_relates_rows_whatever_their_wording():
    assert groups("a", "b", "c", labels=[["t"], [], ["t"]]) == [[0, 2], [1]]


def test_short_texts_are_compared_whole():
    assert groups("2 + 3", "4 + 5", "4 - 5") == [[0, 1], [2]]


def test_at_a_threshold_of_one_only_the_same_wording_is_related():
    longer = JANET.replace("How many", "Can you say how many")
    assert relations(JANET, longer, JANET, threshold=1.0).groups(range(3)) == [[0, 2], [1]]


def test_no_rows_no_groups():
    assert groups() == []


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_the_index_finds_what_comparing_all_with_all_finds(threshold):
    """12 base texts, each with 9 copies that have some words replaced."""
    rng = random.Random(0)
    bases = [[f"w{rng.randrange(300)}" for _ in range(30)] for _ in range(12)]
    texts = [tuple(word if rng.random() > 0.04 else "x" for word in base) for base in bases for _ in range(9)]
    shingles = [{text[i : i + 3] for i in range(len(text) - 2)} for text in texts]
    pairs = [(a, b) for a in range(len(texts)) for b in range(len(texts)) if a != b]
    overlap = {(a, b): len(shingles[a] & shingles[b]) / len(shingles[a] | shingles[b]) for a, b in pairs}
    sure = {pair for pair in pairs if overlap[pair] >= threshold + 0.1}
    possible = {pair for pair in pairs if overlap[pair] >= threshold}
    near = NearDuplicates([[text] for text in texts], [[]] * len(texts), threshold)
    found = {
        (a, b) for b in range(len(texts)) for a in near.related([a for a in range(len(texts)) if a != b], [b])
    }
    assert sure <= found <= possible
    assert len(sure) > 50
