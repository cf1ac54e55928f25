"""The classroom server over real sockets: OpenAI's protocol, seeded replies, and faults on request."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import openai
import pytest
from aiohttp.test_utils import TestServer

from eduardo.classroom.faults import FaultInjector, FaultKind, FaultPlan, parse_rates
from eduardo.classroom.server import ClassroomServer, ServerSettings
from eduardo.classroom.wire import truncate
from eduardo.errors import UserError

OPEN = ServerSettings(max_model_len=1000, api_key=None, admin=True)


def echo(messages: list[dict[str, str]], rng: random.Random) -> str:
    return f"{messages[-1]['content']} {rng.randrange(10**9)}"


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    servers = []

    async def start_server(settings: ServerSettings = OPEN, plan: FaultPlan | None = None) -> str:
        classroom = ClassroomServer({"student": echo, "judge": echo}, settings, plan or FaultPlan())
        server = TestServer(classroom.app())
        await server.start_server()
        servers.append(server)
        return str(server.make_url("/"))

    yield start_server
    for server in servers:
        await server.close()


async def post(url: str, **changes: Any) -> tuple[int, dict[str, Any]]:
    body = {"model": "student", "messages": [{"role": "user", "content": "hi"}], **changes}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}v1/chat/completions", json=body) as reply,
    ):
        return reply.status, await reply.json()


def texts(body: dict[str, Any]) -> list[str]:
    return [choice["message"]["content"] for choice in body["choices"]]


async def test_the_openai_client_gets_n_choices_and_the_usage(start: Callable[..., Any]) -> None:
    async with openai.AsyncOpenAI(base_url=f"{await start()}v1", api_key="any") as client:
        reply = await client.chat.completions.create(
            model="student",
            messages=[{"role": "user", "content": "two words"}],
            n=3,
            max_tokens=50,
            temperature=0.6,
        )
    assert len({choice.message.content for choice in reply.choices}) == 3
    assert all(choice.finish_reason == "stop" for choice in reply.choices)
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (6, 9)


async def test_the_same_request_gets_the_same_reply_and_another_seed_another(
    start: Callable[..., Any],
) -> None:
    url = await start()
    first, again, other = [texts((await post(url, seed=seed))[1]) for seed in (1, 1, 2)]
    assert first == again != other


async def test_more_choices_extend_fewer(start: Callable[..., Any]) -> None:
    url = await start()
    assert texts((await post(url, n=4))[1])[:2] == texts((await post(url, n=2))[1])


async def test_temperature_zero_repeats_one_choice(start: Callable[..., Any]) -> None:
    assert len(set(texts((await post(await start(), n=4, temperature=0))[1]))) == 1


async def test_a_reply_over_max_tokens_is_cut_and_says_so(start: Callable[..., Any]) -> None:
    _, body = await post(await start(), messages=[{"role": "user", "content": "a b c d"}], max_tokens=2)
    assert texts(body) == ["a b"]
    assert body["choices"][0]["finish_reason"] == "length"


def test_truncation_at_the_exact_length_is_no_truncation() -> None:
    assert truncate("a, b", 3) == ("a, b", 3, "stop")
    assert truncate("a, b", 2) == ("a,", 2, "length")


async def test_text_parts_and_unknown_fields_are_accepted(start: Callable[..., Any]) -> None:
    parts = [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]
    extra = {"response_format": {"type": "json_schema", "json_schema": {}}, "top_k": 5}
    status, body = await post(await start(), messages=[{"role": "user", "content": parts}], **extra)
    assert status == 200 and texts(body)[0].startswith("in parts")


@pytest.mark.parametrize(
    ("changes", "status", "code", "says"),
    [
        ({"model": "gpt"}, 404, "model_not_found", "served here: student, judge"),
        ({"messages": []}, 400, "invalid_request", "messages"),
        ({"n": 0}, 400, "invalid_request", "n"),
        ({"temperature": -1}, 400, "invalid_request", "temperature"),
        ({"stream": True}, 400, "invalid_request", "stream"),
        ({"max_tokens": 1000}, 400, "context_length_exceeded", "maximum context length of 1000"),
    ],
)
async def test_a_bad_request_is_refused_in_openais_shape(
    start: Callable[..., Any], changes: dict[str, Any], status: int, code: str, says: str
) -> None:
    got, body = await post(await start(), **changes)
    assert (got, body["error"]["code"]) == (status, code)
    assert says in body["error"]["message"]


async def test_models_and_health(start: Callable[..., Any]) -> None:
    url = await start()
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}v1/models") as reply:
            cards = (await reply.json())["data"]
        async with session.get(f"{url}health") as reply:
            assert reply.status == 200
        async with session.get(f"{url}v1/nothing") as reply:
            assert (reply.status, (await reply.json())["error"]["type"]) == (404, "invalid_request_error")
    assert [(card["id"], card["max_model_len"]) for card in cards] == [("student", 1000), ("judge", 1000)]


async def test_a_key_opens_the_server_and_nothing_else_does(start: Callable[..., Any]) -> None:
    url = await start(ServerSettings(max_model_len=1000, api_key="k", admin=False))
    for key, status in (("k", 200), ("wrong", 401), ("", 401)):
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
            async with session.get(f"{url}v1/models") as reply:
                assert reply.status == status
            async with session.get(f"{url}admin/faults") as reply:
                assert reply.status == 404 if key == "k" else 401


def certain(kind: FaultKind, **changes: Any) -> FaultPlan:
    return FaultPlan(rates={kind: 1.0}, **changes)


async def test_each_fault_looks_as_the_real_one_does(start: Callable[..., Any]) -> None:
    for kind, status in ((FaultKind.THROTTLE, 429), (FaultKind.SERVER_ERROR, 500)):
        got, body = await post(await start(plan=certain(kind)))
        assert got == status and "message" in body["error"]
    _, body = await post(await start(plan=certain(FaultKind.EMPTY)))
    assert body["choices"] == []
    _, body = await post(await start(plan=certain(FaultKind.BLANK)))
    assert texts(body) == [None]
    with pytest.raises(aiohttp.ContentTypeError):
        await post(await start(plan=certain(FaultKind.GARBAGE)))
    for kind in (FaultKind.DROP, FaultKind.HALF_BODY):
        with pytest.raises(aiohttp.ClientError):
            await post(await start(plan=certain(kind)))


async def test_a_slow_answer_is_a_good_one(start: Callable[..., Any]) -> None:
    url = await start(plan=certain(FaultKind.SLOW, slow_s=0.2))
    with pytest.raises(TimeoutError):
        timeout = aiohttp.ClientTimeout(total=0.05)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            body = {"model": "student", "messages": [{"role": "user", "content": "hi"}]}
            await session.post(f"{url}v1/chat/completions", json=body)
    assert (await post(url))[0] == 200


async def test_faults_can_be_set_while_the_server_runs_and_counted(start: Callable[..., Any]) -> None:
    url = await start()
    async with aiohttp.ClientSession() as session:
        plan = {"rates": {"http_500": 1.0}, "models": ["judge"]}
        async with session.put(f"{url}admin/faults", json=plan) as reply:
            assert reply.status == 200
        assert (await post(url))[0] == 200
        assert (await post(url, model="judge"))[0] == 500
        async with session.get(f"{url}admin/faults") as reply:
            assert (await reply.json())["num_injected"]["http_500"] == 1
        async with session.put(f"{url}admin/faults", json={"rates": {"http_500": 0.6, "drop": 0.6}}) as reply:
            assert reply.status == 400 and "add up to 1.2" in (await reply.json())["error"]["message"]


def test_fault_draws_depend_on_the_seed_and_meet_their_rates() -> None:
    plan = FaultPlan(rates={FaultKind.DROP: 0.2, FaultKind.SLOW: 0.1}, seed=3)
    draws, again = (
        [injector.draw("student") for _ in range(5000)]
        for injector in (FaultInjector(plan), FaultInjector(plan))
    )
    assert draws == again
    assert draws.count(FaultKind.DROP) / 5000 == pytest.approx(0.2, abs=0.02)
    assert draws.count(FaultKind.SLOW) / 5000 == pytest.approx(0.1, abs=0.02)


def test_a_misspelt_fault_names_the_right_ones() -> None:
    assert parse_rates(["drop=0.5"]) == {FaultKind.DROP: 0.5}
    with pytest.raises(UserError, match="http_429"):
        parse_rates(["http_503=0.5"])
