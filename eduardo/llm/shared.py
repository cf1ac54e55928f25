"""One client per event loop and endpoint, so that all its users share one concurrency limit."""

from __future__ import annotations

import asyncio

from eduardo.llm.client import ChatClient
from eduardo.settings import EndpointSettings

_clients: dict[tuple[asyncio.AbstractEventLoop, str], ChatClient] = {}


def shared_client(settings: EndpointSettings) -> ChatClient:
    """The client of the running loop for these settings, made on first use.

    Call it inside a running loop, and `await close_shared_clients()` before that loop ends.
    """
    loop = asyncio.get_running_loop()
    for key in [key for key in _clients if key[0].is_closed()]:
        del _clients[key]
    key = (loop, settings.model_dump_json())
    if key not in _clients or _clients[key].closed:
        _clients[key] = ChatClient(settings)
    return _clients[key]


async def close_shared_clients() -> None:
    """Close every shared client of the running loop."""
    loop = asyncio.get_running_loop()
    for key in [key for key in _clients if key[0] is loop]:
        await _clients.pop(key).close()
