"""500 dialogues through a classroom server that fails half of all requests, or is gone for a minute.

Every dialogue is scored exactly as without faults or is void; none is missing, and no fault becomes a reward.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
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
FAULTS: dict[str, Any] = {
    "rates": {FaultKind.SLOW: 0.1}
    | dict.fromkeys((kind for kind in FaultKind if kind is not FaultKind.SLOW), 0.06),
    "seed": 7,
    "slow_s": 0.2,
    "retry_after_s": 0.3,
}


def settings_of(path: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((CONFIGS / path).read_text())
    return values


RECIPE = RecipeSettings.model_validate(settings_of("recipe/embedded.yaml"))
GRADER = GraderSettings.model_validate(settings_of("grader/default.yaml"))


OUTAGE_S = 60.0
FEW_RETRIES = {"max_retries": 4}  # so few that some requests are lost for good


def client(base_url: str, model: str, changes: Mapping[str, Any]) -> ChatClient:
    """The shipped settings with changes."""
    address = {"base_url": base_url, "model": model}
    endpoint = {**settings_of("endpoint/default.yaml"), **address, **changes}
    return ChatClient(EndpointSettings.model_validate(endpoint))


def pair(number: int) -> TransferPair:
    everything = templates()
    sim = generate_pair(random.Random(number), everything[number % len(everything)])
    source, variant = (
        TestItem(problem=Problem(text=p.text, answer=p.answer), baseline=SolveRate(value=0.25), kind=kind)
        for p, kind in ((sim.source, ItemKind.SOURCE), (sim.variant, ItemKind.TRANSFER))
    )
    return TransferPair(id=f"soak-{number}", source=source, variant=variant)


def get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as reply:
        state: dict[str, Any] = json.load(reply)
    return state


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


async def run_all(base_url: str, file: Path, changes: Mapping[str, Any] = FEW_RETRIES) -> None:
    """All dialogues at once, each on disk as soon as it is scored."""
    writer = DialogueWriter(file)
    async with (
        client(base_url, STUDENT_MODEL, changes) as to_student,
        client(base_url, JUDGE_MODEL, changes) as to_judge,
    ):
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


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ScoredDialogue]:
    """All dialogues without any fault."""
    file = tmp_path_factory.mktemp("soak") / "clean.jsonl"
    with process.start() as server:
        asyncio.run(run_all(server.base_url, file))
    dialogues = by_id(read_dialogues(file))
    assert len(dialogues) == NUM_DIALOGUES
    assert not any(dialogue.is_void for dialogue in dialogues.values())
    return dialogues


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_w02_every_dialogue_is_scored_as_without_faults_or_void_and_none_is_missing(
    tmp_path: Path, clean: dict[str, ScoredDialogue]
) -> None:
    with process.start(options=["--admin"]) as server:
        admin(server.base_url, FAULTS)
        asyncio.run(run_all(server.base_url, tmp_path / "faulty.jsonl"))
        num_injected = admin(server.base_url)["num_injected"]
    faulty = by_id(read_dialogues(tmp_path / "faulty.jsonl"))
    assert clean.keys() == faulty.keys()
    void = {name for name, dialogue in faulty.items() if dialogue.is_void}
    changed = [name for name in faulty if name not in void and to_json(faulty[name]) != to_json(clean[name])]
    assert changed == []
    assert 0 < len(void) < NUM_DIALOGUES / 2
    assert all(faulty[name].reward is None and faulty[name].void_reason for name in void)
    assert set(FAULTS["rates"]) == set(FaultKind)
    assert all(num_injected[kind] > NUM_DIALOGUES / 10 for kind in FaultKind)
    print(
        f"{len(void)} of {NUM_DIALOGUES} void; faults: {num_injected}"
    )  # for -s: the figures of docs/trust.md


def restart(server: process.ClassroomProcess, *, after_requests: int) -> process.ClassroomProcess:
    """Kill the server once it has got so many requests; start another one on its port after the outage."""
    health = server.base_url.removesuffix("/v1") + "/health"
    while get(health)["num_requests"] < after_requests:
        time.sleep(0.05)
    server.child.kill()
    server.child.wait()
    time.sleep(OUTAGE_S)
    return process.start(port=int(server.base_url.removesuffix("/v1").rpartition(":")[2]))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_k01_a_server_that_is_gone_for_60_s_costs_no_dialogue(
    tmp_path: Path, clean: dict[str, ScoredDialogue]
) -> None:
    file = tmp_path / "restarted.jsonl"
    first = process.start()
    second: list[process.ClassroomProcess] = []
    num_turns = sum(len(dialogue.transcript.student_turns) - 1 for dialogue in clean.values())
    outage = threading.Thread(
        target=lambda: second.append(restart(first, after_requests=num_turns // 2)), daemon=True
    )
    try:
        outage.start()
        started = time.monotonic()
        asyncio.run(run_all(first.base_url, file, changes={}))
        took_s = time.monotonic() - started
        outage.join()
    finally:
        for server in (first, *second):
            server.stop()
    restarted = by_id(read_dialogues(file))
    assert took_s > OUTAGE_S
    assert restarted.keys() == clean.keys()
    assert [name for name in clean if to_json(restarted[name]) != to_json(clean[name])] == []
    print(f"{len(restarted)} dialogues over an outage of {OUTAGE_S:.0f} s in {took_s:.0f} s, none void")
