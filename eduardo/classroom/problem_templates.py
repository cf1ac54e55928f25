"""Problem templates: read from `templates/*.yaml`, checked once, compiled for generation and recognition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eduardo.errors import UserError
from eduardo.settings import first_problem, read_yaml

_FOLDER = Path(__file__).with_name("templates")
_SLOT = re.compile(r"\{(\w+)\}")
_OPERATORS = frozenset("+-*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """One named step, `quantity = left operator right`; operands are slots, earlier steps or integers."""

    quantity: str
    left: str
    operator: str
    right: str


@dataclass(frozen=True, kw_only=True)
class Story:
    """One surface of a template: text with `{slots}` for numbers."""

    text: str

    @cached_property
    def anchor(self) -> str:
        """The longest stretch without a number: a cheap test of whether the story can occur in a text."""
        return max(_SLOT.split(self.text)[::2], key=len)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        literals, slots = _SLOT.split(self.text)[::2], _SLOT.findall(self.text)
        parts = [re.escape(literals[0])]
        seen: set[str] = set()
        for slot, literal in zip(slots, literals[1:], strict=True):
            parts.append(f"(?P={slot})" if slot in seen else rf"(?<!\d)(?P<{slot}>\d{{1,5}})(?!\d)")
            parts.append(re.escape(literal))
            seen.add(slot)
        return re.compile("".join(parts))

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(_SLOT.findall(self.text))


@dataclass(frozen=True, kw_only=True)
class Template:
    """One solution structure with several surface stories.

    `ease` in [0, 1] is the chance that the simulated student solves such a problem cold, before the
    problem's own numbers shift it.
    """

    id: str
    topic: str
    split: Literal["train", "test"]
    ease: float
    numbers: Mapping[str, range]
    steps: tuple[StepPlan, ...]
    stories: tuple[Story, ...]


class _Entry(BaseModel):
    """One template as written in a file."""

    model_config = ConfigDict(extra="forbid")
    id: str
    split: Literal["train", "test"]
    ease: Annotated[float, Field(ge=0, le=1)]
    numbers: dict[str, Annotated[list[int], Field(min_length=2, max_length=3)]]
    steps: Annotated[dict[str, str], Field(min_length=2)]
    stories: Annotated[list[str], Field(min_length=2)]


@lru_cache(maxsize=1)
def all_templates() -> tuple[Template, ...]:
    """Every template, in file and entry order. Raises UserError on a malformed file."""
    templates = [t for path in sorted(_FOLDER.glob("*.yaml")) for t in read_templates(path)]
    ids = [t.id for t in templates]
    for doubled in {i for i in ids if ids.count(i) > 1}:
        raise UserError(f"{_FOLDER}: template id {doubled!r} is used twice; ids must be unique")
    return tuple(templates)


def read_templates(path: Path) -> list[Template]:
    """Templates of one file; the file's stem is their topic."""
    return [_template(entry, path) for entry in read_yaml(path, list[dict[str, Any]])]


def _template(raw: Mapping[str, Any], path: Path) -> Template:
    where = f"{path.name}, template {raw.get('id')!r}"
    try:
        entry = _Entry.model_validate(raw)
    except ValidationError as error:
        raise UserError(f"{where}: {first_problem(error)}") from error
    known = set(entry.numbers)
    steps: list[StepPlan] = []
    for quantity, expression in entry.steps.items():
        steps.append(_step(quantity, expression, known, where))
        known.add(quantity.replace(" ", "_"))
    stories = tuple(Story(text=text) for text in entry.stories)
    for story in stories:
        if story.slots != set(entry.numbers):
            raise UserError(
                f"{where}: a story must show exactly the numbers {sorted(entry.numbers)}: {story.text!r}"
            )
    quantities = list(entry.steps)
    for one in quantities:
        if any(one != other and f" {one} " in f" {other} " for other in quantities):
            raise UserError(
                f"{where}: quantity {one!r} is part of another one's name, so it could not be told apart"
            )
    numbers = {name: range(low, high + 1, *step) for name, (low, high, *step) in entry.numbers.items()}
    return Template(
        id=entry.id, topic=path.stem, split=entry.split, ease=entry.ease,
        numbers=numbers, steps=tuple(steps), stories=stories,
    )  # fmt: skip


def _step(quantity: str, expression: str, known: set[str], where: str) -> StepPlan:
    tokens = expression.split()
    if len(tokens) != 3 or tokens[1] not in _OPERATORS:
        raise UserError(f"{where}: step {quantity!r} must read 'left operator right', got {expression!r}")
    for operand in (tokens[0], tokens[2]):
        if operand not in known and not operand.isdigit():
            raise UserError(
                f"{where}: step {quantity!r} uses {operand!r}, which no number or earlier step defines"
            )
    return StepPlan(quantity=quantity, left=tokens[0], operator=tokens[1], right=tokens[2])
