"""Who is taught: the classroom's student, plain or in a persona, or another model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.errors import UserError
from eduardo.personas import PLAIN, persona_names, persona_text
from eduardo.settings import EndpointSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentSpec:
    name: str
    persona: str
    base_url: str | None = None  # None: the classroom's own student
    model: str = ""

    @property
    def is_other_model(self) -> bool:
        """Its cold solve rates are not those of the data file."""
        return self.base_url is not None

    def endpoint(self, classroom_student: EndpointSettings) -> EndpointSettings:
        """Deadlines, key and concurrency are those of the classroom's student."""
        if self.base_url is None:
            return classroom_student
        return classroom_student.model_copy(update={"base_url": self.base_url, "model": self.model})


def read_students(texts: Sequence[str]) -> list[StudentSpec]:
    """The pool that was asked for; all personas, the plain one first, when nothing was. Raises UserError."""
    specs = [_parse(text) for text in texts or persona_names()]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise UserError(f"two students have the same name: {', '.join(names)}")
    return specs


def _parse(text: str) -> StudentSpec:
    """A persona's name, `NAME=URL#MODEL`, or `NAME=URL#MODEL+PERSONA`."""
    name, is_model, target = text.partition("=")
    if not is_model:
        persona_text(name)
        return StudentSpec(name=name, persona=name)
    url, _, served = target.partition("#")
    model, _, persona = served.partition("+")
    if not re.fullmatch(r"[\w.-]+", name) or not url.startswith(("http://", "https://")) or not model:
        raise UserError(
            f"--student {text!r}: write a persona ({', '.join(persona_names())}), NAME=URL#MODEL or "
            "NAME=URL#MODEL+PERSONA"
        )
    persona_text(persona or PLAIN)
    return StudentSpec(name=name, persona=persona or PLAIN, base_url=url, model=model)
