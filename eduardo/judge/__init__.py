"""The judge: an LLM behind a chat endpoint that votes on each criterion."""

from eduardo.judge.panel import Judge
from eduardo.judge.reply import read_vote

__all__ = ["Judge", "read_vote"]
