"""Who is evaluated: a checkpoint, an endpoint, a scripted probe, or a control."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from eduardo.chat_template import ChatTemplate
from eduardo.classroom.probes import PROBES, Probe
from eduardo.dialogue import Tutor
from eduardo.errors import UserError
from eduardo.evaluation.settings import ServingSettings, TutorSettings
from eduardo.ledger import TokenLedger
from eduardo.llm import ChatClient, shared_client
from eduardo.protocol import ThinkingMode
from eduardo.seeds import derive_seed
from eduardo.serving import vllm_server
from eduardo.settings import EndpointSettings
from eduardo.tutor import ChatTutor, Generation, TokenTutor
from eduardo.types import Message

_CHARACTERS_PER_TOKEN = 4  # an estimate, for endpoints whose tokenizer is not at hand


class TutorKind(StrEnum):
    CHECKPOINT = "checkpoint"  # a Hugging Face folder, served by vLLM
    ENDPOINT = "endpoint"  # any OpenAI-compatible chat endpoint
    PROBE = "probe"  # a scripted tutor of the embedded classroom
    CONTROL = "control"  # no tutor: one of the two controls


class Control(StrEnum):
    """What stands in for a tutor to show the floor and the ceiling of all figures."""

    UNTAUGHT = "untaught"  # no tutoring at all: the student takes the test after its own opener
    DISCLOSED = "disclosed"  # the student itself writes the whole solution


@dataclass(frozen=True, slots=True, kw_only=True)
class TutorSpec:
    name: str
    kind: TutorKind
    target: str  # folder, URL, probe or control
    model: str = ""  # served model name of an endpoint


class TutorFactory(Protocol):
    """Makes the tutor of one dialogue; `prompt` is the row's own, so that training and evaluation agree."""

    def __call__(self, prompt: list[Message], *, seed: int) -> Tutor: ...


def control_spec(name: str) -> TutorSpec:
    return TutorSpec(name=name, kind=TutorKind.CONTROL, target=Control(name).value)


def parse_tutor(text: str) -> TutorSpec:
    """`NAME=TARGET` or the name of a probe. TARGET is a folder, `URL#MODEL` or `probe:NAME`. Raises UserError."""
    if text in PROBES:
        return TutorSpec(name=text, kind=TutorKind.PROBE, target=text)
    name, separator, target = text.partition("=")
    if not separator or not re.fullmatch(r"[\w.-]+", name) or not target:
        raise UserError(
            f"--tutor {text!r}: write NAME=TARGET, e.g. after=models/tiny (letters, digits, . _ - in NAME), "
            f"or a probe: {', '.join(sorted(PROBES))}"
        )
    if target.startswith("probe:"):
        probe = target.removeprefix("probe:")
        if probe not in PROBES:
            raise UserError(f"--tutor {text}: no probe {probe!r}; there are {', '.join(sorted(PROBES))}")
        return TutorSpec(name=name, kind=TutorKind.PROBE, target=probe)
    if target.startswith(("http://", "https://")):
        url, _, model = target.partition("#")
        if not model:
            raise UserError(f"--tutor {text}: name the served model after a hash, as in {url}#MODEL")
        return TutorSpec(name=name, kind=TutorKind.ENDPOINT, target=url, model=model)
    if not (Path(target) / "config.json").is_file():
        raise UserError(
            f"--tutor {text}: {target} holds no model (no config.json); merge a training checkpoint first"
        )
    return TutorSpec(name=name, kind=TutorKind.CHECKPOINT, target=target)


def check_names(specs: Sequence[TutorSpec], reserved: Sequence[str] = ()) -> None:
    """Every tutor has a folder of its own. Raises UserError when two have one name, or one that is taken."""
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise UserError(f"two tutors have the same name: {', '.join(names)}")
    for name in reserved:
        if name in names:
            raise UserError(f"--tutor {name}: this name is taken; name the tutor differently")


