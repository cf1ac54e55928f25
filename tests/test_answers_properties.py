"""What holds for every text: grading never fails, never depends on the order, and a key is right against itself."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from eduardo.answers import check_key, extract_final_answer
from eduardo.answers.exact import Key, decide, read_key
from eduardo.answers.verdict import Verdict

PIECES = (
    *(
        "\\boxed",
        "{",
        "}",
        "\\frac",
        "\\sqrt",
        "\\text{",
        "\\text{ cm}",
        "(",
        ")",
        "[",
        "]",
        "\\{",
        "\\}",
        ",",
        ";",
    ),
    *(
        " ",
        "=",
        "<",
        "\\le",
        "\\pm",
        "!",
        "^",
        "_",
        "-",
        "+",
        "*",
        "/",
        "\\cup",
        "%",
        "\\%",
        "$",
        "\\$",
        "^\\circ",
    ),
    *(
        "cm",
        " and ",
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "\\\\",
        "&",
        ":",
        "½",
        "−",
        "个",
        "\\left",
        "\\right",
        "|",
    ),
    *(
        "\\in",
        "\\infty",
        ".",
        "\\overline",
        "1",
        "2",
        "10",
        "0.5",
        "x",
        "y",
        "e",
        "i",
        "\\log",
        "\\sin",
        "A",
        "B",
    ),
)
answers = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30)


def spellings(number: Fraction) -> list[str]:
    """Ways to write one number."""
    top, bottom = number.numerator, number.denominator
    ways = [
        f"{top}/{bottom}",
        f"\\frac{{{top}}}{{{bottom}}}",
        f"-\\dfrac{{{-top}}}{{{bottom}}}",
        f"x={top}/{bottom}",
    ]
    if bottom == 1:
        ways += [
            str(top),
            f"{top}.0",
            f"{top}.",
            f"${top}$",
            f"{top}\\text{{ apples}}",
            f"\\${top}",
            f"{top:,}",
        ]
    elif bottom in (2, 4, 5, 10, 20):
        ways.append(f"{top / bottom}")
    if top > bottom > 1:
        ways.append(f"{top // bottom}\\frac{{{top % bottom}}}{{{bottom}}}")
    return ways


numbers = st.fractions(min_value=-2000, max_value=10**7, max_denominator=20)


@given(answers, answers)
def test_any_two_texts_compare_the_same_in_both_orders(left: str, right: str) -> None:
    keys = read_key(left), read_key(right)
    if isinstance(keys[0], Key) and isinstance(keys[1], Key):
        assert decide(keys[0], right) == decide(keys[1], left)


@given(answers)
def test_a_gradable_key_is_right_against_its_boxed_form(key: str) -> None:
    if check_key(key) is None:
        read = read_key(key)
        answer = extract_final_answer(f"\\boxed{{{key}}}")
        assert isinstance(read, Key)
        assert answer is not None
        assert decide(read, answer).verdict is Verdict.RIGHT


@given(numbers, st.data())
def test_one_number_written_in_two_ways_is_right_and_final(number: Fraction, data: st.DataObject) -> None:
    key, answer = data.draw(st.sampled_from(spellings(number))), data.draw(st.sampled_from(spellings(number)))
    read = read_key(key)
    assert isinstance(read, Key)
    assert decide(read, answer) == (Verdict.RIGHT, True, False)


@given(numbers, numbers, st.data())
def test_two_numbers_are_never_confused(left: Fraction, right: Fraction, data: st.DataObject) -> None:
    key, answer = data.draw(st.sampled_from(spellings(left))), data.draw(st.sampled_from(spellings(right)))
    read = read_key(key)
    assert isinstance(read, Key)
    assert decide(read, answer).verdict is (Verdict.RIGHT if left == right else Verdict.WRONG)


@given(st.lists(numbers, min_size=2, max_size=4), st.randoms())
def test_lists_have_no_order_and_tuples_have_one(items: list[Fraction], random: object) -> None:
    texts = [str(item) for item in items]
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    bare, ordered = read_key(", ".join(texts)), read_key(f"({', '.join(texts)})")
    assert isinstance(bare, Key)
    assert isinstance(ordered, Key)
    assert decide(bare, ", ".join(shuffled)).verdict is Verdict.RIGHT
    expected = Verdict.RIGHT if shuffled == texts else Verdict.WRONG
    assert decide(ordered, f"({', '.join(shuffled)})").verdict is expected
