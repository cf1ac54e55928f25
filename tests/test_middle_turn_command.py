"""`eduardo evaluate middle_turn`, whole: HTTP servers as tutors and rubric judge, a classifier, real dialogues."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from llm_servers import chat_reply, chat_server
from tiny_classifier import write_classifier

from eduardo import evaluate
from eduardo.console import run_main
from eduardo.evaluation.parts import read_parts

MATHDIAL = Path(__file__).parent / "data" / "mathdial" / "sample.jsonl"


class Servers:
    """Tutors and a rubric judge behind one address, in a thread of their own; requests are kept."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.is_down_for: set[str] = set()
        self.refuses_long = False
        self.url = ""

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["model"] in self.is_down_for:
            return web.json_response({"error": {"message": "not now"}}, status=500)
        if self.refuses_long and body["max_tokens"] > 1:
            return web.json_response({"error": {"message": "the prompt is too long"}}, status=400)
        self.asked.append(body)
        if body["model"] == "judge":
            return web.json_response(chat_reply(self._rating(body["messages"][-1]["content"])))
        text = (
            "What makes you think so?" if body["model"] == "asking" else "<think>tell</think>The answer is 5."
        )
        return web.json_response(chat_reply(text))

    def num_asked(self, model: str) -> int:
        return sum(body["model"] == model and body["max_tokens"] > 1 for body in self.asked)

    @staticmethod
    def _rating(prompt: str) -> str:
        if "Rubric: factual" in prompt:
            return "I cannot say."
        return json.dumps({"reasoning": "seen", "score": 1 if "The answer is 5." in prompt else 4})


@pytest.fixture
def servers() -> Iterator[Servers]:
    found, loop = Servers(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)

    server = chat_server(found.chat)
    found.url = run(server.__aenter__())
    yield found
    run(server.__aexit__(None, None, None))
    loop.call_soon_threadsafe(loop.stop)
    thread.join(30)
    loop.close()


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier(tmp_path_factory.mktemp("reward"))


def command(
    servers: Servers, out: Path, *more: str, tutors: tuple[str, ...] = ("asking", "telling")
) -> list[str]:
    named = [word for name in tutors for word in ("--tutor", f"{name}={servers.url}#{name}")]
    quick = ["max_retries=0", "retry_budget_s=1", "connect_timeout_s=2"]
    return [
        "middle_turn", *named, f"data.source={MATHDIAL}", f"out_dir={out}",
        *(f"tutor_endpoint.{setting}" for setting in quick), *more,
    ]  # fmt: skip


def scoring(servers: Servers, classifier: Path) -> list[str]:
    judge = [f"rubric.judge.base_url={servers.url}", "rubric.judge.model=judge"]
    return [f"reward_model.path={classifier}", "rubric=endpoint", *judge]


@pytest.mark.timeout(180)
def test_tutors_are_answered_scored_rated_and_reported(
    servers: Servers, classifier: Path, tmp_path: Path
) -> None:
    assert evaluate.main(command(servers, tmp_path, *scoring(servers, classifier))) == 0
    [part] = read_parts(tmp_path)
    human, asking, telling = part.data["authors"]  # type: ignore[misc]
    assert [author["num_answers"] for author in (human, asking, telling)] == [12, 12, 12]
    assert asking["score"]["num_clusters"] == 10
    assert asking["score"]["value"] - human["score"]["value"] == pytest.approx(asking["margin"]["value"])
    assert 0 <= asking["win_rate"]["low"] <= asking["win_rate"]["value"] <= asking["win_rate"]["high"] <= 1
    assert human["win_rate"] is None
    assert (asking["rubrics"]["pedagogy"]["value"], telling["rubrics"]["pedagogy"]["value"]) == (4.0, 1.0)
    assert asking["rubrics"]["factuality"] is None  # no reply held a score
    assert (asking["num_ratings"], asking["num_missing_ratings"]) == (24, 12)
    told = [json.loads(line) for line in (tmp_path / "telling" / "answers.jsonl").read_text().splitlines()]
    assert {answer["text"] for answer in told} == {"The answer is 5."}
    assert {answer["thinking"] for answer in told} == {"tell"}
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Middle turn</h2>" in page and "win rate" in page
    assert (tmp_path / "middle_turn.csv").read_text().startswith("table,author,reward model score")
    assert (tmp_path / "human" / "manifest.json").is_file()


@pytest.mark.timeout(180)
def test_a_second_run_asks_only_for_what_is_missing(
    servers: Servers, classifier: Path, tmp_path: Path
) -> None:
    few = command(servers, tmp_path, "data.num_moments=4", "reward_model.path=null")
    assert evaluate.main(few) == 0
    assert (servers.num_asked("asking"), servers.num_asked("judge")) == (4, 0)
    servers.is_down_for = {"telling"}
    all_of_them = command(servers, tmp_path, *scoring(servers, classifier))
    assert run_main(evaluate.main, all_of_them) != 0  # the tutor that is down is missed before any dialogue
    servers.is_down_for = set()
    assert evaluate.main(all_of_them) == 0
    assert (servers.num_asked("asking"), servers.num_asked("telling")) == (12, 12)
    asked_judge = servers.num_asked("judge")
    assert asked_judge == 3 * 12 * 2
    assert evaluate.main(all_of_them) == 0
    assert servers.num_asked("judge") == asked_judge


@pytest.mark.timeout(180)
def test_answers_of_another_setting_are_not_mixed_in(
    servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = command(servers, tmp_path, "data.num_moments=1", "reward_model.path=null", tutors=("asking",))
    assert evaluate.main(few) == 0
    for override, changed in [
        ("seed=7", "seed"),
        ("endpoint_thinking=prefilled", "endpoint_thinking"),
        ("tutor_endpoint.extra_body={top_k: 5}", "tutor_extra_body.top_k"),
    ]:
        assert run_main(evaluate.main, [*few, override]) == 2
        assert f"made with another {changed}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tutor", "complaint"),
    [
        ("human=http://host/v1#m", "--tutor human: this name is taken"),
        ("guide=probe:guide", "a probe knows only the embedded classroom's problems"),
    ],
)
def test_a_tutor_that_cannot_be_tested_here_is_refused(
    tutor: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(evaluate.main, ["middle_turn", "--tutor", tutor]) == 2
    assert complaint in capsys.readouterr().err


def test_a_rubric_judge_without_an_address_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["middle_turn", "--tutor", "t=http://host/v1#m", "rubric=endpoint"]
    assert run_main(evaluate.main, arguments) == 2
    assert "rubric.judge" in capsys.readouterr().err


@pytest.mark.timeout(180)
def test_a_refusal_in_the_middle_is_one_line(
    servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers.refuses_long = True
    few = command(servers, tmp_path, "data.num_moments=3", "reward_model.path=null", tutors=("asking",))
    assert run_main(evaluate.main, few) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "too long" in error
