"""One line per failure: what happened where, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yarl import URL

from eduardo.llm.faults import Failure, Fault, FaultKind
from eduardo.llm.replies import ServedModel
from eduardo.settings import EndpointSettings

# The words of vLLM, OpenAI, SGLang and llama.cpp for a prompt that does not fit.
_CONTEXT_WORDS = re.compile(
    r"context.?(length|window|size)|max_model_len|too many tokens|input.*too long", re.IGNORECASE
)


def unavailable(url: URL, settings: EndpointSettings, failure: Failure, *, config_key: str) -> str:
    fault = failure.fault
    if fault.kind is FaultKind.UNREACHABLE:
        head = f"{fault.detail} at {url} (for model {settings.model!r})"
        serve = f"vllm serve {settings.model} --port {url.port} --generation-config vllm"
        todo = f"start it ({serve}) or set {config_key}.base_url"
    else:
        head = f"no usable answer from {url} for model {settings.model!r} (last: {_described(fault)})"
        todo = "look into the server's log"
    return f"{head}; tries: {failure.num_tries} in {failure.elapsed_s:.1f} s; {todo}"


def rejected(
    url: URL, settings: EndpointSettings, fault: Fault, served: Sequence[ServedModel], *, config_key: str
) -> str:
    todo = _remedy(settings, fault, served, config_key)
    return f"{url} refuses model {settings.model!r} ({_described(fault)}); {todo}"


def not_served(
    url: URL, settings: EndpointSettings, served: Sequence[ServedModel], *, config_key: str
) -> str:
    return f"{url} does not serve model {settings.model!r}; {_pick_model(served, config_key)}"


def context_too_short(url: URL, settings: EndpointSettings, context_tokens: int, needed_tokens: int) -> str:
    return (
        f"{url} serves model {settings.model!r} with a context of {context_tokens} tokens, but "
        f"{needed_tokens} are needed; start it with --max-model-len {needed_tokens} or more, "
        "or lower the recipe's token limits"
    )


def _described(fault: Fault) -> str:
    return f"HTTP {fault.status}: {fault.detail}" if fault.status is not None else fault.detail


def _remedy(settings: EndpointSettings, fault: Fault, served: Sequence[ServedModel], config_key: str) -> str:
    if fault.status is None:
        return f"check {config_key}.base_url"
    if fault.status in (401, 403):
        if settings.api_key_env is not None:
            return f"check the key in environment variable {settings.api_key_env}"
        if settings.api_key_file is not None:
            return f"check the key in {settings.api_key_file}"
        return f"name the variable that holds its key in {config_key}.api_key_env"
    if 300 <= fault.status < 400:
        return f"put that address into {config_key}.base_url"
    if fault.status == 404:
        return _pick_model(served, config_key)
    if _CONTEXT_WORDS.search(fault.detail):
        return "start the server with a larger --max-model-len or lower the recipe's token limits"
    return "the request itself is not accepted: check the recipe's limits and extra_body against the server"


def _pick_model(served: Sequence[ServedModel], config_key: str) -> str:
    if not served:
        return f"it lists no models: check that {config_key}.base_url ends in /v1"
    return f"set {config_key}.model to what it serves: {', '.join(card.name for card in served)}"
