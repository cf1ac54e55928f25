"""An OpenAI-compatible server that only waits: 20 ms per request and 2 ms per choice, however many at once.

It listens on loopback, prints its port, and ends when its standard input closes, so with its parent.
"""

from __future__ import annotations

import asyncio
import sys

import orjson
from aiohttp import web

REQUEST_S = 0.020
CHOICE_S = 0.002
MODEL = "stub"
_TEXT = "I would first find how many of them there are in one box, and then multiply by the boxes. " * 5


async def _chat(request: web.Request) -> web.Response:
    n = orjson.loads(await request.read()).get("n") or 1
    await asyncio.sleep(REQUEST_S + CHOICE_S * n)
    message = {"role": "assistant", "content": _TEXT}
    reply = {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": i, "message": message, "finish_reason": "stop"} for i in range(n)],
        "usage": {"prompt_tokens": 500, "completion_tokens": 100 * n, "total_tokens": 500 + 100 * n},
    }
    return web.Response(body=orjson.dumps(reply), content_type="application/json")


async def _serve() -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _chat)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve())
