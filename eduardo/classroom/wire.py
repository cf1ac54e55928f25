"""The part of OpenAI's chat protocol that the classroom speaks: requests, errors, lengths."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

import orjson
import xxhash
from pydantic import BaseModel, Field, ValidationError

Model = TypeVar("Model", bound=BaseModel)

Brain = Callable[[list[dict[str, str]], random.Random], str]  # messages, source of chance → reply

TOKEN = re.compile(r"\w+|[^\w\s]")


class _TextPart(BaseModel):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_TextPart]

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class _ResponseFormat(BaseModel):
    type: Literal["text", "json_object", "json_schema"]


class ChatRequest(BaseModel):
    """The fields that matter here; others that clients send are accepted and have no effect."""

    model: str
    messages: Annotated[list[_Message], Field(min_length=1)]
    n: Annotated[int, Field(ge=1, le=256)] = 1
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stream: Literal[False] | None = None
    response_format: _ResponseFormat | None = None

    @property
    def token_limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens


class ApiError(Exception):
    """Answered as `{"error": {...}}` with the given HTTP status."""

    def __init__(
        self, status: int, message: str, *, kind: str, code: str | None = None, param: str | None = None
    ):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def count_tokens(text: str) -> int:
    return len(TOKEN.findall(text))


def truncate(text: str, max_tokens: int) -> tuple[str, int, str]:
    """The text cut after `max_tokens` tokens, its length in tokens, and the finish reason."""
    for position, match in enumerate(TOKEN.finditer(text)):
        if position == max_tokens:
            return text[: match.start()].rstrip(), max_tokens, "length"
    return text, count_tokens(text), "stop"


def sample(brain: Brain, chat: ChatRequest, *, index: int, max_tokens: int) -> tuple[str, int, str]:
    """Choice `index` of a request: text, length in tokens, finish reason. A function of its arguments alone."""
    messages = [{"role": message.role, "content": message.text} for message in chat.messages]
    rng = random.Random(f"{request_key(chat)}/{0 if chat.temperature == 0 else index}")
    return truncate(brain(messages, rng), max_tokens)


def request_key(chat: ChatRequest) -> str:
    """A digest of all that may change the reply; `n` is left out so that more samples extend fewer."""
    parts = [chat.model, chat.temperature, chat.seed, [[m.role, m.text] for m in chat.messages]]
    return xxhash.xxh3_128_hexdigest(orjson.dumps(parts))


def parse(model: type[Model], body: bytes) -> Model:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"]) or None
        message = f"{param or 'body'}: {first['msg']}"
        raise ApiError(400, message, kind="BadRequestError", code="invalid_request", param=param) from None
