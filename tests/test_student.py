"""The frozen student against a real server: what it is sent, and what becomes of its replies."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from llm_servers import chat_reply, endpoint
from pytest_httpserver import HTTPServer

from eduardo import views
from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.llm import ChatClient
from eduardo.settings import RecipeSettings
from eduardo.student import Student
from eduardo.types import FinishReason, Problem, Speaker, Transcript, Turn, TurnFault, TurnTokens

RECIPE = RecipeSettings.model_validate(
    yaml.safe_load((Path(__file__).parents[1] / "configs" / "recipe" / "paper.yaml").read_text())
)
PROBLEM = Problem(text="What is 2 + 2?", answer="4")
TRANSCRIPT = Transcript(
    problem=PROBLEM, turns=(views.opener(PROBLEM), Turn(speaker=Speaker.TUTOR, text="What would you try?"))
)


@pytest.fixture
async def student(httpserver: HTTPServer) -> AsyncIterator[Student]:
    async with ChatClient(endpoint(httpserver.url_for("/v1"), max_retries=0)) as client:
        yield Student(client, RECIPE)


def answer(httpserver: HTTPServer, reply: dict[str, object], status: int = 200) -> None:
    httpserver.expect_request("/v1/chat/completions").respond_with_json(reply, status)


def sent(httpserver: HTTPServer) -> dict[str, Any]:
    return dict(json.loads(httpserver.log[-1][0].get_data()))


async def test_a_reply_is_one_request_with_the_students_view_and_the_recipes_limits(
    httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(" I would count. \n"))

    turn = await student.reply(TRANSCRIPT, seed=11)

    assert turn == Turn(speaker=Speaker.STUDENT, text="I would count.", tokens=TurnTokens(visible=7))
    request = sent(httpserver)
    assert request["messages"] == views.student_view(TRANSCRIPT)
    limits = {key: request[key] for key in ("n", "temperature", "max_tokens", "seed")}
    assert limits == {"n": 1, "temperature": 0.6, "max_tokens": 500, "seed": 11}


@pytest.mark.parametrize(
    "text", ["<think>2, 3, 4</think>It is 4.", "2, 3, 4</think>It is 4.", "<THINK>2</THINK>\nIt is 4.\n"]
)
async def test_what_a_student_thinks_aloud_is_dropped_and_its_length_is_unknown(
    text: str, httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(text))
    assert await student.reply(TRANSCRIPT, seed=1) == Turn(speaker=Speaker.STUDENT, text="It is 4.")


async def test_thinking_that_the_server_split_off_is_dropped_too(
    httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply("It is 4.", reasoning_content="2, 3, 4"))
    assert await student.reply(TRANSCRIPT, seed=1) == Turn(speaker=Speaker.STUDENT, text="It is 4.")


@pytest.mark.parametrize("text", ["", "  \n", "<think>hm</think>"])
async def test_an_empty_reply_is_a_silent_turn(text: str, httpserver: HTTPServer, student: Student) -> None:
    answer(httpserver, chat_reply(text))
    turn = await student.reply(TRANSCRIPT, seed=1)
    assert (turn.text, turn.faults) == ("", (TurnFault.BLANK,))


async def test_a_thinking_student_that_says_nothing_is_silent(
    httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(None, reasoning=""))
    turn = await student.reply(TRANSCRIPT, seed=1)
    assert (turn.text, turn.faults) == ("", (TurnFault.BLANK,))


@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
async def test_w02_a_reply_without_content_is_a_fault_of_the_endpoint_not_silence(
    finish: str, httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(None, finish=finish))
    with pytest.raises(EndpointUnavailable, match="no finished choice with any content"):
        await student.reply(TRANSCRIPT, seed=1)


async def test_a_reply_cut_inside_the_thinking_is_silent_and_truncated(
    httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(None, finish="length", reasoning_content="2, 3"))
    turn = await student.reply(TRANSCRIPT, seed=1)
    assert (turn.text, turn.faults) == ("", (TurnFault.REPLY_TRUNCATED, TurnFault.BLANK))


async def test_a_long_reply_is_kept_and_marked_as_truncated(httpserver: HTTPServer, student: Student) -> None:
    answer(httpserver, chat_reply("It is", finish="length"))
    turn = await student.reply(TRANSCRIPT, seed=1)
    assert (turn.text, turn.faults) == ("It is", (TurnFault.REPLY_TRUNCATED,))


@pytest.mark.parametrize("text", ["", "It is", "It is <think>so"])
@pytest.mark.parametrize("finish", ["content_filter", "tool_calls", None])
async def test_w02_a_reply_that_the_endpoint_cut_off_is_a_failure_not_a_turn(
    text: str, finish: str | None, httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(text, finish=finish))
    with pytest.raises(EndpointUnavailable, match="cut the reply off"):
        await student.reply(TRANSCRIPT, seed=1)


@pytest.mark.parametrize(("status", "error"), [(500, EndpointUnavailable), (401, EndpointRejected)])
async def test_a_failing_server_raises(
    status: int, error: type[Exception], httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, {"error": {"message": "scripted"}}, status)
    with pytest.raises(error):
        await student.reply(TRANSCRIPT, seed=1)


async def test_attempts_are_one_request_and_lose_their_thinking(
    httpserver: HTTPServer, student: Student
) -> None:
    answer(httpserver, chat_reply(r"<think>\boxed{5}?</think>\boxed{4}", r"\boxed{3}", ""))

    attempts = await student.attempt(
        views.cold_solve_view(PROBLEM), n=3, max_tokens=800, temperature=0.6, seed=3
    )

    assert [attempt.text for attempt in attempts] == [r"\boxed{4}", r"\boxed{3}", ""]
    assert {attempt.finish for attempt in attempts} == {FinishReason.STOP}
    request = sent(httpserver)
    assert (request["n"], request["max_tokens"], request["seed"]) == (3, 800, 3)
    assert len(httpserver.log) == 1
