"""Real servers on loopback that behave as a test tells them to, and settings to reach them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from eduardo.settings import EndpointSettings
from eduardo.types import Message

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
RawHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

DEFAULTS = yaml.safe_load(Path(__file__).parents[1].joinpath("configs/endpoint/default.yaml").read_text())
MODEL = "llama-3.1-8b"
ASK: list[Message] = [{"role": "user", "content": "What is 6 times 7?"}]
SAMPLING: dict[str, Any] = {"temperature": 0.6, "max_tokens": 50}


def endpoint(base_url: str, **changes: object) -> EndpointSettings:
    """The shipped settings with short deadlines."""
    short = {
        "connect_timeout_s": 2.0,
        "first_byte_timeout_s": 2.0,
        "total_timeout_s": 4.0,
        "max_retries": 3,
        "retry_budget_s": 5.0,
    }
    return EndpointSettings(**{**DEFAULTS, **short, "base_url": base_url, "model": MODEL, **changes})


def chat_reply(*texts: str | None, finish: str | None = "stop", **message: object) -> dict[str, object]:
    choices = [
        {
            "index": i,
            "message": {"role": "assistant", "content": text, **message},
            "finish_reason": finish,
        }
        for i, text in enumerate(texts)
    ]
    return {"object": "chat.completion", "choices": choices, "usage": {"completion_tokens": 7 * len(texts)}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def chat_server(
    chat: Handler, *, models: Handler | None = None, port: int | None = None
) -> AsyncIterator[str]:
    """Serve until the block ends, then drop every connection at once. Yields the base URL."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    if models is not None:
        app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    port = port or free_port()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_server(handler: RawHandler) -> AsyncIterator[str]:
    """Serve bare TCP connections, to break HTTP in ways that a web framework would not."""
    handlers: list[asyncio.Task[None]] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.ensure_future(handle(reader, writer)))

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.close()
        await asyncio.gather(*handlers)
