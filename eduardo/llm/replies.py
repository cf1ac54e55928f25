"""JSON replies of an OpenAI-compatible server → typed values."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from eduardo.errors import EndpointUnavailable
from eduardo.llm.faults import UnusableReplyError
from eduardo.llm.usage import TokenUsage
from eduardo.types import FinishReason

_EXCERPT_CHARS = 300
# vLLM ends a choice like this when the engine gave it up: an infrastructure fault, not an answer.
_GIVEN_UP = frozenset({"abort", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One choice. `text` is None when all tokens went into thinking; what else has no content is no completion."""

    text: str | None
    finish: FinishReason
    reasoning: str | None = None  # thinking that the server split off
    num_tokens: int | None = None  # sampled tokens, thinking included; None where the server tells only a sum


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCompletion:
    """One choice over token ids, exactly as sampled: an end-of-turn token included where one was."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]  # of the serving policy, one per id
    finish: FinishReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    name: str
    context_tokens: int | None  # None where the server does not tell


class _ChatMessage(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _ChatMessage
    index: int = 0
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _ChatReply(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Logprobs(msgspec.Struct):
    token_logprobs: list[float]


class _TokenChoice(msgspec.Struct):
    token_ids: list[int]
    logprobs: _Logprobs
    finish_reason: str | None = None


class _TokenReply(msgspec.Struct):
    choices: list[_TokenChoice]


class _ModelCard(msgspec.Struct):
    id: str
    max_model_len: int | None = None


class _ModelList(msgspec.Struct):
    data: list[_ModelCard]


_chat_decoder = msgspec.json.Decoder(_ChatReply)
_token_decoder = msgspec.json.Decoder(_TokenReply)
_models_decoder = msgspec.json.Decoder(_ModelList)


def decode_chat(body: bytes, *, n: int) -> tuple[Completion, ...]:
    """At most `n` completions in the server's order. Raises UnusableReplyError when there is none."""
    return decode_counted_chat(body, n=n)[0]


def decode_counted_chat(body: bytes, *, n: int) -> tuple[tuple[Completion, ...], TokenUsage]:
    """`decode_chat` with what the request cost; tokens that the server does not tell count as none."""
    try:
        reply = _chat_decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise UnusableReplyError(f"no chat completion ({error}): {excerpt(body)}") from error
    choices = [choice for choice in reply.choices if _is_answer(choice)]
    if not choices:
        raise UnusableReplyError(f"no finished choice with any content: {excerpt(body)}")
    choices.sort(key=lambda choice: choice.index)
    told = reply.usage or _Usage()
    tokens = told.completion_tokens if n == 1 else None
    usage = TokenUsage(
        num_requests=1,
        prompt_tokens=told.prompt_tokens or 0,
        completion_tokens=told.completion_tokens or 0,
    )
    return tuple(_to_completion(choice, tokens) for choice in choices[:n]), usage


def require_whole(finish: FinishReason, *, whose: str) -> None:
    """Raise EndpointUnavailable unless the model or the token limit ended the reply: the rest is a fragment."""
    if finish is FinishReason.OTHER:
        raise EndpointUnavailable(
            f"the {whose}'s endpoint cut the reply off: neither its end nor the token limit"
        )


def decode_tokens(body: bytes) -> TokenCompletion:
    """The only choice. Raises UnusableReplyError when it is missing, cut off by the server, or without ids."""
    try:
        choices = _token_decoder.decode(body).choices
    except msgspec.MsgspecError as error:
        raise UnusableReplyError(f"no token completion ({error}): {excerpt(body)}") from error
    if not choices or choices[0].finish_reason in _GIVEN_UP:
        raise UnusableReplyError(f"no finished choice: {excerpt(body)}")
    choice = choices[0]
    if len(choice.token_ids) != len(choice.logprobs.token_logprobs):
        raise UnusableReplyError("the reply holds a different number of log-probabilities than token ids")
    return TokenCompletion(
        ids=tuple(choice.token_ids),
        # A server rounds; a log-probability above 0 is that rounding.
        logprobs=tuple(min(0.0, p) for p in choice.logprobs.token_logprobs),
        finish=_finish(choice.finish_reason),
    )


def decode_models(body: bytes) -> tuple[ServedModel, ...]:
    try:
        cards = _models_decoder.decode(body).data
    except msgspec.MsgspecError as error:
        raise UnusableReplyError(f"no list of models ({error}): {excerpt(body)}") from error
    return tuple(ServedModel(name=card.id, context_tokens=card.max_model_len) for card in cards)


def excerpt(body: bytes) -> str:
    """What the server said, as one short line: an error object's message, else the text's beginning."""
    try:
        text = _error_message(msgspec.json.decode(body))
    except msgspec.MsgspecError:
        text = None
    text = re.sub(r"\s+", " ", text or body.decode(errors="replace")).strip()
    return text[:_EXCERPT_CHARS] + " ..." if len(text) > _EXCERPT_CHARS else text or "(empty body)"


def _is_answer(choice: _Choice) -> bool:
    """False for what the engine gave up, and for a message without content that no thinking accounts for.

    An empty string is silence. A missing content is silence only where thinking came back in its place, or may
    have used up all tokens out of sight.
    """
    message = choice.message
    if choice.finish_reason in _GIVEN_UP:
        return False
    parts = (message.content, message.reasoning_content, message.reasoning)
    return choice.finish_reason == FinishReason.LENGTH or any(part is not None for part in parts)


def _to_completion(choice: _Choice, num_tokens: int | None) -> Completion:
    message = choice.message
    return Completion(
        text=message.content,
        finish=_finish(choice.finish_reason),
        reasoning=message.reasoning_content or message.reasoning,
        num_tokens=num_tokens,
    )


def _finish(reason: str | None) -> FinishReason:
    try:
        return FinishReason(reason or "")
    except ValueError:
        return FinishReason.OTHER


def _error_message(reply: object) -> str | None:
    """The message in `{"error": {"message": …}}`, `{"error": …}`, `{"message": …}` or `{"detail": …}`."""
    while isinstance(reply, dict):
        reply = next((reply[key] for key in ("error", "message", "detail") if reply.get(key)), None)
    return reply if isinstance(reply, str) else None
