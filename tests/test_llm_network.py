"""The chat client when network or server break, hang, restart or are crowded (cases K01 and K03)."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import pytest
from aiohttp import web
from llm_servers import ASK, SAMPLING, chat_reply, chat_server, endpoint, free_port, raw_server

from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.llm import ChatClient, retry
from eduardo.llm.faults import FaultKind


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BACKOFF_BASE_S", 0.02)
    monkeypatch.setattr(retry, "UNREACHABLE_BACKOFF_CAP_S", 0.1)


async def good(_: web.Request) -> web.Response:
    return web.json_response(chat_reply("42"))


async def ask(client: ChatClient) -> str | None:
    [completion] = await client.complete(ASK, **SAMPLING)
    return completion.text


async def test_k03_a_server_that_never_answers_costs_one_first_byte_deadline_per_try() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw_server(hang) as url:
        settings = endpoint(url, first_byte_timeout_s=0.2, max_retries=1)
        async with ChatClient(settings) as client:
            start = time.monotonic()
            with pytest.raises(EndpointUnavailable, match=r"no whole reply in time.*tries: 2"):
                await ask(client)

    assert 0.4 <= time.monotonic() - start < 1.0
    assert client.stats.faults == {FaultKind.TIMED_OUT: 2}


async def test_k03_a_reply_that_drips_is_cut_at_the_total_deadline() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.transport.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.05)

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(raw_server(drip))
        settings = endpoint(url, total_timeout_s=0.3, max_retries=0)
        client = await stack.enter_async_context(ChatClient(settings))
        with pytest.raises(EndpointUnavailable):
            await ask(client)

    assert client.stats.faults == {FaultKind.TIMED_OUT: 1}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="closed before the headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b'{"choices":', id="half body"),
        pytest.param(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"cho', id="half chunk"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="not HTTP"),
    ],
)
@pytest.mark.parametrize("reset", [False, True])
async def test_k03_a_broken_connection_is_retried(sent: bytes, reset: bool) -> None:
    num_connections = 0

    async def break_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal num_connections
        num_connections += 1
        await reader.readuntil(b"\r\n\r\n")
        body = web.json_response(chat_reply("42")).body
        assert isinstance(body, bytes)
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        writer.write(sent if num_connections == 1 else whole)
        await writer.drain()
        if reset and num_connections == 1:
            writer.transport.abort()

    async with raw_server(break_once) as url, ChatClient(endpoint(url)) as client:
        assert await ask(client) == "42"

    assert client.stats.faults == {FaultKind.DROPPED: 1}


async def test_k01_a_restart_costs_no_call_although_no_retry_is_left() -> None:
    port = free_port()
    settings = endpoint(f"http://127.0.0.1:{port}/v1", max_retries=0)
    async with ChatClient(settings) as client:
        async with chat_server(good, port=port):
            assert await ask(client) == "42"
        calls = [asyncio.create_task(ask(client)) for _ in range(20)]
        await asyncio.sleep(0.5)
        async with chat_server(good, port=port):
            assert await asyncio.gather(*calls) == ["42"] * 20

    assert client.stats.faults[FaultKind.UNREACHABLE] >= 20, "no call met the outage"


async def test_k01_a_wave_of_dialogues_survives_a_restart_in_its_middle() -> None:
    port = free_port()
    num_served = 0
    half_served = asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        nonlocal num_served
        await asyncio.sleep(0.01)
        num_served += 1
        if num_served == 300:
            half_served.set()
        return web.json_response(chat_reply("42"))

    async with ChatClient(endpoint(f"http://127.0.0.1:{port}/v1", max_concurrency=64)) as client:
        async with chat_server(slow, port=port):
            calls = [asyncio.create_task(ask(client)) for _ in range(1000)]
            await half_served.wait()
        await asyncio.sleep(0.3)
        async with chat_server(slow, port=port):
            texts = await asyncio.gather(*calls)

    assert texts == ["42"] * 1000
    assert client.stats.faults[FaultKind.UNREACHABLE] > 0
    assert client.stats.num_unavailable == 0


async def test_a_server_that_stays_dead_fails_all_waiting_calls_within_one_budget() -> None:
    settings = endpoint(f"http://127.0.0.1:{free_port()}/v1", retry_budget_s=0.5, max_concurrency=2)
    async with ChatClient(settings) as client:
        start = time.monotonic()
        failures = await asyncio.gather(*(ask(client) for _ in range(12)), return_exceptions=True)

    assert all(isinstance(failure, EndpointUnavailable) for failure in failures)
    assert time.monotonic() - start < 1.5, "six rounds of two calls would take 3 s if each waited for itself"


async def test_k03_1024_calls_at_once_never_exceed_the_limit_and_their_wait_is_counted() -> None:
    num_inside = max_inside = 0

    async def watch(_: web.Request) -> web.Response:
        nonlocal num_inside, max_inside
        num_inside += 1
        max_inside = max(max_inside, num_inside)
        await asyncio.sleep(0.01)
        num_inside -= 1
        return web.json_response(chat_reply("42"))

    async with chat_server(watch) as url:
        settings = endpoint(url, max_concurrency=100, connect_timeout_s=5.0)
        async with ChatClient(settings) as client:
            assert await asyncio.gather(*(ask(client) for _ in range(1024))) == ["42"] * 1024

    assert max_inside == client.stats.max_in_flight == 100
    assert client.stats.num_tries == client.stats.num_calls == 1024
    assert client.stats.queue_s > 1.0


async def test_k03_an_error_in_one_call_leaves_its_siblings_alone() -> None:
    async def picky(request: web.Request) -> web.Response:
        await asyncio.sleep(0.02)
        if (await request.json())["seed"] == 3:
            return web.json_response({"error": {"message": "not this one"}}, status=400)
        return web.json_response(chat_reply("42"))

    async with chat_server(picky) as url, ChatClient(endpoint(url, max_concurrency=4)) as client:
        calls = [asyncio.create_task(client.complete(ASK, seed=i, **SAMPLING)) for i in range(20)]
        with pytest.raises(EndpointRejected, match="not this one"):
            await asyncio.gather(*calls)
        await asyncio.wait(calls)

    assert [i for i, call in enumerate(calls) if call.exception() is not None] == [3]


async def test_a_cancelled_call_gives_its_slot_back() -> None:
    end_of_test = asyncio.Event()

    async def hang_on_seed(request: web.Request) -> web.Response:
        if "seed" in await request.json():
            await end_of_test.wait()
        return web.json_response(chat_reply("42"))

    async with chat_server(hang_on_seed) as url, ChatClient(endpoint(url, max_concurrency=1)) as client:
        hanging = asyncio.create_task(client.complete(ASK, seed=1, **SAMPLING))
        waiting = asyncio.create_task(client.complete(ASK, seed=2, **SAMPLING))
        await asyncio.sleep(0.1)
        waiting.cancel()
        hanging.cancel()
        await asyncio.wait([hanging, waiting])

        assert hanging.cancelled()
        assert waiting.cancelled()
        assert await ask(client) == "42"
        assert client.stats.num_in_flight == 0
        end_of_test.set()


async def test_a_call_that_pauses_between_tries_can_be_cancelled() -> None:
    async with ChatClient(endpoint(f"http://127.0.0.1:{free_port()}/v1", max_concurrency=1)) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await ask(client)

    assert client.stats.num_in_flight == 0


async def test_https_to_a_server_without_tls_names_the_cause() -> None:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(chat_server(good))
        settings = endpoint(url.replace("http:", "https:"), retry_budget_s=0.1)
        client = await stack.enter_async_context(ChatClient(settings))
        with pytest.raises(EndpointUnavailable, match=r"(?i)ssl"):
            await ask(client)


def test_a_client_belongs_to_one_event_loop() -> None:
    client = ChatClient(endpoint(f"http://127.0.0.1:{free_port()}/v1", retry_budget_s=0.01))
    with pytest.raises(EndpointUnavailable):
        asyncio.run(_ask_and_close(client, close=False))
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(_ask_and_close(client, close=True))


async def _ask_and_close(client: ChatClient, *, close: bool) -> None:
    try:
        await ask(client)
    finally:
        if close:
            await client.close()