async def check_tutor(spec: TutorSpec, settings: TutorSettings) -> None:
    """Ask an endpoint for one token before the first dialogue. Raises EndpointError that says what to change."""
    if spec.kind is TutorKind.ENDPOINT:
        endpoint = _endpoint(settings, spec.target, spec.model)
        await shared_client(endpoint).check(config_key=f"--tutor {spec.name}")


@contextmanager
def running_tutor(spec: TutorSpec, settings: TutorSettings, log_dir: Path) -> Iterator[TutorFactory]:
    """Start what the tutor needs and stop it afterwards."""
    if spec.kind is TutorKind.PROBE:
        yield _probe_factory(spec, settings)
    elif spec.kind is TutorKind.ENDPOINT:
        yield endpoint_factory(spec, settings)
    else:
        with served_checkpoint(spec, settings.serving, log_dir) as server:
            yield checkpoint_factory(spec, settings, server.base_url)


def served_checkpoint(spec: TutorSpec, serving: ServingSettings, log_dir: Path) -> vllm_server.VllmServer:
    """A context manager: `vllm serve` with the tutor's folder under the tutor's name."""
    return vllm_server.start(
        Path(spec.target),
        names=[spec.name],
        log_file=log_dir / "vllm.log",
        timeout_s=serving.start_timeout_s,
        options=serving.options,
        env=serving.env,
    )


def load_template(folder: str, template_kwargs: Mapping[str, object] | None = None) -> ChatTemplate:
    """The chat template of a local model folder. Raises UserError when it cannot be used.

    A merged tutor's template has what it was rendered with in training as defaults; `template_kwargs` go before them.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: no tokenizer can be loaded: {str(error).splitlines()[0]}") from error
    return ChatTemplate(tokenizer, template_kwargs=template_kwargs)


def checkpoint_factory(spec: TutorSpec, settings: TutorSettings, base_url: str) -> TutorFactory:
    template = load_template(spec.target, settings.apply_chat_template_kwargs)
    endpoint = _endpoint(settings, base_url, spec.name)
    dialogue = settings.recipe.dialogue

    def make(prompt: list[Message], *, seed: int) -> Tutor:
        ledger = TokenLedger(template, prompt, max_response_tokens=dialogue.response_tokens)
        client = shared_client(endpoint)

        async def generate(ids: list[int], max_tokens: int) -> Generation:
            sampled = await client.complete_tokens(
                ids,
                max_tokens=max_tokens,
                temperature=settings.temperature,
                top_p=settings.top_p,
                seed=derive_seed(seed, "tutor", len(ids)),
                stop_token_ids=template.stop_ids,
            )
            return Generation(ids=sampled.ids, logprobs=sampled.logprobs, finish=sampled.finish)

        return TokenTutor(template, ledger, generate, turn_tokens=dialogue.tutor_turn_tokens)

    return make


def endpoint_factory(spec: TutorSpec, settings: TutorSettings) -> TutorFactory:
    endpoint = _endpoint(settings, spec.target, spec.model)
    dialogue = settings.recipe.dialogue
    tokenizer = settings.endpoint_tokenizer
    count_tokens = estimate_tokens if tokenizer is None else load_template(tokenizer).count_tokens

    def make(prompt: list[Message], *, seed: int) -> Tutor:
        client: ChatClient = shared_client(endpoint)
        return ChatTutor(
            client,
            prompt,
            thinking_mode=ThinkingMode(settings.endpoint_thinking),
            count_tokens=count_tokens,
            turn_tokens=dialogue.tutor_turn_tokens,
            response_tokens=dialogue.response_tokens,
            temperature=settings.temperature,
            seed=seed,
        )

    return make


def _probe_factory(spec: TutorSpec, settings: TutorSettings) -> TutorFactory:
    def make(prompt: list[Message], *, seed: int) -> Tutor:
        return Probe(PROBES[spec.target], end_tag=settings.recipe.dialogue.end_tag, seed=seed)

    return make


def _endpoint(settings: TutorSettings, base_url: str, model: str) -> EndpointSettings:
    return settings.tutor_endpoint.model_copy(update={"base_url": base_url, "model": model})


def estimate_tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
