"""Prompts are filled in one pass: what is filled in arrives byte for byte, and nothing may be missing."""

from __future__ import annotations

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.templates import render

VALUES: dict[str, dict[str, str]] = {
    "opener": {"problem": "P"},
    "greeting": {},
    "student_system": {"problem": "P"},
    "tutor_system": {"problem": "P", "notes": "N", "end_tag": "<end>"},
    "tutor_system_compact": {"problem": "P", "notes": "N", "end_tag": "<end>"},
    "solve_request": {},
    "cold_solve": {"problem": "P"},
    "post_test": {"problem": "P"},
    "judge_system": {"silence": "S"},
    "judge_material": {"problem_json": "P", "turns_json": "T", "code": "C"},
    "judge_no_handover": {"problem_json": "P", "turns_json": "T", "code": "C"},
    "judge_factual_correctness": {"problem_json": "P", "turns_json": "T", "code": "C"},
    "rubric_system": {"silence": "S"},
    "rubric_pedagogy": {"problem_json": "P", "turns_json": "T", "code": "C", "last_turn_only": "yes"},
    "rubric_factuality": {"problem_json": "P", "turns_json": "T", "code": "C", "last_turn_only": ""},
}

TRICKY = [
    "A = {1; 2; 3}",
    r"\sum_{i=1}^{n}",
    r"\boxed{} and {1,2}",
    "{0}",
    "{{x}}",
    "{{7*7}}",
    "%s %(a)s",
    "$name ${name}",
    "{% if %}",
    "{# no comment #}",
    "{{ problem }}",
    "first\r\nsecond\n",
    "<b>&amp;</b>",
]


@pytest.mark.parametrize("name", VALUES)
def test_every_prompt_of_a_dialogue_renders_to_tidy_text(name: str) -> None:
    text = render(name, **VALUES[name])
    assert text == text.strip()
    assert "{{" not in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize("problem", TRICKY)
@pytest.mark.parametrize("name", ["opener", "student_system", "cold_solve", "post_test"])
def test_d04_braces_and_markup_in_a_problem_are_left_alone(name: str, problem: str) -> None:
    assert problem in render(name, problem=problem)


@given(problem=st.text(), notes=st.text(min_size=1))
def test_d04_a_prompt_contains_its_values_byte_for_byte(problem: str, notes: str) -> None:
    text = render("tutor_system", problem=problem, notes=notes, end_tag="<end>")
    assert problem in text
    assert notes in text


def test_d04_braces_of_a_prompt_itself_survive() -> None:
    assert r"\boxed{}" in render("solve_request")


def test_notes_appear_only_when_there_are_some() -> None:
    for name in ("tutor_system", "tutor_system_compact"):
        without = render(name, problem="P", notes=None, end_tag="<end>")
        assert "olution, for" not in without
        assert "Notes" not in without


@pytest.mark.parametrize("values", [{}, {"problem": "P", "name": "Ada"}, {"probelm": "P"}])
def test_d04_a_missing_or_unknown_variable_is_an_error(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"prompt 'opener' needs exactly the variables \['problem'\]"):
        render("opener", **values)


def test_variables_of_an_included_prompt_are_required_too() -> None:
    with pytest.raises(ValueError, match="code"):
        render("judge_no_handover", problem_json="P", turns_json="T")


def test_an_unknown_prompt_is_an_error() -> None:
    with pytest.raises(jinja2.TemplateNotFound):
        render("no_such_prompt")
