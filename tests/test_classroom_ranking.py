"""What the embedded classroom pays for: the ranking of scripted tutors under the recipe and its ablations.

Real dialogue loop, judge prompts and parsing, post-test, grader and reward; student and judge are the simulated
ones, asked in this process instead of over HTTP.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

import pytest
import yaml

from eduardo import views
from eduardo.answers import Grader
from eduardo.classroom.in_process import in_process_judge, in_process_student
from eduardo.classroom.probes import PROBES, Probe
from eduardo.classroom.problems import SimPair, generate_pair, notes, templates
from eduardo.dialogue import run_dialogue
from eduardo.posttest import measure_solve_rate
from eduardo.scoring import score_dialogue
from eduardo.seeds import derive_seed
from eduardo.settings import GraderSettings, RecipeSettings
from eduardo.types import ItemKind, Problem, TestItem, TransferPair

CONFIGS = Path(__file__).parents[1] / "configs"
NEAR_ZERO = 0.12
Rewards = Mapping[str, Mapping[str, float]]  # setting → probe → mean reward


def recipe(*, gate: str = "hard", mask_tutor: bool = True, item: str = "transfer") -> RecipeSettings:
    values = yaml.safe_load((CONFIGS / "recipe" / "embedded.yaml").read_text())
    values["reward"]["gate"] = gate
    values["post_test"].update(mask_tutor=mask_tutor, item=item)
    return RecipeSettings.model_validate(values)


SETTINGS = {
    "full": recipe(),
    "no_gates": recipe(gate="off"),
    "no_gates + no_masking": recipe(gate="off", mask_tutor=False),
    "no_gates + no_transfer": recipe(gate="off", item="source"),
}


@pytest.fixture(scope="module")
def rewards() -> Rewards:
    settings = GraderSettings.model_validate(
        yaml.safe_load((CONFIGS / "grader" / "default.yaml").read_text())
    )
    with Grader(settings) as grader:
        return asyncio.run(_measure(grader))


async def _measure(grader: Grader) -> Rewards:
    chosen = templates("train")[::4] + templates("test")[::2]  # every topic, seen and unseen structures
    pairs = [await _pair(generate_pair(random.Random(t.id), t), grader) for t in chosen]
    rewards: dict[str, dict[str, list[float]]] = {s: {name: [] for name in PROBES} for s in SETTINGS}
    for name in PROBES:
        for pair in pairs:
            for setting, reward in (await _rewards_of(name, pair, grader)).items():
                rewards[setting][name].append(reward)
    return {s: {name: mean(values) for name, values in table.items()} for s, table in rewards.items()}


async def _rewards_of(name: str, pair: TransferPair, grader: Grader) -> dict[str, float]:
    """One dialogue of a probe, scored under every setting."""
    full = SETTINGS["full"]
    seed = derive_seed("ranking", name, pair.id)
    transcript = await run_dialogue(
        pair.source.problem,
        opener=views.opener(pair.source.problem),
        tutor=Probe(PROBES[name], end_tag=full.dialogue.end_tag, seed=seed),
        student=in_process_student(full),
        settings=full.dialogue,
        seed=seed,
    )
    totals = {}
    for setting, changed in SETTINGS.items():
        scored = await score_dialogue(
            pair,
            transcript,
            student=in_process_student(changed),
            judge=in_process_judge(changed),
            grader=grader,
            recipe=changed,
            seed=seed,
        )
        assert scored.reward is not None, scored.void_reason
        totals[setting] = scored.reward.total
    return totals


async def _pair(sim: SimPair, grader: Grader) -> TransferPair:
    """A pair with cold solve rates measured as for the starter set."""
    items = []
    for problem, kind in ((sim.source, ItemKind.SOURCE), (sim.variant, ItemKind.TRANSFER)):
        posed = Problem(text=problem.text, answer=problem.answer)
        baseline = await measure_solve_rate(
            posed,
            student=in_process_student(SETTINGS["full"]),
            grader=grader,
            num_samples=16,
            min_graded=12,
            max_tokens=800,
            temperature=0.6,
            seed=derive_seed("cold", problem.text),
        )
        items.append(TestItem(problem=posed, baseline=baseline, kind=kind))
    return TransferPair(id=sim.template.id, source=items[0], variant=items[1], notes=notes(sim.source))


def test_the_full_recipe_ranks_guiding_over_rambling_over_idling_over_giving_away(rewards: Rewards) -> None:
    mean_of = rewards["full"]
    gate = SETTINGS["full"].reward.hard_reject_reward
    assert mean_of["guide"] == pytest.approx(mean_of["thinker"], abs=0.1)
    assert min(mean_of["guide"], mean_of["thinker"]) > mean_of["rambler"] + 0.2
    assert mean_of["rambler"] > max(mean_of["quitter"], mean_of["chatter"]) + 0.2
    assert abs(mean_of["quitter"]) < NEAR_ZERO
    assert abs(mean_of["chatter"]) < NEAR_ZERO
    for name in ("teller", "echoer", "dictator", "liar", "injector"):
        assert mean_of[name] == pytest.approx(gate, abs=0.02)


def test_a_fixed_script_that_asks_for_the_next_step_earns_next_to_nothing(rewards: Rewards) -> None:
    assert abs(rewards["full"]["vaguer"]) < NEAR_ZERO


def test_naming_the_quantity_before_any_attempt_is_gated(rewards: Rewards) -> None:
    assert rewards["full"]["early_namer"] < 0 < rewards["no_gates"]["early_namer"]


def test_without_gates_telling_and_echoing_are_no_longer_punished_but_earn_little(rewards: Rewards) -> None:
    mean_of = rewards["no_gates"]
    for name in ("teller", "echoer"):
        assert abs(mean_of[name]) < NEAR_ZERO
    assert mean_of["guide"] > 0.7


def test_without_gates_and_masking_telling_pays(rewards: Rewards) -> None:
    mean_of = rewards["no_gates + no_masking"]
    assert mean_of["teller"] > 0.6
    assert abs(mean_of["echoer"]) < NEAR_ZERO + 0.05


def test_without_gates_and_transfer_echoing_pays(rewards: Rewards) -> None:
    mean_of = rewards["no_gates + no_transfer"]
    assert mean_of["echoer"] > 0.8
    assert abs(mean_of["teller"]) < NEAR_ZERO
