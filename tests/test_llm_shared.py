"""All users of one endpoint in one event loop share one client, and with it the concurrency limit."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from llm_servers import ASK, SAMPLING, chat_reply, chat_server, endpoint

from eduardo.llm import close_shared_clients, shared_client

URL = "http://127.0.0.1:8001/v1"


async def test_equal_settings_share_a_client_and_others_do_not() -> None:
    first = shared_client(endpoint(URL))

    assert shared_client(endpoint(URL)) is first
    assert shared_client(endpoint(URL, model="judge")) is not first
    await close_shared_clients()


async def test_two_users_together_keep_to_one_limit() -> None:
    num_inside = max_inside = 0

    async def watch(_: web.Request) -> web.Response:
        nonlocal num_inside, max_inside
        num_inside += 1
        max_inside = max(max_inside, num_inside)
        await asyncio.sleep(0.01)
        num_inside -= 1
        return web.json_response(chat_reply("42"))

    async def user(url: str) -> None:
        client = shared_client(endpoint(url, max_concurrency=3))
        await asyncio.gather(*(client.complete(ASK, **SAMPLING) for _ in range(10)))

    async with chat_server(watch) as url:
        await asyncio.gather(user(url), user(url))
        await close_shared_clients()

    assert max_inside == 3


async def test_closing_closes_and_the_next_user_gets_a_fresh_client() -> None:
    first = shared_client(endpoint(URL))
    await close_shared_clients()

    assert first.closed
    second = shared_client(endpoint(URL))
    assert second is not first
    await second.close()
    assert shared_client(endpoint(URL)) is not second
    await close_shared_clients()


def test_each_event_loop_has_its_own_client() -> None:
    async def get() -> int:
        client = shared_client(endpoint(URL))
        clients.append(client)
        return id(client)

    clients: list[object] = []
    assert asyncio.run(get()) != asyncio.run(get())


def test_it_needs_a_running_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        shared_client(endpoint(URL))
