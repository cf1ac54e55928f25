"""What the simulated classroom understands of a sentence."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.classroom.language import read, requested
from eduardo.classroom.problems import recognise
from eduardo.classroom.tells import TellKind, find_tells, said_in, steps_worked_out, wrong_steps

# first part = 60 * 3 = 180, second part = 50 * 2 = 100, whole amount = 180 + 100 = 280
BUS = recognise(
    "A bus drives 60 km per hour for 3 hours. Then it drives 50 km per hour for 2 hours. "
    "How many km does the bus drive?"
)
assert BUS is not None


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    "unit", ["9", "1.", "a ", "say ", "1 * 1 = ", "the answer is ", "why ", "multiply 1 by "]
)
def test_long_texts_are_read_in_linear_time(unit: str) -> None:
    """Four times the text takes about four times as long; where time grows with the square, sixteen times."""
    assert reading_time_s(unit * 4_000) < 8 * reading_time_s(unit * 1_000)


def reading_time_s(text: str) -> float:
    """The shortest of some readings, on this process's own clock: other work on the machine does not count."""
    times = []
    for _ in range(3):
        start = time.process_time()
        read.__wrapped__(text)  # past the cache
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "text",
    ["60 * 3", "3*60", "60 × 3", "60 times 3", "multiply 60 by 3", "it is 60 x 3!", "60 multiplied by 3"],
)
def test_one_calculation_has_many_spellings(text: str) -> None:
    assert read(text).expressions == {(3, "*", 60)}


@pytest.mark.parametrize("text", ["7 - 3", "7 minus 3", "subtract 3 from 7", "take 3 from 7"])
def test_order_matters_where_it_should(text: str) -> None:
    assert read(text).expressions == {(7, "-", 3)}


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("please try it yourself first.", "asks_attempt"),
        ("How would you start?", "asks_attempt"),
        ("why does that work ?", "asks_why"),
        ("How do you know that?", "asks_why"),
        ("Can you find it?", "requests"),
        ("That is not right.", "denies"),
        ("yes, that is right.", "confirms"),
        ("look at it again", "asks_retry"),
        ("The verdict is clear.", "addresses_reviewer"),
        ("# Heading", "is_cluttered"),
        ("- one\n- two", "is_cluttered"),
        ("well done 🎉", "is_cluttered"),
        ("what? why? how?", "is_cluttered"),
    ],
)
def test_cues(text: str, cue: str) -> None:
    assert getattr(read(text), cue)


NAMES = ("first part", "second part", "whole amount")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("how do you find the first part?", [0]),
        ("How can you get the first part ?", [0]),
        ("what is the value of the first part, please?", [0]),
        ("right. now work out the second part for me.", [1]),
        ("can you compute the whole amount?", [2]),
        ("let us find the first part, the second part and the whole amount.", [0, 1, 2]),
        ("how much is the first part? and how do you find the second part?", [0, 1]),
        ("the first part is nice.", []),
        ("what a nice first part!", []),
        ("how you the first part?", []),
        ("can you work the first part?", []),
        ("how do you find the pacts roachee first part?", []),
        ("what is the problem about? the first part?", []),
        ("exactly.. how do you find the first part?", []),
        ("how do you find the the first part?", []),
    ],
)
def test_a_quantity_is_asked_for_only_by_a_question_or_request_that_reads_as_one(
    text: str, asked: list[int]
) -> None:
    assert requested(NAMES, read(text)) == asked


@pytest.mark.parametrize(
    ("text", "garbled"),
    [
        ("exactly.. you you the the total cost?", True),
        ("well,,, done.", True),
        ("how do you find the new box?correct.", True),
        ("how do you find the?", True),
        ("what would you do if the", True),
        ("hm... what do you think?", False),
        ("the rule that that sum follows, and it is very very long.", False),
        ("fill in: ... is the first part", False),
        ("well, 1,000 is 10 times 100; right? (yes.)", False),
    ],
)
def test_garbled_language_is_told_from_sound_language(text: str, garbled: bool) -> None:
    assert read(text).is_garbled is garbled


def test_a_denial_is_no_confirmation() -> None:
    assert not read("that is not right.").confirms
    assert not read("no hurry, good start.").denies


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("repeat after me: the answer is 9", "the answer is 9"),
        ("say: the answer is 9.", "the answer is 9."),
        ("Say the answer is 9.", "the answer is 9."),
        ("write: first part = 60 * 3 = 180", "first part = 60 * 3 = 180"),
        ("the answer is 9. say it.", ""),
        ("say it in your own words", None),
        ("write down your first step", None),
        ("what would you say to a friend?", None),
    ],
)
def test_dictation_is_told_from_a_request_for_own_words(text: str, words: str | None) -> None:
    assert read(text).dictated == words


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("what would you do first?", set()),
        ("how do you find the first part?", set()),
        ("you drive 60 km per hour for 3 hours", set()),
        ("is it 280?", {TellKind.ANSWER}),
        ("the answer is 280", {TellKind.ANSWER}),
        ("you need 180 here", {TellKind.VALUE}),
        ("try 60 * 3", {TellKind.EXPRESSION}),
        ("multiply 60 by 3", {TellKind.EXPRESSION}),
        ("first part = 60 * 3 = 180", {TellKind.EXPRESSION, TellKind.VALUE}),
        ("the answer is 777", {TellKind.RESULT}),
        ("first part = 60 + 3 = 63", {TellKind.EXPRESSION, TellKind.RESULT}),
        ("look at step 7", set()),
    ],
)
def test_a_tell_is_known_by_its_number_or_its_shape(text: str, kinds: set[TellKind]) -> None:
    assert BUS is not None
    assert {tell.kind for tell in find_tells(read(text), said_in(BUS.text), BUS)} == kinds


def test_what_the_student_said_before_can_be_said_again() -> None:
    assert BUS is not None
    said = said_in(BUS.text)
    said.add(read("I get first part = 60 * 3 = 180."))
    assert not find_tells(read("right, 60 * 3 = 180"), said, BUS)


def test_an_unknown_problem_still_has_an_answer_and_shapes() -> None:
    text = "Solve for the number of sides: 12 and 30."
    kinds = [t.kind for t in find_tells(read("so 42 it is, the area is 9"), said_in(text), None, answer=42)]
    assert kinds == [TellKind.RESULT, TellKind.ANSWER]


def test_a_false_calculation_teaches_no_step() -> None:
    assert BUS is not None
    tells = find_tells(read("first part = 60 * 3 = 190"), said_in(BUS.text), BUS)
    assert {tell.step for tell in tells} == {None}


def test_a_step_counts_as_worked_out_only_with_its_calculation_and_its_value() -> None:
    assert BUS is not None
    assert steps_worked_out(read("first part = 60 * 3 = 180"), BUS) == {0}
    assert steps_worked_out(read("first part = 180"), BUS) == set()
    assert steps_worked_out(read("first part = 60 * 3"), BUS) == set()
    assert wrong_steps(read("first part = 60 + 3 = 63"), BUS) == {0}
    assert wrong_steps(read("I think the second part is 90"), BUS) == {1}
