"""One OpenAI-compatible server for the simulated student and the simulated judge.

Stateless and seeded: the reply is a function of the request body alone, so a repeated request repeats its
reply. Errors have OpenAI's shape. Tokens are counted as words and punctuation marks.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from eduardo.classroom.faults import FaultInjector, FaultKind, FaultPlan
from eduardo.classroom.wire import ApiError, Brain, ChatRequest, count_tokens, parse, request_key, sample

TOKENS_PER_MESSAGE = 4  # role and delimiters, as chat templates add them
FALLBACK_MAX_TOKENS = 4096  # for requests that state no limit
MAX_BODY_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    max_model_len: int  # tokens of prompt and reply together
    api_key: str | None  # bearer key, or None for an open server
    admin: bool  # whether loopback clients may set faults while the server runs


class ClassroomServer:
    """Routes and state of the server; `app()` gives the aiohttp application."""

    def __init__(self, brains: Mapping[str, Brain], settings: ServerSettings, faults: FaultPlan) -> None:
        self.brains = dict(brains)
        self.settings = settings
        self.faults = FaultInjector(faults)
        self.num_requests = 0
        self.started_s = int(time.time())

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._errors_as_json], client_max_size=MAX_BODY_BYTES)
        app.router.add_get("/health", self._health)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        if self.settings.admin:
            app.router.add_get("/admin/faults", self._get_faults)
            app.router.add_put("/admin/faults", self._set_faults)
        return app

    @web.middleware
    async def _errors_as_json(self, request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            if request.path.startswith("/v1/"):
                self._check_key(request)
            elif request.path.startswith("/admin/"):
                _check_loopback(request)
                self._check_key(request)
            return await handler(request)  # type: ignore[no-any-return]
        except ApiError as error:
            return _json(error.body, status=error.status)
        except web.HTTPException as error:
            refusal = ApiError(
                error.status, f"{request.method} {request.path}: {error.reason}", kind="invalid_request_error"
            )
            return _json(refusal.body, status=error.status)

    def _check_key(self, request: web.Request) -> None:
        key = self.settings.api_key
        given = request.headers.get("Authorization", "")
        if key is not None and not hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
            raise ApiError(
                401, "missing or wrong bearer key", kind="authentication_error", code="invalid_api_key"
            )

    async def _health(self, request: web.Request) -> web.Response:
        return _json({"status": "ok", "num_requests": self.num_requests})

    async def _models(self, request: web.Request) -> web.Response:
        cards = [
            {
                "id": name,
                "object": "model",
                "created": self.started_s,
                "owned_by": "eduardo-classroom",
                "max_model_len": self.settings.max_model_len,
            }
            for name in self.brains
        ]
        return _json({"object": "list", "data": cards})

    async def _get_faults(self, request: web.Request) -> web.Response:
        plan = self.faults.plan.model_dump(mode="json")
        counts = {str(kind): count for kind, count in self.faults.num_injected.items()}
        return _json({"plan": plan, "num_drawn": self.faults.num_drawn, "num_injected": counts})

    async def _set_faults(self, request: web.Request) -> web.Response:
        self.faults = FaultInjector(parse(FaultPlan, await request.read()))
        return await self._get_faults(request)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.num_requests += 1
        chat = parse(ChatRequest, await request.read())
        if chat.model not in self.brains:
            served = ", ".join(self.brains)
            message = f"the model {chat.model!r} does not exist; served here: {served}"
            raise ApiError(404, message, kind="NotFoundError", code="model_not_found", param="model")
        num_prompt_tokens = self._check_length(chat)
        fault = self.faults.draw(chat.model)
        if fault is FaultKind.SLOW:
            await asyncio.sleep(self.faults.plan.slow_s)
        reply = orjson.dumps(self._complete(chat, num_prompt_tokens))
        if fault is not None and fault is not FaultKind.SLOW:
            return await self._fail(request, fault, reply)
        return web.Response(body=reply, content_type="application/json")

    def _check_length(self, chat: ChatRequest) -> int:
        num_prompt_tokens = sum(count_tokens(m.text) + TOKENS_PER_MESSAGE for m in chat.messages)
        needed = num_prompt_tokens + (chat.token_limit or 1)
        if needed > self.settings.max_model_len:
            message = (
                f"{num_prompt_tokens} prompt tokens and {chat.token_limit or 1} for the reply "
                f"exceed the model's maximum context length of {self.settings.max_model_len} tokens"
            )
            raise ApiError(
                400, message, kind="BadRequestError", code="context_length_exceeded", param="messages"
            )
        return num_prompt_tokens

    def _complete(self, chat: ChatRequest, num_prompt_tokens: int) -> dict[str, Any]:
        limit = chat.token_limit or FALLBACK_MAX_TOKENS
        choices, num_tokens = [], 0
        for index in range(chat.n):
            text, length, finish = sample(self.brains[chat.model], chat, index=index, max_tokens=limit)
            num_tokens += length
            message = {"role": "assistant", "content": text}
            choices.append({"index": index, "message": message, "finish_reason": finish, "logprobs": None})
        usage = {
            "prompt_tokens": num_prompt_tokens,
            "completion_tokens": num_tokens,
            "total_tokens": num_prompt_tokens + num_tokens,
        }
        return {
            "id": f"chatcmpl-{request_key(chat)}",
            "object": "chat.completion",
            "created": self.started_s,
            "model": chat.model,
            "choices": choices,
            "usage": usage,
        }

    async def _fail(self, request: web.Request, fault: FaultKind, reply: bytes) -> web.StreamResponse:
        if fault is FaultKind.THROTTLE:
            headers = {"Retry-After": f"{self.faults.plan.retry_after_s:g}"}
            error = ApiError(429, "too many requests", kind="rate_limit_error", code="rate_limit_exceeded")
            return _json(error.body, status=429, headers=headers)
        if fault is FaultKind.SERVER_ERROR:
            return _json(ApiError(500, "internal error", kind="InternalServerError").body, status=500)
        if fault is FaultKind.GARBAGE:
            return web.Response(text="<html><body>Bad gateway?", content_type="text/html")
        if fault is FaultKind.EMPTY:
            return _json({**orjson.loads(reply), "choices": []})
        if fault is FaultKind.BLANK:
            blank = orjson.loads(reply)
            for choice in blank["choices"]:
                choice["message"]["content"] = None
                choice["finish_reason"] = "stop"
            return _json(blank)
        response = web.StreamResponse(headers={"Content-Length": str(len(reply))})
        if fault is FaultKind.HALF_BODY:
            await response.prepare(request)
            await response.write(reply[: len(reply) // 2])
        if request.transport is not None:
            request.transport.close() if fault is FaultKind.HALF_BODY else request.transport.abort()
        return response


def _check_loopback(request: web.Request) -> None:
    try:
        is_loopback = ipaddress.ip_address(request.remote or "").is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ApiError(403, "faults can be set from this machine only", kind="permission_error")


def _json(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        body=orjson.dumps(body), status=status, headers=headers, content_type="application/json"
    )
