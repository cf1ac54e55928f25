"""The deterministic leak detector: what counts as stating the final answer first, and what must not."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.leak_detector import find_leaks
from eduardo.leak_detector.numbers import find_numbers, plain
from eduardo.types import Problem, Speaker, Transcript, Turn

PROBLEM = "Ada packs 6 crates with 14 jars each and breaks some. How many are left?"


def leaks(answer: str, *texts: str, problem: str = PROBLEM) -> tuple[str, ...]:
    """Turns alternate, tutor first, after a student's opener. A text that begins with `student: ` is a student's."""
    turns = [Turn(speaker=Speaker.STUDENT, text=f"Can you help me? {problem}")]
    for text in texts:
        is_student = text.startswith("student: ")
        speaker = Speaker.STUDENT if is_student else Speaker.TUTOR
        turns.append(Turn(speaker=speaker, text=text.removeprefix("student: ")))
    return find_leaks(Transcript(problem=Problem(text=problem, answer=answer), turns=tuple(turns)))


def test_a_finding_names_the_turn_and_quotes_it() -> None:
    found = leaks("84", "What is a crate?", "student: A box.", "Think. You get 84 jars. Right?")
    assert found == ("turn 4: final answer stated: You get 84 jars.",)


def test_every_telling_turn_is_found_until_the_student_says_it() -> None:
    found = leaks("84", "It is 84.", "student: ok", "So 84.", "student: 84!", "Yes, 84.")
    assert [finding.partition(":")[0] for finding in found] == ["turn 2", "turn 4"]


def test_an_answer_inside_a_question_is_found() -> None:
    [finding] = leaks("84", "Well done so far. Could it be 84, perhaps?")
    assert finding == "turn 2: final answer inside a question: Could it be 84, perhaps?"


# --- notations ---


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (r"\frac{36}{5}", "It is 108 divided by 15 cm long."),
        ("1200", "The total is 1,200."),
        ("1,200", "The total is 1200."),
        ("1200", "The total is $1{,}200$."),
        ("1200", r"The total is \(1\,200\)."),
        ("1200", "The total is 1.2e3."),
        ("1200", r"The total is $1.2 \times 10^3$."),
        ("1200", "print(1200)"),
        ("1200", "```python\nanswer = 1200\n```"),
        ("1200", "It is one thousand two hundred."),
        ("1200", "**1200** it is"),
        ("42", "It is forty-two."),
        ("42", "It is 0x2A."),
        ("42", "It is ４２."),
        ("142", "It is one hundred and forty-two."),
        ("42.0", "It is 42."),
        (r"\boxed{42}", "It is 42."),
        ("42", r"So \boxed{42}"),
        ("$42$", "It is 42."),
        ("42 jars", "It is 42."),
        (r"42\text{ cm}^2", "It is 42 square centimetres."),
        (r"\$18.90", "It costs 18.90 dollars."),
        ("18.9", "It costs $18.90!"),
        (r"\frac{3}{4}", "It is 3/4."),
        (r"\frac{3}{4}", r"It is \dfrac34."),
        (r"\frac{3}{4}", "It is ¾."),
        (r"\frac{3}{4}", "It is 0.75."),
        (r"\frac{3}{4}", "It is 75%."),
        (r"75\%", "It is 75 percent."),
        (r"75\%", "It is 0.75."),
        (r"2\frac{1}{2}", "It is 2 1/2."),
        ("2.5", "It is 2½."),
        ("-15", "It is -15."),
        ("-15", "It is negative fifteen."),
        ("x = 42", "So x is 42."),
        (r"2\sqrt{3}", "That makes $2 \\sqrt{3}$."),
        (r"2\sqrt{3}", "That makes 2√3."),
        ("x^2 + 3", "So f(x) = x^2+3."),
        ("(17, 23)", "The point is (17,23)."),
        ("17, 23", "The numbers are 23 and 17."),
        ("Friday", "The day is Friday."),
        ("B", "The answer is (B)."),
        (r"\text{(C)}", "It must be option C."),
    ],
)
def test_the_answer_is_recognised_in_other_notations(answer: str, text: str) -> None:
    assert len(leaks(answer, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "It is 5.",
        "Is it 5?",
        "Could the answer be five?",
        "So 9 - 4 = 5 jars.",
        "That gives 5 jars in all.",
        r"So $x = 5$.",
        r"\boxed{5}",
        "You get **5**.",
        "answer: 5",
    ],
)
def test_a_small_number_counts_where_it_is_claimed(text: str) -> None:
    assert len(leaks("5", text)) == 1


# --- split over turns ---


def test_an_answer_given_digit_by_digit_is_found_when_it_is_complete() -> None:
    found = leaks(
        "842", "The first digit is 8.", "student: ok", "The next digit is four.", "The last digit is 2."
    )
    assert found == ("turn 5: final answer given digit by digit: The last digit is 2.",)


@pytest.mark.parametrize("text", ["It starts with 8 and ends with 2.", "Write 8 followed by 2."])
def test_beginning_and_end_of_an_answer_are_put_together(text: str) -> None:
    assert len(leaks("82", text)) == 1


def test_an_answer_in_single_digits_is_found() -> None:
    assert len(leaks("1250", "Here it comes: 1 2 5 0")) == 1


# --- no leaks ---


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("14", "How many jars are in a crate, 14?"),
        ("6", "There are 6 crates, so it is 6."),
        ("5", "Let us do this in 5 steps."),
        ("2", "There are two ways to see it."),
        ("1", "Look at one crate first."),
        ("3", "3. What do you know about crates?"),
        ("3", "Look at step 3."),
        ("5", "What is 5 times 3?"),
        ("5", "It is 5 more than that."),
        ("5", "What is 5 of those worth?"),
        ("84", "What do you get for 6 times 14?"),
        ("84", "Compare it with 840, 184, 8.4, 84.5, 84/5 and x84."),
        ("84", "Is 100 - 84 of any use?"),
        ("15", "Look at question 15."),
        ("15", "It is -15."),
        ("-15", "It is 20-15 now."),
        ("5", "Is 10/2 a fraction?"),
        ("842", "The first digit is 8."),
        ("Friday", "We met on Friday, remember?"),
        ("yes", "Yes, go on!"),
        ("B", "Look at option A. B comes later."),
        ("x", "Call it x."),
        ("(17, 23)", "Is 17 prime?"),
        ("x^2+3", "What about 2x^2+3 or x^2+31?"),
        ("", "It is 84."),
    ],
)
def test_innocent_sentences_are_no_leaks(answer: str, text: str) -> None:
    assert leaks(answer, text) == ()


def test_a_number_that_the_student_wrote_before_is_no_leak() -> None:
    assert leaks("84", "Try it.", "student: Is it eighty-four?", "Yes, it is 84.") == ()


def test_a_number_of_the_problem_is_no_leak_even_if_the_opener_does_not_repeat_it() -> None:
    turns = (Turn(speaker=Speaker.STUDENT, text="Help me!"), Turn(speaker=Speaker.TUTOR, text="It is 14."))
    assert find_leaks(Transcript(problem=Problem(text=PROBLEM, answer="14"), turns=turns)) == ()


def test_a_silent_or_empty_dialogue_has_no_leak() -> None:
    assert leaks("84", "", "student: ", "") == ()
    assert leaks("84") == ()


# --- numbers in prose ---


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("nothing here, x2 or v1.0.3 or 10/0", []),
        ("-5 and 3-5 and 3 - 5 and (-7)", [-5, 3, 5, 3, 5, -7]),
        ("12,34 or 1,234 or 1,234,567.5", [12, 34, 1234, Fraction(2469135, 2)]),
        ("x^2, 5², x_1", [5]),
        ("twenty one, two hundred five, a hundred", [21, 205]),
        (r"\frac{6}{8} and \frac{10}{2}", [Fraction(3, 4), 10, 2]),
        ("7" * 5000, []),
    ],
)
def test_numbers_are_read_from_prose(text: str, values: list[int | Fraction]) -> None:
    assert [max(mention.values) for mention in find_numbers(plain(text))] == values


# --- robustness ---

_answers = st.sampled_from(
    ["5", "84", r"\frac{3}{4}", "x^2+3", "Friday", "(1,2)", "B", r"\$1{,}200"]
) | st.text(max_size=12)
_texts = st.lists(
    st.sampled_from(["84", " 5 ", "=", "is", r"\frac{3}{4}", "{", "$", "^", "digit", "-"])
    | st.text(max_size=6)
)


@given(answer=_answers, pieces=st.lists(_texts, max_size=3))
def test_no_text_raises(answer: str, pieces: list[list[str]]) -> None:
    leaks(answer, *("".join(words) for words in pieces))


@given(answer=st.integers(-(10**12), 10**12).filter(lambda n: n not in (6, 14)), grouped=st.booleans())
def test_any_whole_number_is_recognised(answer: int, grouped: bool) -> None:
    assert (
        len(leaks(str(answer), f"The answer is {answer:,}." if grouped else f"The answer is {answer}.")) == 1
    )


def test_a_long_dialogue_is_searched_quickly() -> None:
    start = time.perf_counter()
    for filler in ("84. ", "1,", "-", "one hundred ", "{", "a.", "is ", "1 ", r"\frac{1}", "0.1.", "x = 5 "):
        leaks("85", filler * (8_000 // len(filler)))
    assert time.perf_counter() - start < 5
