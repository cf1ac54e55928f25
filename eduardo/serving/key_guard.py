"""ASGI middleware of `vllm serve`: nothing but /health answers without the key."""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

OPEN_PATHS = ("/health",)
_REFUSAL = b'{"error": {"message": "this server demands its API key", "type": "Unauthorized", "code": 401}}'


class KeyGuard:
    """Demands `Authorization: Bearer KEY` with the key of $VLLM_API_KEY on every path but /health."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app
        self._expected = f"Bearer {os.environ['VLLM_API_KEY']}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in OPEN_PATHS or self._has_key(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": _REFUSAL})

    def _has_key(self, scope: Scope) -> bool:
        return any(
            name == b"authorization" and hmac.compare_digest(value, self._expected)
            for name, value in scope["headers"]
        )
