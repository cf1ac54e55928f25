"""500 dialogues through a classroom server that fails half of all requests in one way or another.

Every dialogue is scored exactly as without faults or is void; none is missing, and no fault becomes a reward.
"""

from __future__ import annotations

import asyncio
import json
import random
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from eduardo import views
from eduardo.answers import Grader
from eduardo.classroom import process
from eduardo.classroom.faults import FaultKind
from eduardo.classroom.in_process import JUDGE_MODEL, STUDENT_MODEL
from eduardo.classroom.probes import PROBES, Probe
from eduardo.classroom.problems import generate_pair, templates
from eduardo.dialogue import run_dialogue
from eduardo.judge import Judge
from eduardo.llm import ChatClient
from eduardo.records import DialogueWriter, read_dialogues, to_json
from eduardo.scoring import score_dialogue
from eduardo.seeds import derive_seed
from eduardo.settings import EndpointSettings, GraderSettings, RecipeSettings
from eduardo.student import Student
from eduardo.types import ItemKind, Problem, ScoredDialogue, SolveRate, TestItem, TransferPair

CONFIGS = Path(__file__).parents[1] / "configs"
NUM_DIALOGUES = 500
TUTORS = ("guide", "thinker", "rambler", "teller", "echoer", "chatter", "liar", "quitter")
FAULTS = {
    "rates": dict.fromkeys(("slow", "drop", "http_500", "http_429", "garbage"), 0.1),
    "seed": 7,
    "slow_s": 0.2,
    "retry_after_s": 0.3,
}


def settings_of(path: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((CONFIGS / path).read_text())
    return values


RECIPE = RecipeSettings.model_validate(settings_of("recipe/embedded.yaml"))
GRADER = GraderSettings.model_validate(settings_of("grader/default.yaml"))


def client(base_url: str, model: str) -> ChatClient:
    """The shipped settings, but so few retries that some requests are lost for good."""
    endpoint = {
        **settings_of("endpoint/default.yaml"),
        "base_url": base_url,
        "model": model,
        "max_retries": 4,
    }
    return ChatClient(EndpointSettings.model_validate(endpoint))


def pair(number: int) -> TransferPair:
    everything = templates()
    sim = generate_pair(random.Random(number), everything[number % len(everything)])
    source, variant = (
        TestItem(problem=Problem(text=p.text, answer=p.answer), baseline=SolveRate(value=0.25), kind=kind)
        for p, kind in ((sim.source, ItemKind.SOURCE), (sim.variant, ItemKind.TRANSFER))
    )
    return TransferPair(id=f"soak-{number}", source=source, variant=variant)


def admin(base_url: str, plan: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Set the faults, or ask which were produced."""
    request = urllib.request.Request(
        base_url.removesuffix("/v1") + "/admin/faults",
        data=None if plan is None else json.dumps(plan).encode(),
        method="GET" if plan is None else "PUT",
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        state: dict[str, Any] = json.load(reply)
    return state


async def run_all(base_url: str, file: Path) -> None:
    """All dialogues at once, each on disk as soon as it is scored."""
    writer = DialogueWriter(file)
    async with client(base_url, STUDENT_MODEL) as to_student, client(base_url, JUDGE_MODEL) as to_judge:
        student, judge = Student(to_student, RECIPE), Judge(to_judge, RECIPE.judge)
        with Grader(GRADER) as grader:

            async def one(number: int) -> None:
                problem_pair, seed = pair(number), derive_seed("soak", number)
                transcript = await run_dialogue(
                    problem_pair.source.problem,
                    opener=views.opener(problem_pair.source.problem),
                    tutor=Probe(PROBES[TUTORS[number % len(TUTORS)]], end_tag=RECIPE.dialogue.end_tag),
                    student=student,
                    settings=RECIPE.dialogue,
                    seed=seed,
                )
                scored = await score_dialogue(
                    problem_pair,
                    transcript,
                    student=student,
                    judge=judge,
                    grader=grader,
                    recipe=RECIPE,
                    seed=seed,
                )
                writer.write(scored)

            await asyncio.gather(*map(one, range(NUM_DIALOGUES)))
    writer.close()


def by_id(dialogues: Iterable[ScoredDialogue]) -> dict[str, ScoredDialogue]:
    return {dialogue.pair_id: dialogue for dialogue in dialogues}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_w02_every_dialogue_is_scored_as_without_faults_or_void_and_none_is_missing(tmp_path: Path) -> None:
    with process.running(options=["--admin"]) as base_url:
        asyncio.run(run_all(base_url, tmp_path / "clean.jsonl"))
        admin(base_url, FAULTS)
        asyncio.run(run_all(base_url, tmp_path / "faulty.jsonl"))
        num_injected = admin(base_url)["num_injected"]
    clean, faulty = (by_id(read_dialogues(tmp_path / name)) for name in ("clean.jsonl", "faulty.jsonl"))
    assert clean.keys() == faulty.keys()
    assert len(clean) == NUM_DIALOGUES
    assert not any(dialogue.is_void for dialogue in clean.values())
    void = {name for name, dialogue in faulty.items() if dialogue.is_void}
    changed = [name for name in faulty if name not in void and to_json(faulty[name]) != to_json(clean[name])]
    assert changed == []
    assert 0 < len(void) < NUM_DIALOGUES / 2
    assert all(faulty[name].reward is None and faulty[name].void_reason for name in void)
    assert all(num_injected[kind] > NUM_DIALOGUES / 10 for kind in FAULTS["rates"])
    assert set(num_injected) == set(FaultKind)
    print(
        f"{len(void)} of {NUM_DIALOGUES} void; faults: {num_injected}"
    )  # for -s: the figures of docs/trust.md
