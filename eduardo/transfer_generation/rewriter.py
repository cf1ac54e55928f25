"""The rewriter: an LLM behind a chat endpoint that writes variants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from eduardo.answers import extract_final_answer
from eduardo.control_tokens import escaped
from eduardo.json_reply import Found, SchemaClient, as_text, find_objects, response_format
from eduardo.llm import ChatClient, Completion
from eduardo.templates import render
from eduardo.transfer_generation.outcome import Draft, Reason, Round
from eduardo.transfer_generation.settings import RewriteSettings
from eduardo.transfer_generation.source import SourceProblem
from eduardo.types import FinishReason, Message

# The answer comes last, so that a reply that was cut can not look finished.
RESPONSE_FORMAT = response_format(
    "variant", {field: {"type": "string"} for field in ("refusal", "problem", "solution", "answer")}
)

Reply: TypeAlias = Draft | tuple[Reason, str]
"""A variant, or why there is none."""


class Rewriter:
    def __init__(self, client: ChatClient, settings: RewriteSettings) -> None:
        self._settings = settings
        self._client = SchemaClient(client, RESPONSE_FORMAT, settings.structured_output, role="rewriter")

    async def write(
        self, source: SourceProblem, *, taken: Sequence[Draft], refused: Sequence[Round], seed: int
    ) -> Reply:
        """A variant that differs from those `taken` and answers to why others were `refused`.

        Raises EndpointError when the endpoint gives no reply at all.
        """
        completions = await self._client.complete(
            rewriter_view(source, taken=taken, refused=refused),
            n=1,
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            seed=seed,
        )
        return read_draft(completions[0])


def rewriter_view(
    source: SourceProblem, *, taken: Sequence[Draft] = (), refused: Sequence[Round] = ()
) -> list[Message]:
    """The rewriter's chat. Problems stand in it as JSON, one to a line; `source_in` reads the first one back."""
    about = {"problem": source.problem.text, "answer": source.problem.answer}
    if source.solution is not None:
        about["solution"] = source.solution
    user = render(
        "rewriter_request",
        source_json=_line(about),
        taken_json="\n".join(_line({"problem": one.problem}) for one in taken),
        refused_json="\n".join(map(_refusal, refused)),
    )
    return [{"role": "system", "content": render("rewriter_system")}, {"role": "user", "content": user}]


def source_in(messages: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """What `rewriter_view` says about the source problem, or None for another chat."""
    if not messages or messages[0]["content"] != render("rewriter_system"):
        return None
    about: dict[str, str] = json.loads(messages[-1]["content"].split("\n", 2)[1])
    return about


def read_draft(completion: Completion) -> Reply:
    """The last variant in a reply outside its thinking."""
    if (
        completion.finish is FinishReason.OTHER
    ):  # a filter of content; what an engine gave up is no completion
        return Reason.ENDPOINT_REFUSED, "the endpoint cut the reply off"
    if completion.finish is FinishReason.LENGTH:
        return Reason.UNREADABLE, "the reply was longer than rewrite.max_tokens"
    found: list[Found[Reply]] = find_objects(completion.text or "", _read, last_field="answer")
    if not found:
        return Reason.UNREADABLE, "no object with a problem and an answer in the reply"
    return found[-1].value


def _read(value: dict[str, object]) -> Reply | None:
    problem, answer, refusal = (as_text(value.get(name)).strip() for name in ("problem", "answer", "refusal"))
    if problem and answer:
        return Draft(problem=problem, answer=_bare(answer))
    return (Reason.REFUSED, refusal) if refusal and not problem and not answer else None


def _bare(answer: str) -> str:
    """The content of a box, where the answer came in one."""
    return (extract_final_answer(answer) or answer) if "\\boxed" in answer else answer


def _refusal(one: Round) -> str:
    tried = {"problem": one.draft.problem, "answer": one.draft.answer} if one.draft else {}
    reason = f"{one.reason}: {one.detail}" if one.detail else f"{one.reason}"
    return _line({**tried, "turned_down_because": reason})


def _line(value: Mapping[str, str]) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))
