"""Simulated problems: computed answers, pairs that transfer, and a text that leads back to its problem."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.classroom.problem_templates import Template, read_templates
from eduardo.classroom.problems import SimPair, generate_pair, notes, recognise, templates
from eduardo.errors import UserError

ALL = templates()


def pairs_of(template: Template, num: int = 5) -> list[SimPair]:
    rng = random.Random(template.id)
    return [generate_pair(rng, template) for _ in range(num)]


def test_there_are_at_least_40_templates_over_at_least_8_topics_each_with_several_stories() -> None:
    assert len(ALL) >= 40
    assert len({t.topic for t in ALL}) >= 8
    assert min(len(t.stories) for t in ALL) >= 3


def test_every_topic_has_templates_to_train_on_and_unseen_ones_to_test() -> None:
    train, test = templates("train"), templates("test")
    assert len(train) + len(test) == len(ALL)
    assert {t.topic for t in train} == {t.topic for t in test} == {t.topic for t in ALL}


def test_the_words_for_quantities_in_test_templates_are_known_from_training() -> None:
    def words(split: str) -> set[str]:
        return {w for t in ALL if t.split == split for step in t.steps for w in step.quantity.split()}

    assert words("test") <= words("train")
    assert all(len(step.quantity.split()) <= 3 for t in ALL for step in t.steps)


@pytest.mark.parametrize("template", ALL, ids=lambda t: t.id)
def test_steps_are_worked_out_and_no_two_numbers_of_a_problem_can_be_confused(template: Template) -> None:
    for problem in (p for pair in pairs_of(template) for p in (pair.source, pair.variant)):
        values = [step.value for step in problem.steps]
        assert all(eval(s.expression) == s.value for s in problem.steps)
        assert len(set(values)) == len(values)
        assert not set(values) & set(problem.numbers.values())
        assert all(2 <= value <= 9999 for value in values)
        assert problem.answer == str(values[-1])


@pytest.mark.parametrize("template", ALL, ids=lambda t: t.id)
def test_a_variant_keeps_the_structure_and_changes_story_numbers_and_answer(template: Template) -> None:
    for pair in pairs_of(template):
        assert [s.quantity for s in pair.source.steps] == [s.quantity for s in pair.variant.steps]
        assert pair.source.numbers != pair.variant.numbers
        assert pair.source.answer != pair.variant.answer
        assert {w for w in pair.source.text.split() if w.isalpha()} != {
            w for w in pair.variant.text.split() if w.isalpha()
        }


def test_the_same_seed_gives_the_same_pair_and_another_seed_another() -> None:
    drawn = [generate_pair(random.Random(seed), ALL[0]) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("template", ALL, ids=lambda t: t.id)
def test_a_problem_is_recognised_from_its_text_alone_wherever_it_stands(template: Template) -> None:
    for pair in pairs_of(template, 2):
        for problem in (pair.source, pair.variant):
            assert recognise(f"12 words before.\n\n{problem.text}\n\nAnd 34 after.") == problem


def test_of_two_problems_in_a_text_the_first_is_recognised() -> None:
    pair = generate_pair(random.Random(3), ALL[5])
    assert recognise(f"{pair.variant.text}\n{pair.source.text}") == pair.variant


@given(st.text())
def test_other_texts_are_no_problem_of_ours(text: str) -> None:
    assert recognise(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "A train drives 0 km in 0 hours. How many km does the train drive in 5 hours?",
        "A train drives 10 km in 3 hours. How many km does the train drive in 5 hours?",
        "A train drives 123456 km in 3 hours. How many km does the train drive in 5 hours?",
        "A train drives 1.5 km in 3 hours. How many km does the train drive in 5 hours?",
    ],
)
def test_a_story_with_numbers_that_do_not_work_out_is_not_recognised(text: str) -> None:
    assert recognise(text) is None


def test_notes_are_one_labelled_line_per_step() -> None:
    problem = recognise("A train drives 24 km in 3 hours. How many km does the train drive in 5 hours?")
    assert problem is not None
    assert notes(problem) == "step 1: unit rate = 24 / 3 = 8\nstep 2: new amount = 8 * 5 = 40"


GOOD = """
- id: t
  split: train
  ease: 0.5
  numbers: {a: [2, 9], b: [2, 9]}
  steps: {first sum: a + b, double sum: first_sum * 2}
  stories: ["{a} and {b}?", "Add {a} to {b}."]
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("a + b", "a + c", "'c', which no number or earlier step defines"),
        ("a + b", "a + b + 1", "must read 'left operator right'"),
        ("double sum", "new first sum", "is part of another one's name"),
        ('"Add {a} to {b}."', '"Add {a} to 5."', "must show exactly the numbers"),
        ("split: train", "split: dev", "split"),
        ("ease: 0.5", "ease: 0.5\n  easy: 1", "easy"),
    ],
)
def test_a_malformed_template_is_named_with_its_file(
    old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(GOOD)
    assert len(read_templates(path)) == 1
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(UserError, match=r"odd\.yaml, template 't'") as caught:
        read_templates(path)
    assert complaint in str(caught.value)


def test_ranges_without_a_fitting_draw_are_reported_instead_of_searched_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eduardo.classroom.problems._MAX_DRAWS", 100)
    path = tmp_path / "odd.yaml"
    path.write_text(GOOD.replace("a + b", "a / 99"))
    with pytest.raises(UserError, match="'t' has no fitting numbers"):
        generate_pair(random.Random(0), read_templates(path)[0])
