"""Tutors that generate: over token ids (training, served checkpoints) or over any chat endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from eduardo.chat_template import ChatTemplate
from eduardo.control_tokens import broken_up
from eduardo.dialogue import TutorReply
from eduardo.ledger import TokenLedger
from eduardo.llm import ChatClient, require_whole
from eduardo.protocol import ThinkingMode
from eduardo.seeds import derive_seed
from eduardo.types import FinishReason, Message, Speaker, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    ids: Sequence[int]  # sampled ids, a sampled end-of-turn token included
    logprobs: Sequence[float]  # of the rollout policy, one per id
    finish: FinishReason


Generate = Callable[[list[int], int], Awaitable[Generation]]
"""(prompt ids, max new tokens) → one generation. Raises EndpointError."""


class TokenTutor:
    """A tutor that keeps the token ledger of its dialogue. One instance holds one dialogue."""

    def __init__(
        self, template: ChatTemplate, ledger: TokenLedger, generate: Generate, *, turn_tokens: int
    ) -> None:
        self._template, self._ledger, self._generate = template, ledger, generate
        self._turn_tokens = turn_tokens

    @property
    def thinking_mode(self) -> ThinkingMode:
        return self._template.thinking_mode

    def count_tokens(self, text: str) -> int:
        return self._template.count_tokens(text)

    async def reply(self, transcript: Transcript) -> TutorReply | None:
        """Append the student's last turn to the ledger and sample the next tutor turn."""
        if len(transcript.turns) > 1 and not self._ledger.add_user_turn(transcript.turns[-1].text):
            return None
        room = min(self._turn_tokens, self._ledger.room)
        generation = await self._generate(self._ledger.ids, room)
        require_whole(generation.finish, whose="tutor")
        self._ledger.add_sampled(generation.ids, generation.logprobs)
        return TutorReply(raw=self._template.decode_reply(generation.ids), finish=generation.finish)


class ChatTutor:
    """A tutor behind an OpenAI-compatible chat endpoint, for models whose tokens are not ours to see.

    `count_tokens` measures lengths for the reward; pass the tutor's own tokenizer where there is one.
    """

    def __init__(
        self,
        client: ChatClient,
        prompt: Sequence[Message],
        *,
        thinking_mode: ThinkingMode,
        count_tokens: Callable[[str], int],
        turn_tokens: int,
        response_tokens: int,
        temperature: float,
        seed: int,
    ) -> None:
        self._client, self._prompt = client, list(prompt)
        self._thinking_mode, self._count_tokens = thinking_mode, count_tokens
        self._turn_tokens, self._response_tokens = turn_tokens, response_tokens
        self._temperature, self._seed = temperature, seed

    @property
    def thinking_mode(self) -> ThinkingMode:
        return self._thinking_mode

    def count_tokens(self, text: str) -> int:
        return self._count_tokens(text)

    async def reply(self, transcript: Transcript) -> TutorReply | None:
        used = sum(self._count_tokens(turn.raw or turn.text) for turn in transcript.turns[1:])
        room = min(self._turn_tokens, self._response_tokens - used)
        if room <= 0:
            return None
        completions = await self._client.complete(
            broken_up(self._prompt + [_as_message(t.speaker, t.text) for t in transcript.turns[1:]]),
            temperature=self._temperature,
            max_tokens=room,
            seed=derive_seed(self._seed, "tutor", len(transcript.turns)),
        )
        reply = completions[0]
        require_whole(reply.finish, whose="tutor")
        raw = reply.text or ""
        if reply.reasoning:
            closed = reply.text is not None or reply.finish is FinishReason.STOP
            raw = f"<think>{reply.reasoning}</think>{raw}" if closed else f"<think>{reply.reasoning}"
        return TutorReply(raw=raw, finish=reply.finish)


def _as_message(speaker: Speaker, text: str) -> Message:
    return {"role": "assistant" if speaker is Speaker.TUTOR else "user", "content": text}
