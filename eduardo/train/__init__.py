"""Training: `python -m eduardo.train`. Composes, checks, starts what is needed, and watches verl train."""

from eduardo.train.command import main

__all__ = ["main"]
