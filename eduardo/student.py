"""The frozen student: an LLM behind a chat endpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from eduardo.llm import Completer, Completion, require_whole
from eduardo.personas import PLAIN
from eduardo.protocol import ThinkingMode, split_thinking
from eduardo.settings import RecipeSettings
from eduardo.types import FinishReason, Message, Speaker, Transcript, Turn, TurnFault, TurnTokens
from eduardo.views import student_view


class TestTaker:
    """Takes tests. What a thinking model thinks is dropped."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting the class

    def __init__(self, client: Completer) -> None:
        self._client = client

    async def attempt(
        self, messages: list[Message], *, n: int, max_tokens: int, temperature: float, seed: int
    ) -> tuple[Completion, ...]:
        """`n` independent attempts from one request; fewer may come back. Raises EndpointError."""
        completions = await self._client.complete(
            messages, n=n, temperature=temperature, max_tokens=max_tokens, seed=seed
        )
        return tuple(replace(c, text=_visible(c)) for c in completions)


class Student(TestTaker):
    """Talks in the dialogue, as its persona would, and takes the tests. What a thinking student thinks is dropped."""

    def __init__(self, client: Completer, recipe: RecipeSettings, *, persona: str = PLAIN) -> None:
        super().__init__(client)
        self._settings, self._persona = recipe.dialogue, persona

    async def reply(self, transcript: Transcript, *, seed: int) -> Turn:
        """The next student turn. Raises EndpointError.

        An empty reply that ended normally is a turn without text: the student's silence, not a failure.
        """
        completions = await self._client.complete(
            student_view(transcript, persona=self._persona),
            temperature=self._settings.student_temperature,
            max_tokens=self._settings.student_turn_tokens,
            seed=seed,
        )
        return to_turn(completions[0])


def to_turn(completion: Completion) -> Turn:
    """What was said, without thinking. Raises EndpointUnavailable when the endpoint cut it off."""
    require_whole(completion.finish, whose="student")
    text = _visible(completion) or ""
    faults = []
    if completion.finish is FinishReason.LENGTH:
        faults.append(TurnFault.REPLY_TRUNCATED)
    if not text:
        faults.append(TurnFault.BLANK)
    return Turn(speaker=Speaker.STUDENT, text=text, faults=tuple(faults), tokens=_tokens(completion, text))


def _tokens(completion: Completion, text: str) -> TurnTokens | None:
    """Servers count thinking and reply together, so the length of a reply is known only without thinking."""
    thought_aloud = bool(completion.reasoning) or text != (completion.text or "").strip()
    if completion.num_tokens is None or thought_aloud:
        return None
    return TurnTokens(visible=completion.num_tokens)


def _visible(completion: Completion) -> str | None:
    if completion.text is None:
        return None
    return split_thinking(completion.text, ThinkingMode.OPTIONAL)[0]
