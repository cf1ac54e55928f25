"""What tokens cost, where the user says so."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eduardo.llm import TokenUsage
from eduardo.settings import Settings

Price = Annotated[float, Field(ge=0)] | None  # per million tokens


class Prices(Settings):
    rewriter_prompt: Price
    rewriter_completion: Price
    student_prompt: Price
    student_completion: Price

    def cost(self, rewriter: TokenUsage, student: TokenUsage) -> float | None:
        """In the currency of the prices; None when none is set. A price that is not set counts as 0."""
        items = [
            (self.rewriter_prompt, rewriter.prompt_tokens),
            (self.rewriter_completion, rewriter.completion_tokens),
            (self.student_prompt, student.prompt_tokens),
            (self.student_completion, student.completion_tokens),
        ]
        if all(price is None for price, _ in items):
            return None
        return sum((price or 0.0) * tokens / 1e6 for price, tokens in items)
