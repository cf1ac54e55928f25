"""When a tutor gives something away: results and steps that the student had not said before."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from eduardo.classroom.language import Equation, Expression, Reading, mentions, parse_expression, read
from eduardo.classroom.problems import SimProblem


class TellKind(StrEnum):
    ANSWER = "answer"  # the value that the problem asks for
    VALUE = "value"  # the value of a step
    EXPRESSION = "expression"  # a calculation, right or wrong
    RESULT = "result"  # a stated result that belongs to no step: told all the same, only wrongly


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    kind: TellKind
    step: int | None  # index of the step that was told, None for a wrong one
    words: str


@dataclass(slots=True)
class Said:
    """What is public so far: words, numbers and calculations from the problem and from the student."""

    text: str = ""
    numbers: set[int] = field(default_factory=set)
    expressions: set[Expression] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)

    def add(self, reading: Reading) -> None:
        self.text += f" {reading.text}"
        self.numbers |= reading.numbers
        self.expressions |= reading.expressions
        self.methods |= reading.methods

    def mentions(self, phrase: str) -> bool:
        return mentions(self.text, phrase)


def said_in(problem_text: str) -> Said:
    """What is public before anybody spoke. Calculations in a problem's text stay to be done."""
    reading = read(problem_text)
    return Said(text=reading.text, numbers=set(reading.numbers), methods=set(reading.methods))


def find_tells(
    reading: Reading, said: Said, problem: SimProblem | None, answer: int | None = None
) -> list[Tell]:
    """What a tutor message gives away. For an unknown problem: its answer, and tells by their shape."""
    values = {step.value: index for index, step in enumerate(problem.steps)} if problem else {}
    last = len(problem.steps) - 1 if problem else None
    if answer is not None and problem is None:
        values[answer] = -1
    claimed = {c.value for c in reading.claims} | {e.value for e in reading.equations}
    tells: list[Tell] = []
    for value in sorted(reading.numbers - said.numbers):
        index = values.get(value)
        if index in (last, -1) and index is not None:
            tells.append(Tell(kind=TellKind.ANSWER, step=last, words=str(value)))
        elif index is not None:
            tells.append(Tell(kind=TellKind.VALUE, step=index, words=str(value)))
        elif value in claimed:
            tells.append(Tell(kind=TellKind.RESULT, step=None, words=str(value)))
    steps = expressions_of(problem) if problem else {}
    false = {e.ordered for e in reading.equations if not e.holds}
    for expression in sorted(reading.expressions - said.expressions):
        words = " ".join(map(str, expression))
        step = None if expression in false else steps.get(expression)
        tells.append(Tell(kind=TellKind.EXPRESSION, step=step, words=words))
    return tells


def expressions_of(problem: SimProblem) -> dict[Expression, int]:
    """Calculation → index of the step that it works out."""
    return {parse_expression(step.expression): index for index, step in enumerate(problem.steps)}


def steps_worked_out(reading: Reading, problem: SimProblem) -> set[int]:
    """Indices of the steps that a message works out: right calculation and right value."""
    steps = expressions_of(problem)
    found = {(steps.get(e.ordered), e.value) for e in reading.equations}
    return {index for index, value in found if index is not None and problem.steps[index].value == value}


def quantities(problem: SimProblem) -> list[str]:
    return [step.quantity for step in problem.steps]


def wrong_steps(reading: Reading, problem: SimProblem) -> set[int]:
    """Indices of the steps that a message gets wrong: another value, or a false sum, after their name."""
    found: set[int] = set()
    stated = [(e.label, e.value, e) for e in reading.equations] + [
        (c.subject, c.value, None) for c in reading.claims
    ]
    for label, value, equation in stated:
        for index, step in enumerate(problem.steps):
            if label.endswith(step.quantity) and (value != step.value or not _holds(equation)):
                found.add(index)
    return found


def _holds(equation: Equation | None) -> bool:
    return equation is None or equation.holds
