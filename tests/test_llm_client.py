"""The chat client against real servers that answer, throttle, refuse or talk nonsense (cases K01 and K04)."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from llm_servers import ASK, MODEL, SAMPLING, chat_reply, endpoint
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from eduardo.errors import EndpointRejected, EndpointUnavailable, UserError
from eduardo.llm import ChatClient, retry, transport
from eduardo.llm.faults import FaultKind
from eduardo.types import FinishReason

CHAT = "/v1/chat/completions"
KEY = "sk-very-secret-0123456789"
GOOD = Response(json.dumps(chat_reply("42")))


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BACKOFF_BASE_S", 0.02)


@pytest.fixture
async def client(httpserver: HTTPServer) -> AsyncIterator[ChatClient]:
    async with ChatClient(endpoint(httpserver.url_for("/v1"))) as client:
        yield client


def refusal(status: int, message: str = "scripted", **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps({"error": {"message": message}}), status, named)


def script(httpserver: HTTPServer, *replies: Response) -> None:
    """Give these replies one after the other; the last one from then on."""
    remaining = list(replies)

    def answer(_: Request) -> Response:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    httpserver.expect_request(CHAT, method="POST").respond_with_handler(answer)


def sent_body(httpserver: HTTPServer) -> dict[str, Any]:
    return dict(json.loads(httpserver.log[-1][0].get_data()))


async def ask(client: ChatClient) -> str | None:
    [completion] = await client.complete(ASK, **SAMPLING)
    return completion.text


async def test_all_samples_come_from_one_request(httpserver: HTTPServer, client: ChatClient) -> None:
    script(httpserver, Response(json.dumps(chat_reply("a", "b", "c", finish="length"))))

    completions = await client.complete(ASK, n=3, seed=5, **SAMPLING)

    assert [c.text for c in completions] == ["a", "b", "c"]
    assert {c.finish for c in completions} == {FinishReason.LENGTH}
    assert sent_body(httpserver) == {
        "model": MODEL,
        "messages": ASK,
        "n": 3,
        "seed": 5,
        "top_p": 1.0,
        **SAMPLING,
    }
    assert len(httpserver.log) == 1


async def test_pass_through_fields_reach_the_server(httpserver: HTTPServer) -> None:
    script(httpserver, GOOD)
    settings = endpoint(httpserver.url_for("/v1"), extra_body={"top_k": 20, "min_p": 0.1})

    async with ChatClient(settings) as client:
        await client.complete(
            ASK, response_format={"type": "json_object"}, extra_body={"top_k": 40}, **SAMPLING
        )

    body = sent_body(httpserver)
    assert (body["top_k"], body["min_p"]) == (40, 0.1)
    assert body["response_format"] == {"type": "json_object"}
    assert "seed" not in body


async def test_fields_of_the_client_cannot_hide_in_extra_body(client: ChatClient) -> None:
    with pytest.raises(UserError, match="must not hold n, stream"):
        await client.complete(ASK, extra_body={"stream": True, "n": 2}, **SAMPLING)
    with pytest.raises(UserError, match="must not hold temperature, top_p"):
        ChatClient(endpoint("http://127.0.0.1:1/v1", extra_body={"temperature": 0, "top_p": 0.5}))


async def test_what_a_server_could_choose_by_itself_is_stated_in_every_request(
    httpserver: HTTPServer,
) -> None:
    script(httpserver, GOOD)
    async with ChatClient(endpoint(httpserver.url_for("/v1"), top_p=0.9)) as client:
        await client.complete(ASK, **SAMPLING)
        assert sent_body(httpserver)["top_p"] == 0.9

        choice = {"token_ids": [5], "logprobs": {"token_logprobs": [-0.1]}, "finish_reason": "stop"}
        httpserver.expect_request("/v1/completions").respond_with_json({"choices": [choice]})
        asked = {"max_tokens": 9, "temperature": 0.6, "top_p": 0.95, "seed": 1, "stop_token_ids": [2]}
        await client.complete_tokens([1, 2], **asked)
        assert (sent_body(httpserver)["top_p"], sent_body(httpserver)["top_k"]) == (0.95, -1)


async def test_text_that_is_no_unicode_is_the_callers_error(client: ChatClient) -> None:
    with pytest.raises(UserError, match="not valid JSON"):
        await client.complete([{"role": "user", "content": "\ud800"}], **SAMPLING)


async def test_k01_retry_after_in_seconds_is_waited_for(httpserver: HTTPServer, client: ChatClient) -> None:
    script(httpserver, refusal(429, Retry_After="1"), GOOD)

    assert await ask(client) == "42"

    assert 1.0 <= client.stats.backoff_s <= 1.1
    assert client.stats.faults == {FaultKind.THROTTLED: 1}


async def test_k01_a_long_retry_after_is_capped(httpserver: HTTPServer) -> None:
    script(httpserver, refusal(429, Retry_After="600"), GOOD)

    async with ChatClient(endpoint(httpserver.url_for("/v1"), retry_after_cap_s=0.2)) as client:
        assert await ask(client) == "42"

    assert 0.2 <= client.stats.backoff_s <= 0.22


async def test_k01_a_wait_beyond_the_budget_is_not_begun(httpserver: HTTPServer) -> None:
    script(httpserver, refusal(429, Retry_After="600"))

    async with ChatClient(endpoint(httpserver.url_for("/v1"), retry_budget_s=0.5)) as client:
        with pytest.raises(EndpointUnavailable, match="HTTP 429: scripted"):
            await ask(client)

    assert client.stats.backoff_s == 0
    assert client.stats.num_unavailable == 1


async def test_k01_a_retry_after_date_in_the_past_means_a_short_backoff(
    httpserver: HTTPServer, client: ChatClient
) -> None:
    yesterday = format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
    script(httpserver, refusal(429, Retry_After=yesterday), GOOD)

    assert await ask(client) == "42"

    assert 0 < client.stats.backoff_s <= 0.02


async def test_k01_two_503_then_a_good_reply(httpserver: HTTPServer, client: ChatClient) -> None:
    script(httpserver, refusal(503), refusal(503), GOOD)

    assert await ask(client) == "42"

    assert (client.stats.num_tries, client.stats.num_retries) == (3, 2)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_k01_a_lasting_fault_is_tried_max_retries_plus_one_times_and_no_more(
    httpserver: HTTPServer, client: ChatClient, status: int
) -> None:
    script(httpserver, refusal(status))

    with pytest.raises(EndpointUnavailable, match=rf"HTTP {status}: scripted.*tries: 4"):
        await ask(client)

    assert len(httpserver.log) == 4


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Response("<html><body>Bad gateway</body></html>"), id="html"),
        pytest.param(Response(b""), id="empty body"),
        pytest.param(Response(json.dumps({"choices": []})), id="no choices"),
        pytest.param(Response(json.dumps({"error": {"message": "engine died"}})), id="error object"),
        pytest.param(Response(json.dumps({"choices": [{"index": 0}]})), id="choice without message"),
        pytest.param(Response(json.dumps(chat_reply("half", finish="abort"))), id="given up by the engine"),
        pytest.param(Response(json.dumps(chat_reply("42"))[:-20]), id="cut JSON"),
        pytest.param(Response(b'{"choices":[{"message":{"content":"\xff\xfe"}}]}'), id="not UTF-8"),
        pytest.param(Response(status=204), id="no content"),
    ],
)
async def test_k04_an_unusable_200_is_retried(
    httpserver: HTTPServer, client: ChatClient, reply: Response
) -> None:
    script(httpserver, reply, GOOD)

    assert await ask(client) == "42"

    assert client.stats.faults == {FaultKind.UNUSABLE: 1}


async def test_k04_a_lasting_unusable_200_ends_as_unavailable_and_tells_what_was_said(
    httpserver: HTTPServer, client: ChatClient
) -> None:
    script(httpserver, Response("<html>\n<title>Login</title>"))

    with pytest.raises(EndpointUnavailable, match=r"unusable reply.*<html> <title>Login</title>"):
        await ask(client)


async def test_k04_a_huge_body_is_not_read_to_its_end(
    httpserver: HTTPServer, client: ChatClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_REPLY_BYTES", 1000)
    script(httpserver, Response(json.dumps(chat_reply("x" * 2000))), GOOD)

    assert await ask(client) == "42"

    assert client.stats.faults == {FaultKind.UNUSABLE: 1}


async def test_k04_no_text_at_the_token_limit_is_an_answer_and_not_retried(
    httpserver: HTTPServer, client: ChatClient
) -> None:
    script(httpserver, Response(json.dumps(chat_reply(None, finish="length", reasoning_content="Let me"))))

    [completion] = await client.complete(ASK, **SAMPLING)

    assert (completion.text, completion.finish, completion.reasoning) == (None, FinishReason.LENGTH, "Let me")
    assert len(httpserver.log) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_k04_a_permanent_refusal_is_raised_at_once_and_names_url_model_and_status(
    httpserver: HTTPServer, client: ChatClient, status: int
) -> None:
    script(httpserver, refusal(status, "no,\nnever"))

    with pytest.raises(EndpointRejected) as caught:
        await ask(client)

    message = str(caught.value)
    assert all(part in message for part in (httpserver.url_for("/v1"), MODEL, f"HTTP {status}", "no, never"))
    assert "\n" not in message
    assert client.stats.num_tries == client.stats.num_rejected == 1


async def test_k04_an_unknown_model_is_told_with_the_models_that_are_served(
    httpserver: HTTPServer, client: ChatClient
) -> None:
    script(httpserver, refusal(404, "The model does not exist."))
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "qwen3-4b"}, {"id": "lora"}]})

    with pytest.raises(EndpointRejected, match=r"set endpoint\.model to what it serves: qwen3-4b, lora"):
        await ask(client)


async def test_k04_a_prompt_that_does_not_fit_is_told_with_the_remedy(
    httpserver: HTTPServer, client: ChatClient
) -> None:
    script(httpserver, refusal(400, "This model's maximum context length is 4096 tokens. However, ..."))

    with pytest.raises(EndpointRejected, match="start the server with a larger --max-model-len"):
        await ask(client)


async def test_a_redirect_is_not_followed_but_named(httpserver: HTTPServer, client: ChatClient) -> None:
    script(httpserver, Response(status=301, headers={"Location": "https://elsewhere.example/v1"}))

    with pytest.raises(
        EndpointRejected, match=r"redirect to https://elsewhere\.example/v1\); put that address"
    ):
        await ask(client)


async def test_k04_the_key_is_sent_but_never_shown(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("STUDENT_KEY", KEY)
    script(
        httpserver, refusal(503, f"{KEY} is throttled"), refusal(401, f"Incorrect API key provided: {KEY}")
    )

    async with ChatClient(endpoint(httpserver.url_for("/v1"), api_key_env="STUDENT_KEY")) as client:
        with pytest.raises(
            EndpointRejected, match="check the key in environment variable STUDENT_KEY"
        ) as caught:
            await ask(client)

    assert httpserver.log[-1][0].headers["Authorization"] == f"Bearer {KEY}"
    error = caught.value
    shown = [
        *traceback.format_exception(error),
        repr(error),
        repr(error.__context__),
        repr(client),
        caplog.text,
    ]
    assert "next try" in caplog.text
    assert not any(KEY in text for text in shown)


async def test_a_closed_client_says_so(client: ChatClient) -> None:
    await client.close()

    with pytest.raises(RuntimeError, match="is closed"):
        await ask(client)


async def test_the_request_body_is_the_one_of_the_openai_sdk(
    httpserver: HTTPServer, client: ChatClient
) -> None:
    openai = pytest.importorskip("openai")
    script(httpserver, Response(json.dumps(chat_reply("a", "b"))))
    fields = {"n": 2, "seed": 3, "extra_body": {"top_k": 20}, **SAMPLING}

    ours = await client.complete(ASK, **fields)
    fields["top_p"] = 1.0
    our_body = sent_body(httpserver)
    async with openai.AsyncOpenAI(base_url=httpserver.url_for("/v1"), api_key="none") as sdk:
        theirs = await sdk.chat.completions.create(model=MODEL, messages=ASK, **fields)

    assert our_body == sent_body(httpserver)
    assert [c.text for c in ours] == [choice.message.content for choice in theirs.choices]
