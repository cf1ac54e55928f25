"""The final answer of an attempt: the last well-formed box, and nothing but an explicit statement instead of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.answers import extract_final_answer

BOXES = {
    "nested braces are counted": (r"So \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
    "nested twice": (r"\boxed{\sqrt{\frac{1}{2}}}", r"\sqrt{\frac{1}{2}}"),
    "escaped braces are no structure": (r"\boxed{\{2,1\}}", r"\{2,1\}"),
    "a lone escaped brace is no structure": (r"\boxed{\{ 2} and so on }", r"\{ 2"),
    "fbox": (r"\fbox{7}", "7"),
    "a blank before the brace": (r"\boxed {\frac{3}{4}}", r"\frac{3}{4}"),
    "a line break before the brace": ("\\boxed\n{7}", "7"),
    "a box in a box stays for the reader": (r"\boxed{\boxed{7}}", r"\boxed{7}"),
    "without braces": (r"Thus \boxed 7.", "7"),
    "a long number without braces": (r"\boxed 1,234.5.", "1,234.5"),
    "a command without braces": (r"\boxed\frac12", r"\frac12"),
    "a letter without braces": (r"\boxed B", "B"),
    "math delimiters around it": (r"$\boxed{7}$.", "7"),
    "empty": (r"\boxed{}", None),
    "blank": (r"\boxed{  }", None),
    "unterminated": (r"\boxed{6", None),
    "a command that only begins like it": (r"\boxedsomething{6}", None),
    "the last box wins": (r"First \boxed{5}. No wait, \boxed{7}", "7"),
    "an empty last box voids the earlier one": (r"We saw \boxed{5} earlier but \boxed{}", None),
    "an unterminated last box voids the earlier one": (r"earlier \boxed{5}, now \boxed{6", None),
    "a bare last mention voids the earlier one": (r"\boxed{5}, which I put in \boxed", None),
    "an echo of the instruction before the box": ("Put your answer in \\boxed \n\\boxed{42}", "42"),
    "an empty echo before the box": (r"It goes in \boxed{}: \boxed{42}", "42"),
}
RUNS = {
    "commas": (r"\boxed{3}, \boxed{5}, \boxed{7}", "3, 5, 7"),
    "and": (r"the roots are $\boxed{3}$ and $\boxed{5}$.", "3, 5"),
    "or": (r"\boxed{3} or \boxed{5}", "3, 5"),
    "text in math": (r"\[\boxed{3} \text{ and } \boxed{5}\]", "3, 5"),
    "other words end the run": (r"\boxed{1}. So \boxed{3}, \boxed{5}", "3, 5"),
    "nothing between them is no list": (r"\boxed{3} \boxed{5}", "5"),
    "the same answer again is one answer": (r"\boxed{7}, \boxed{7}", "7"),
    "an empty box is no part of it": (r"\boxed{}, \boxed{5}", "5"),
}
STATEMENTS = {
    "in bold": ("final: **73**", "73"),
    "after a quoted instruction": (r"The prompt says put it in \boxed{}. My answer is 5", "5"),
    "with a full stop": ("So the answer is 5.", "5"),
    "with a decimal point": ("The final answer is 5.25.", "5.25"),
    "in math": ("Final answer: $\\frac{1}{2}$", "$\\frac{1}{2}$"),
    "the last statement of the sentence": ("The answer is not 4, the answer is 5", "5"),
    "not in the last line": ("The answer is 5.\nOr maybe not, let me think", None),
    "not in the last sentence": ("The answer is 5. But I am not sure", None),
    "before a box only the box counts": (r"The answer is 4, so \boxed{5}", "5"),
    "before an empty box": (r"The answer is 4, so \boxed{}", None),
    "an unterminated box swallows it": (r"\boxed{4 and the answer is 5", None),
    "a number lying around": ("{@N 1276915 4951077 {1,1-3-10);5}", None),
    "an equation lying around": ("3x + 4y + 14=0", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "answer"), BOXES.values(), ids=BOXES)
def test_a_box_is_read(text: str, answer: str | None) -> None:
    assert extract_final_answer(text) == answer


@pytest.mark.parametrize(("text", "answer"), RUNS.values(), ids=RUNS)
def test_a_run_of_boxes_is_a_list(text: str, answer: str | None) -> None:
    assert extract_final_answer(text) == answer


@pytest.mark.parametrize(("text", "answer"), STATEMENTS.values(), ids=STATEMENTS)
def test_without_a_box_only_an_explicit_statement_at_the_end_counts(text: str, answer: str | None) -> None:
    assert extract_final_answer(text) == answer


@given(st.text(alphabet="ab5 \\{}$,.\n*") | st.text())
def test_arbitrary_text_gives_a_part_of_itself_or_nothing(text: str) -> None:
    answer = extract_final_answer(text)
    assert answer is None or answer.strip()


@given(st.text(alphabet=st.characters(exclude_characters="\\{}"), min_size=1).filter(str.strip))
def test_what_is_put_into_a_box_comes_out_of_it(answer: str) -> None:
    assert extract_final_answer(f"I think so. \\boxed{{{answer}}}") == answer.strip()


@pytest.mark.parametrize("piece", [r"\boxed{", r"\boxed", "{", "answer is ", r"\boxed{1}, ", r"\boxed\frac{"])
def test_the_time_grows_with_the_length_only(piece: str) -> None:
    started = time.perf_counter()
    extract_final_answer(piece * (200_000 // len(piece)))
    assert time.perf_counter() - started < 2.0
