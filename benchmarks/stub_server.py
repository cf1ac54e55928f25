"""An OpenAI-compatible server that only waits: 20 ms per request and 2 ms per choice, however many at once.

It listens on loopback, prints its port, and ends when its standard input closes, so with its parent. Asked for
the judge's model it accepts everything.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from aiohttp import web

REQUEST_S = 0.020
CHOICE_S = 0.002
MODEL, JUDGE_MODEL = "stub", "stub-judge"
_TEXT = "I would first find how many of them there are in one box, and then multiply by the boxes. " * 5
_VERDICT = '{"reasoning": "The student does the work.", "quote": "", "decision": "accept"}'


@contextmanager
def running_stub() -> Iterator[str]:
    """The base URL of a server in a process of its own that lives as long as the block."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


async def _chat(request: web.Request) -> web.Response:
    asked = orjson.loads(await request.read())
    n, model = asked.get("n") or 1, asked["model"]
    await asyncio.sleep(REQUEST_S + CHOICE_S * n)
    message = {"role": "assistant", "content": _VERDICT if model == JUDGE_MODEL else _TEXT}
    reply = {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": model,
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
