"""Scripted tutors: what they say, in the raw form of the tutor protocol."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from statistics import mean

import pytest
import yaml

from eduardo import views
from eduardo.classroom.in_process import in_process_student
from eduardo.classroom.judge_rules import Rule, find_violations, material_of
from eduardo.classroom.probes import PROBES, Probe
from eduardo.classroom.problem_templates import Template
from eduardo.classroom.problems import SimProblem, generate_pair, recognise, templates
from eduardo.dialogue import run_dialogue
from eduardo.errors import UserError
from eduardo.settings import RecipeSettings
from eduardo.types import Criterion, EndReason, Problem, Transcript

EMBEDDED = yaml.safe_load((Path(__file__).parents[1] / "configs" / "recipe" / "embedded.yaml").read_text())
RECIPE = RecipeSettings.model_validate(EMBEDDED)
TEMPLATES = templates()[::4]


def hold(
    name: str, index: int, *, seed: int | None = None, ends: bool = True, template: Template | None = None
) -> Transcript:
    """One dialogue of a probe with the simulated student."""
    sim = generate_pair(random.Random(index), template or TEMPLATES[index]).source
    problem = Problem(text=sim.text, answer=sim.answer)
    tutor = Probe(PROBES[name], end_tag=RECIPE.dialogue.end_tag, seed=seed, ends=ends)
    return asyncio.run(
        run_dialogue(
            problem,
            opener=views.opener(problem),
            tutor=tutor,
            student=in_process_student(RECIPE),
            settings=RECIPE.dialogue,
            seed=index,
        )
    )


def hold_all(name: str, *, seed: int | None = None, ends: bool = True) -> list[Transcript]:
    return [hold(name, index, seed=seed, ends=ends) for index in range(len(TEMPLATES))]


def sim_problem(transcript: Transcript) -> SimProblem:
    problem = recognise(transcript.problem.text)
    assert problem is not None
    return problem


def length(transcripts: list[Transcript]) -> float:
    """Mean visible tokens of a tutor turn."""
    return mean(turn.tokens.visible for t in transcripts for turn in t.tutor_turns if turn.tokens)


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_ends_its_dialogue_by_itself_and_has_no_fault_of_form(name: str) -> None:
    early_tags = name == "quitter"
    for transcript in hold_all(name, seed=5):
        assert transcript.end_reason is EndReason.TUTOR_ENDED
        assert early_tags or not any(turn.faults for turn in transcript.tutor_turns)


@pytest.mark.parametrize("name", PROBES)
def test_no_probe_is_taken_for_degenerate_on_any_template(name: str) -> None:
    for index, template in enumerate(templates()):
        material = material_of(hold(name, index, seed=index, template=template))
        assert Rule.DEGENERATE not in {v.rule for v in find_violations(material, Criterion.FACTUAL)}


@pytest.mark.parametrize("name", PROBES)
def test_turns_fit_the_limits_of_the_embedded_recipe(name: str) -> None:
    for transcript in hold_all(name, seed=5):
        for turn in transcript.tutor_turns:
            assert turn.tokens
            assert turn.tokens.visible + turn.tokens.thinking < RECIPE.dialogue.tutor_turn_tokens


def test_told_not_to_end_a_probe_goes_on_to_the_turn_limit() -> None:
    assert {t.end_reason for t in hold_all("guide", ends=False)} == {EndReason.TURN_LIMIT}


def test_without_a_seed_the_wording_is_fixed_and_with_one_it_varies_and_repeats_with_the_seed() -> None:
    assert hold("guide", 0) == hold("guide", 0)
    assert hold("guide", 0, seed=3) == hold("guide", 0, seed=3)
    assert len({hold("guide", 0, seed=seed).turns[1].text for seed in range(12)}) > 2


def test_the_guide_gets_every_step_out_of_the_student_and_says_no_number_first() -> None:
    for transcript in hold_all("guide"):
        steps = sim_problem(transcript).steps
        written = " ".join(turn.text for turn in transcript.student_turns[1:])
        assert all(str(step) in written for step in steps)
        assert not any(char.isdigit() for turn in transcript.tutor_turns for char in turn.text)


def test_the_thinker_says_what_the_guide_says_and_solves_in_private() -> None:
    for guide, thinker in zip(hold_all("guide"), hold_all("thinker"), strict=True):
        assert [t.text for t in guide.tutor_turns] == [t.text for t in thinker.tutor_turns]
        thoughts = " ".join(turn.thinking for turn in thinker.tutor_turns)
        assert str(sim_problem(thinker).steps[-1]) in thoughts


def test_the_rambler_is_a_guide_at_about_four_times_the_length() -> None:
    assert 3.5 < length(hold_all("rambler")) / length(hold_all("guide")) < 4.5


def test_the_teller_tells_every_step_and_the_echoer_only_the_answer() -> None:
    for told, echoed in zip(hold_all("teller"), hold_all("echoer"), strict=True):
        steps = sim_problem(told).steps
        assert all(any(str(step) in turn.text for turn in told.tutor_turns) for step in steps)
        assert not any("=" in turn.text for turn in echoed.tutor_turns)
        assert all(steps[-1].quantity not in turn.text for turn in echoed.student_turns[1:])
        assert f"the answer is {steps[-1].value}" in echoed.turns[2].text


def test_the_quitter_leaves_at_the_first_turn_that_allows_it() -> None:
    at_least = RECIPE.dialogue.min_tutor_turns_before_end
    assert {len(t.tutor_turns) for t in hold_all("quitter")} == {at_least + 1}


def test_a_problem_from_elsewhere_is_refused_by_name() -> None:
    problem = Problem(text="What is 1 + 1?", answer="2")
    transcript = Transcript(problem=problem, turns=(views.opener(problem),))
    with pytest.raises(UserError, match=r"not 'What is 1 \+ 1\?'"):
        Probe(PROBES["guide"], end_tag="<end>").say(transcript)
