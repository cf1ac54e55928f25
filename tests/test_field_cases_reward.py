"""Field cases of the reward (W01 to W03) and of retries (K01), each under its id.

They run the recorded inputs through the whole path; the tests of the single modules hold the details.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from aiohttp import web
from llm_servers import chat_reply, chat_server, endpoint

from eduardo import views
from eduardo.answers import Grader
from eduardo.judge import Judge
from eduardo.llm import ChatClient
from eduardo.records import flat_metrics
from eduardo.reward import normalized_gain
from eduardo.scoring import score_dialogue
from eduardo.settings import GraderSettings, RecipeSettings
from eduardo.student import Student
from eduardo.types import (
    EndReason,
    ItemKind,
    Problem,
    ScoredDialogue,
    SolveRate,
    Speaker,
    TestItem,
    Transcript,
    TransferPair,
    Turn,
    TurnTokens,
)  # fmt: skip
from eduardo.verl_adapter.advantage import group_advantage, tied_groups
from eduardo.verl_adapter.metrics import step_metrics

CONFIGS = Path(__file__).parents[1] / "configs"
RECIPE = RecipeSettings.model_validate(yaml.safe_load((CONFIGS / "recipe" / "paper.yaml").read_text()))
PROBLEM = Problem(text="What is 2 + 2?", answer="4")
ITEM = TestItem(problem=PROBLEM, baseline=SolveRate(value=0.25, num_graded=16), kind=ItemKind.TRANSFER)
PAIR = TransferPair(id="pair", source=ITEM, variant=ITEM)
TRANSCRIPT = Transcript(
    problem=PROBLEM,
    turns=(
        views.opener(PROBLEM),
        Turn(speaker=Speaker.TUTOR, text="What would you try?", tokens=TurnTokens(visible=5)),
    ),
    end_reason=EndReason.TUTOR_ENDED,
)
ACCEPT = json.dumps({"reasoning": "fine", "quote": "", "decision": "accept"})
RIGHT = r"It is \boxed{4}."


# --- W01: a pre-test that is already perfect, and what is no rate ---


@pytest.mark.parametrize(
    ("pre", "post", "gain"),
    [(1.0, 1.0, 0.0), (1.0, 0.6, -0.4), (0.0, 0.0, 0.0), (0.25, 0.25, 0.0), (0.9999, 1.0, 1.0), (0.6, 0.2, -0.4)],
)  # fmt: skip
def test_w01_gain_at_the_ceiling_and_elsewhere(pre: float, post: float, gain: float) -> None:
    assert normalized_gain(pre, post) == pytest.approx(gain)


@pytest.mark.parametrize(("pre", "post"), [(math.nan, 0.5), (1.2, 0.5), (0.5, math.nan), (-0.1, 0.5)])
def test_w01_what_is_no_rate_is_refused(pre: float, post: float) -> None:
    with pytest.raises(ValueError, match="solve rate"):
        normalized_gain(pre, post)


# --- W02: infrastructure that fails is no bad tutor ---


def advantages(rewards: list[float], void: set[int], **config: object) -> list[float]:
    mask = torch.ones(len(rewards), 2)
    mask[sorted(void)] = 0
    scores = torch.zeros(len(rewards), 2)
    scores[:, -1] = torch.tensor(rewards)
    per_token, _ = group_advantage(
        token_level_rewards=scores, response_mask=mask, index=["g"] * len(rewards), config=config
    )
    return per_token[:, -1].tolist()


def numbers_of(*, gate: float, bonus: float, gain: float = 0.0) -> dict[str, float | None]:
    parts = {"gate": gate, "thinking_bonus": bonus, "gain": gain, "preference": 0.0}
    return {"void": 0.0, **{f"reward_{name}": value for name, value in parts.items()}}


@pytest.mark.parametrize(
    ("rewards", "void", "expected"),
    [
        pytest.param([0.6, 0.7, 0.65, 0.0], {3}, [-0.05, 0.05, 0.0, 0.0], id="one time-out"),
        pytest.param([0.0] * 4, {0, 1, 2, 3}, [0.0] * 4, id="all failed"),
        pytest.param([0.0, 0.0, 0.0, 0.8], {0, 1, 2}, [0.0] * 4, id="three of four failed"),
    ],
)
def test_w02_a_failed_dialogue_moves_nobody(
    rewards: list[float], void: set[int], expected: list[float]
) -> None:
    assert advantages(rewards, void) == pytest.approx(expected, abs=1e-6)


def test_w02_a_step_in_which_nine_of_ten_failed_is_above_every_sane_budget() -> None:
    good = {"void": 0.0, "reward_total": 0.4}
    numbers = step_metrics([good, *[{"void": 1.0, "reward_total": None}] * 9], num_expected=10, prefix="d")
    assert numbers["d/void_share"] == 0.9 > RECIPE.faults.max_void_share
    assert numbers["d/reward_total"] == 0.4


class Endpoint:
    """Serves student and judge: `num_attempts` test attempts in all, then errors. Counts its requests."""

    def __init__(
        self, num_attempts: int, *, attempt: str | None = RIGHT, finish: str = "stop", judge_status: int = 200
    ) -> None:
        self.left, self.judge_status = num_attempts, judge_status
        self.attempt, self.finish = attempt, finish
        self.asked: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        text = body["messages"][-1]["content"]
        if "Criterion:" in text:
            self.asked["handover" if "hand the solution over" in text else "factual"] += 1
            return web.json_response(chat_reply(*[ACCEPT] * body["n"]), status=self.judge_status)
        self.asked["test"] += 1
        if self.left == 0:
            return web.json_response({"error": {"message": "gone"}}, status=500)
        sent = min(self.left, body["n"])
        self.left -= sent
        return web.json_response(chat_reply(*[self.attempt] * sent, finish=self.finish))


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    settings = GraderSettings.model_validate(
        yaml.safe_load((CONFIGS / "grader" / "default.yaml").read_text())
    )
    with Grader(settings) as grader:
        yield grader


async def score(server: Endpoint, grader: Grader) -> ScoredDialogue:
    async with (
        chat_server(server.answer) as url,
        ChatClient(endpoint(url, max_retries=1, retry_budget_s=3.0)) as client,
    ):
        return await score_dialogue(
            PAIR,
            TRANSCRIPT,
            student=Student(client, RECIPE),
            judge=Judge(client, RECIPE.judge),
            grader=grader,
            recipe=RECIPE,
            seed=1,
        )


async def test_w02_a_post_test_that_is_partly_answered_counts_above_a_minimum_only(grader: Grader) -> None:
    too_few, enough = await score(Endpoint(5), grader), await score(Endpoint(12), grader)
    assert too_few.is_void
    assert "5 of 16 attempts graded, 12 needed" in (too_few.void_reason or "")
    assert enough.reward is not None
    assert enough.reward.post == 1.0
    assert flat_metrics(enough)["num_graded"] == 12


@pytest.mark.parametrize(
    ("attempt", "finish"),
    [(None, "stop"), (None, "content_filter"), (RIGHT, "content_filter"), (RIGHT, "abort")],
)
async def test_w02_attempts_that_the_endpoint_withheld_are_void_not_wrong(
    attempt: str | None, finish: str, grader: Grader
) -> None:
    scored = await score(Endpoint(16, attempt=attempt, finish=finish), grader)
    assert scored.is_void
    assert "0 of 16 attempts graded" in (scored.void_reason or "")


async def test_w02_a_dead_judge_makes_the_dialogue_void(grader: Grader) -> None:
    scored = await score(Endpoint(16, judge_status=500), grader)
    assert scored.is_void
    assert scored.post_test is None
    assert "judge" in (scored.void_reason or "")


# --- K01: retry layers do not multiply ---


async def test_k01_no_layer_above_the_client_retries_again(grader: Grader) -> None:
    judge_down, student_down = Endpoint(16, judge_status=500), Endpoint(0)
    await score(judge_down, grader)
    await score(student_down, grader)
    assert judge_down.asked == {"handover": 2, "factual": 2}  # one try and one retry of the client each
    assert student_down.asked == {"handover": 1, "factual": 1, "test": 2}


# --- W03: NaN, None, ties, keys that differ ---


def test_w03_one_nan_is_refused_instead_of_spoiling_its_group() -> None:
    with pytest.raises(ValueError, match="not finite"):
        advantages([1.0, 0.0, math.nan, 0.0], set())


@pytest.mark.parametrize("rewards", [[0.3] * 4, [0.5], [0.1 + 0.2, 0.3, 0.3, 0.3], [0.95] * 7])
def test_w03_equal_rewards_give_exactly_nothing(rewards: list[float]) -> None:
    assert advantages(rewards, set()) == [0.0] * len(rewards)


def test_w03_a_length_bonus_in_a_group_that_failed_as_a_whole_is_no_advantage() -> None:
    """Divided by its deviation it would be noise at full size; so equality is decided on the outcome."""
    bonuses = [0.0, -0.001, -0.002, -0.003]
    dialogues = [numbers_of(gate=-0.2, bonus=bonus) for bonus in bonuses]
    by_std = {"norm_adv_by_std_in_grpo": True}
    scores = [-0.2 + bonus for bonus in bonuses]
    assert max(map(abs, advantages(scores, set(), **by_std))) > 1
    tied = tied_groups(["g"] * 4, dialogues)
    assert advantages(scores, set(), **by_std, tied_groups=tied) == [0.0] * 4
    # Undivided, a bonus counts what it is worth.
    undivided = advantages(scores, set(), tied_groups=tied)
    assert undivided == pytest.approx([0.0015, 0.0005, -0.0005, -0.0015], abs=1e-6)


def test_w03_equality_is_decided_for_each_group_on_its_valid_dialogues() -> None:
    void = {**numbers_of(gate=0.0, bonus=0.0), "void": 1.0, "reward_gain": None}
    failed, gained = numbers_of(gate=-0.2, bonus=0.1), numbers_of(gate=0.0, bonus=0.1, gain=0.5)
    index = ["a", "a", "a", "b", "b", "c"]
    assert tied_groups(index, [failed, failed, void, failed, gained, void]) == ["a"]


async def test_w03_void_and_scored_dialogues_report_the_same_keys(grader: Grader) -> None:
    void, scored = (
        flat_metrics(await score(Endpoint(5), grader)),
        flat_metrics(await score(Endpoint(16), grader)),
    )
    assert void.keys() == scored.keys()
    assert (void["void"], void["reward"]) == (1.0, None)
    assert scored["reward"] is not None
