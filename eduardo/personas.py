"""Kinds of students: what is added to the student's own prompt in the dialogue, and never in a test.

A persona is a file `prompts/personas/NAME.txt`. A real LLM student reads it as an instruction; the simulated one
recognises the text and changes its behaviour.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from eduardo.errors import UserError
from eduardo.templates import render

PLAIN = "plain"  # the student as its prompt makes it, with nothing added


@cache
def persona_names() -> tuple[str, ...]:
    """All personas, `plain` first."""
    folder = files("eduardo").joinpath("prompts", "personas")
    found = sorted(path.name.removesuffix(".txt") for path in folder.iterdir() if path.name.endswith(".txt"))
    return (PLAIN, *found)


def persona_text(name: str) -> str:
    """What is added to the student's prompt; empty for `plain`. Raises UserError for an unknown name."""
    if name not in persona_names():
        raise UserError(f"no persona {name!r}; there are {', '.join(persona_names())}")
    return "" if name == PLAIN else render(f"personas/{name}")


def draw_persona(weights: Mapping[str, float], *, seed: int) -> str:
    """One name with a chance proportional to its weight; the same for the same seed and weights."""
    names = sorted(weights)
    return random.Random(seed).choices(names, [weights[name] for name in names])[0]
