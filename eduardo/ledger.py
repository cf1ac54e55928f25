"""Token ids, loss mask and rollout log-probabilities of one dialogue. Append-only: ids are never re-encoded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eduardo.chat_template import ChatTemplate
from eduardo.types import Message


class TokenLedger:
    """The training view of a dialogue.

    `response_ids`, `response_mask` and `response_logprobs` always have the same length, at most
    `max_response_tokens`. The mask is 1 exactly on sampled tokens (the policy's own end-of-turn token included)
    and log-probabilities are those of the rollout there, 0.0 elsewhere.
    """

    def __init__(
        self, template: ChatTemplate, messages: Sequence[Message], *, max_response_tokens: int
    ) -> None:
        self._template = template
        self._max_response_tokens = max_response_tokens
        self.prompt_ids: list[int] = template.encode_prompt(messages)
        self.response_ids: list[int] = []
        self.response_mask: list[int] = []
        self.response_logprobs: list[float] = []
        self.num_sampled = 0

    @property
    def ids(self) -> list[int]:
        """What the policy is conditioned on next."""
        return self.prompt_ids + self.response_ids

    @property
    def room(self) -> int:
        """Tokens that may still be added."""
        return self._max_response_tokens - len(self.response_ids)

    def add_sampled(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Append one sampled turn exactly as the server generated it."""
        if len(ids) != len(logprobs):
            raise ValueError(f"{len(ids)} sampled ids but {len(logprobs)} log-probabilities")
        if len(ids) > self.room:
            raise ValueError(f"{len(ids)} sampled ids do not fit into the {self.room} tokens left")
        if not all(math.isfinite(p) and p <= 0.0 for p in logprobs):
            raise ValueError("a rollout log-probability is positive or not finite")
        self.response_ids += ids
        self.response_mask += [1] * len(ids)
        self.response_logprobs += logprobs
        self.num_sampled += len(ids)

    def add_user_turn(self, text: str) -> bool:
        """Append a student turn and the next generation prompt. False, and nothing added, when that leaves no
        room for at least one sampled token."""
        last = self.response_ids[-1] if self.response_ids else None
        ids = self._template.encode_user_turn(text, after_id=last)
        if len(ids) >= self.room:
            return False
        self.response_ids += ids
        self.response_mask += [0] * len(ids)
        self.response_logprobs += [0.0] * len(ids)
        return True

    def check(self) -> None:
        """Assert the invariants that training rests on; called on every dialogue, not only in tests."""
        lengths = {len(self.response_ids), len(self.response_mask), len(self.response_logprobs)}
        if len(lengths) != 1:
            raise AssertionError(f"ids, mask and log-probabilities differ in length: {sorted(lengths)}")
        if sum(self.response_mask) != self.num_sampled:
            raise AssertionError(
                f"the mask covers {sum(self.response_mask)} tokens, {self.num_sampled} were sampled"
            )
        if len(self.response_ids) > self._max_response_tokens:
            raise AssertionError("the dialogue is longer than its token budget")
