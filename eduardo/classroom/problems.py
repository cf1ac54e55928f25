"""Simulated problems: near-transfer pairs from templates, and the way back from a text to its problem."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eduardo.classroom.problem_templates import Story, Template, all_templates
from eduardo.errors import UserError

_COMPUTE: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,  # exact: inexact divisions are refused before
}
_MAX_DRAWS = 100_000
_MAX_VALUE = 9_999  # at most four digits, so that a tiny model can copy every number


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One worked step, e.g. quantity 'total distance', expression '60 * 3', value 180."""

    quantity: str
    expression: str
    value: int

    def __str__(self) -> str:
        return f"{self.quantity} = {self.expression} = {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimProblem:
    """A problem whose structure is known. The last step's value is the answer."""

    template: Template
    text: str
    numbers: Mapping[str, int]
    steps: tuple[Step, ...]

    @property
    def answer(self) -> str:
        return str(self.steps[-1].value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimPair:
    """A source problem and its near-transfer variant: same template, other numbers and another story."""

    source: SimProblem
    variant: SimProblem

    @property
    def template(self) -> Template:
        return self.source.template


def templates(split: Literal["train", "test"] | None = None) -> tuple[Template, ...]:
    """All templates, or those of one split; no template is in both."""
    return tuple(t for t in all_templates() if split is None or t.split == split)


def generate_pair(rng: random.Random, template: Template) -> SimPair:
    """Draw a source and a variant that differ in story, numbers and answer."""
    first, second = rng.sample(template.stories, 2)
    source = generate_problem(rng, template, first)
    return SimPair(source=source, variant=generate_variant(rng, source, second))


def generate_variant(rng: random.Random, source: SimProblem, story: Story) -> SimProblem:
    """A problem of the same template that differs from `source` in numbers and answer."""
    for _ in range(_MAX_DRAWS):
        variant = generate_problem(rng, source.template, story)
        if variant.answer != source.answer and variant.numbers != source.numbers:
            return variant
    raise UserError(
        f"template {source.template.id!r} has too few number choices for a pair; widen its ranges"
    )


def generate_problem(rng: random.Random, template: Template, story: Story) -> SimProblem:
    """Draw numbers until every step is a whole number of 2 to 9999 that equals no other of the problem.

    Distinct numbers make it decidable whether a text gives a step away.
    """
    for _ in range(_MAX_DRAWS):
        numbers = {name: rng.choice(choices) for name, choices in template.numbers.items()}
        steps = _work_out(template, numbers)
        if steps is None:
            continue
        values = [step.value for step in steps]
        if len({*values, *numbers.values()}) == len(values) + len(set(numbers.values())):
            return SimProblem(
                template=template, text=story.text.format(**numbers), numbers=numbers, steps=steps
            )
    raise UserError(f"template {template.id!r} has no fitting numbers; change its ranges")


def recognise(text: str) -> SimProblem | None:
    """The generated problem that `text` contains (anywhere in it), or None. The first one, if several."""
    found = _recognise(text)
    return found[1] if found else None


@lru_cache(maxsize=8192)
def _recognise(text: str) -> tuple[int, SimProblem] | None:
    matches: list[tuple[int, SimProblem]] = []
    for anchor, story, template in _index():
        if anchor not in text:
            continue
        match = story.pattern.search(text)
        if match is None:
            continue
        numbers = {name: int(digits) for name, digits in match.groupdict().items()}
        steps = _work_out(template, numbers)
        if steps is not None:
            problem = SimProblem(template=template, text=match[0], numbers=numbers, steps=steps)
            matches.append((match.start(), problem))
    return min(matches, key=lambda found: found[0], default=None)


@lru_cache(maxsize=1)
def _index() -> tuple[tuple[str, Story, Template], ...]:
    return tuple(
        (story.anchor, story, template) for template in all_templates() for story in template.stories
    )


def notes(problem: SimProblem) -> str:
    """A worked solution for the tutor's eyes: one labelled line per step."""
    return "\n".join(f"step {index}: {step}" for index, step in enumerate(problem.steps, start=1))


def _work_out(template: Template, numbers: Mapping[str, int]) -> tuple[Step, ...] | None:
    """The worked steps, or None when one of them is not a whole number between 2 and 9999."""
    values = dict(numbers)
    steps: list[Step] = []
    for plan in template.steps:
        left, right = (values[name] if name in values else int(name) for name in (plan.left, plan.right))
        if plan.operator == "/" and (right == 0 or left % right):
            return None
        value = _COMPUTE[plan.operator](left, right)
        if not 2 <= value <= _MAX_VALUE:
            return None
        values[plan.quantity.replace(" ", "_")] = value
        steps.append(Step(quantity=plan.quantity, expression=f"{left} {plan.operator} {right}", value=value))
    return tuple(steps)
