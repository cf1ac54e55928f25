"""The preflight: one clear line before a run starts, instead of void samples in its middle."""

from __future__ import annotations

import asyncio
import time

import pytest
from aiohttp import web
from llm_servers import MODEL, chat_reply, chat_server, endpoint, free_port

from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.llm import ChatClient


async def good(request: web.Request) -> web.Response:
    assert (await request.json())["max_tokens"] == 1
    return web.json_response(chat_reply("4", finish="length"))


async def two_models(_: web.Request) -> web.Response:
    return web.json_response({"data": [{"id": MODEL, "max_model_len": 4096}, {"id": "lora"}]})


async def test_a_healthy_server_is_reported() -> None:
    async with chat_server(good, models=two_models) as url, ChatClient(endpoint(url)) as client:
        report = await client.check(min_context_tokens=4096)

    assert (report.url, report.model, report.served_models) == (url, MODEL, (MODEL, "lora"))
    assert report.context_tokens == 4096
    assert 0 < report.latency_s < 2


async def test_a_server_without_a_list_of_models_is_judged_by_its_answer() -> None:
    async with chat_server(good) as url, ChatClient(endpoint(url)) as client:
        report = await client.check(min_context_tokens=4096)

    assert report.served_models == ()
    assert report.context_tokens is None


async def test_k03_a_dead_server_is_told_at_once_with_what_to_do() -> None:
    port = free_port()
    async with ChatClient(endpoint(f"http://127.0.0.1:{port}/v1", retry_budget_s=300.0)) as client:
        start = time.monotonic()
        with pytest.raises(EndpointUnavailable) as caught:
            await client.check(config_key="classroom.student")

    assert time.monotonic() - start < 1.0
    message = str(caught.value)
    assert f"nothing listens at http://127.0.0.1:{port}/v1" in message
    assert (
        f"start it (vllm serve {MODEL} --port {port} --generation-config vllm) or set classroom.student.base_url"
        in message
    )
    assert "\n" not in message


async def test_a_server_that_is_still_starting_can_be_waited_for() -> None:
    port = free_port()
    async with ChatClient(endpoint(f"http://127.0.0.1:{port}/v1")) as client:
        check = asyncio.create_task(client.check(wait_s=10.0))
        await asyncio.sleep(0.3)
        async with chat_server(good, models=two_models, port=port):
            assert (await check).model == MODEL


async def test_k04_a_model_that_is_not_served_is_told_with_those_that_are() -> None:
    async with chat_server(good, models=two_models) as url, ChatClient(endpoint(url, model="gpt")) as client:
        with pytest.raises(EndpointRejected, match=rf"'gpt'; set classroom\.judge\.model .*{MODEL}, lora"):
            await client.check(config_key="classroom.judge")


async def test_k04_a_context_that_is_too_short_is_told_with_the_length_needed() -> None:
    async with chat_server(good, models=two_models) as url, ChatClient(endpoint(url)) as client:
        with pytest.raises(
            EndpointRejected, match=r"4096 tokens, but 10240 are needed.*--max-model-len 10240"
        ):
            await client.check(min_context_tokens=10240)


async def test_k04_a_missing_key_is_told_with_the_setting_that_names_it() -> None:
    async def locked(_: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "no key"}}, status=401)

    async with chat_server(locked, models=locked) as url, ChatClient(endpoint(url)) as client:
        with pytest.raises(EndpointRejected, match=r"HTTP 401: no key\).*classroom\.judge\.api_key_env"):
            await client.check(config_key="classroom.judge")


async def test_c04_a_chat_template_that_refuses_a_system_message_is_told_before_the_first_step() -> None:
    async def refuse(request: web.Request) -> web.Response:
        if (await request.json())["messages"][0]["role"] == "system":
            return web.json_response({"error": {"message": "System role not supported"}}, status=400)
        return web.json_response(chat_reply("4"))

    async with chat_server(refuse, models=two_models) as url, ChatClient(endpoint(url)) as client:
        with pytest.raises(EndpointRejected, match=rf"refuses model '{MODEL}' .*System role not supported"):
            await client.check(config_key="classroom.student")


async def test_a_base_url_without_v1_is_told() -> None:
    async with (
        chat_server(good, models=two_models) as url,
        ChatClient(endpoint(url.removesuffix("/v1"))) as client,
    ):
        with pytest.raises(EndpointRejected, match=r"HTTP 404.*check that endpoint\.base_url ends in /v1"):
            await client.check()


async def test_k03_a_server_that_hangs_fails_the_preflight_within_the_connect_deadline() -> None:
    end_of_test = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await end_of_test.wait()
        return web.json_response({})

    async with chat_server(good, models=hang) as url:
        settings = endpoint(url, connect_timeout_s=0.2, first_byte_timeout_s=60.0, total_timeout_s=60.0)
        async with ChatClient(settings) as client:
            start = time.monotonic()
            with pytest.raises(EndpointUnavailable, match="no whole reply in time"):
                await client.check()
            end_of_test.set()

    assert time.monotonic() - start < 1.0
