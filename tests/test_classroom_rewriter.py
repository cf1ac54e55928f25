"""The simulated rewriter: variants of its own templates, bad ones at the set rates, and a refusal for anything else."""

from __future__ import annotations

import json
import random

import pytest

from eduardo import views
from eduardo.answers import extract_final_answer
from eduardo.classroom.problems import generate_problem, recognise, templates
from eduardo.classroom.sim_rewriter import reply
from eduardo.classroom.sim_settings import RewriterParams
from eduardo.dataset import Location
from eduardo.transfer_generation.rewriter import rewriter_view
from eduardo.transfer_generation.source import SourceProblem
from eduardo.types import Problem

TEMPLATE = templates("train")[0]
SOURCE = generate_problem(random.Random(1), TEMPLATE, TEMPLATE.stories[0])


def params(**rates: float) -> RewriterParams:
    none = dict.fromkeys(RewriterParams.model_fields, 0.0)
    return RewriterParams(**{**none, **rates})


def write(text: str = SOURCE.text, seed: int = 0, **rates: float) -> str:
    source = SourceProblem(
        id="1" * 16, split="train", problem=Problem(text=text, answer="1"), solution=None, group=None, extras={},
        where=Location("f", 1),
    )  # fmt: skip
    return reply(rewriter_view(source), random.Random(seed), params(**rates))


def test_a_fair_variant_has_another_story_other_numbers_and_the_right_answer() -> None:
    for seed in range(20):
        written = json.loads(write(seed=seed))
        variant = recognise(written["problem"])
        assert variant is not None and variant.template.id == TEMPLATE.id
        assert variant.numbers != SOURCE.numbers and TEMPLATE.stories[0].anchor not in variant.text
        assert written["answer"] == variant.answer != SOURCE.answer


def test_bad_variants_are_bad_in_the_way_that_was_drawn() -> None:
    assert SOURCE.text in json.loads(write(near_copy=1.0))["problem"]
    wrong = json.loads(write(wrong_answer=1.0))
    variant = recognise(wrong["problem"])
    assert variant is not None and wrong["answer"] != variant.answer
    other = recognise(json.loads(write(other_structure=1.0))["problem"])
    assert other is not None and other.template.id != TEMPLATE.id
    with pytest.raises(json.JSONDecodeError):
        json.loads(write(unreadable=1.0))


def test_a_problem_of_no_template_is_refused() -> None:
    refusal = json.loads(write("Who wrote it?"))
    assert refusal["refusal"] and not refusal["problem"] and not refusal["answer"]


def test_it_solves_what_it_knows_when_asked_to() -> None:
    asked = views.cold_solve_view(Problem(text=SOURCE.text, answer="?"))
    assert extract_final_answer(reply(asked, random.Random(0), params())) == SOURCE.answer
    assert extract_final_answer(reply(asked, random.Random(0), params(blind_error=1.0))) != SOURCE.answer
    assert "no problem" in reply([{"role": "user", "content": "Hello"}], random.Random(0), params())


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"add up to 1\.2"):
        params(near_copy=0.6, wrong_answer=0.6)
