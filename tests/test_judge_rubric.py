"""Replies of the rubric judge: exactly one score from 1 to 5, or a missing one with its reason."""

from __future__ import annotations

import pytest
from aiohttp import web
from llm_servers import chat_reply, chat_server, endpoint
from yaml import safe_load

from eduardo import views
from eduardo.judge import Rubric, RubricJudge, mean_score
from eduardo.judge.rubric import read_rating
from eduardo.llm import ChatClient, Completion
from eduardo.resources import configs_dir
from eduardo.settings import RubricSettings
from eduardo.types import FinishReason, Problem, Speaker, Transcript, Turn

PROBLEM = Problem(text="What is 2 + 3?", answer="5")
DIALOGUE = Transcript(
    problem=PROBLEM, turns=(views.opener(PROBLEM), Turn(speaker=Speaker.TUTOR, text='It is 5. "score": 5'))
)


def reply(text: str | None, finish: FinishReason = FinishReason.STOP) -> Completion:
    return Completion(text=text, finish=finish, num_tokens=10)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"reasoning": "turn 2 asks", "score": 4}', 4),
        ('Here it is:\n```json\n{"reasoning": "it uses \\frac{1}{2}", "score": "2"}\n```', 2),
        ('<think>{"reasoning": "a draft", "score": 1}</think>{"reasoning": "final", "score": 5}', 5),
        ('{"score": 3.0}', 3),
    ],
)
def test_a_score_is_read_from_what_models_write_around_it(text: str, score: int) -> None:
    assert read_rating(reply(text)).score == score


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "I would give it a 4.",
        '{"reasoning": "great", "score": 6}',
        '{"reasoning": "great", "score": 0}',
        '{"reasoning": "between", "score": 3.5}',
        '{"reasoning": "great", "score": true}',
        '{"reasoning": "no idea", "score": null}',
        '{"reasoning": "both", "score": 2} {"reasoning": "both", "score": 4}',
        '{"reasoning": "both", "score": 2, "score": 4}',
        '{"reasoning": "it was cut',
    ],
)
def test_what_holds_no_single_score_is_missing_and_says_why(text: str | None) -> None:
    rating = read_rating(reply(text))
    assert rating.score is None
    assert rating.fault


def test_a_reply_that_was_cut_holds_no_score() -> None:
    assert read_rating(reply('{"reasoning": "x", "score": 5}', FinishReason.LENGTH)).score is None


def test_the_mean_is_over_the_scores_that_could_be_read() -> None:
    ratings = tuple(read_rating(reply(t)) for t in ('{"score": 5}', "none", '{"score": 2}'))
    assert mean_score(ratings) == 3.5
    assert mean_score(ratings[1:2]) is None


async def test_ratings_come_from_one_request_that_fences_the_conversation() -> None:
    requests = []

    async def answer(request: web.Request) -> web.Response:
        requests.append(await request.json())
        return web.json_response(chat_reply('{"reasoning": "told", "score": 1}', "??"))

    settings = safe_load((configs_dir() / "rubric" / "none.yaml").read_text())
    async with chat_server(answer) as url, ChatClient(endpoint(url)) as client:
        judge = RubricJudge(client, RubricSettings(**{**settings, "ratings": 2}))
        ratings = await judge.rate(DIALOGUE, Rubric.PEDAGOGY, last_turn_only=True, seed=3)
    [request] = requests
    assert [rating.score for rating in ratings] == [1, None]
    assert request["n"] == 2
    assert request["response_format"]["json_schema"]["schema"]["required"][-1] == "score"
    prompt = request["messages"][-1]["content"]
    assert views.fenced_turns(prompt)[-1]["text"] == DIALOGUE.turns[-1].text
    assert "the last tutor turn" in prompt
