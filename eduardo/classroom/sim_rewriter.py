"""The simulated rewriter: variants of the classroom's own templates, bad ones at set rates, so that checks have work.

It does not know whether what it writes is any good, as little as a real one does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from eduardo.classroom import problems
from eduardo.classroom.problem_templates import Template
from eduardo.classroom.problems import SimProblem, recognise
from eduardo.classroom.sim_settings import RewriterParams
from eduardo.classroom.sim_student import solve
from eduardo.classroom.student_chat import read_chat
from eduardo.transfer_generation.rewriter import source_in
from eduardo.types import Message

_NOTHING_ASKED = "I see no problem to write a variant of, and none to solve."
_UNKNOWN = "I do not know this kind of problem."


def reply(messages: Sequence[Message], rng: random.Random, params: RewriterParams) -> str:
    """A variant as JSON, a refusal for a problem from no template, or a full solution where one is asked for."""
    about = source_in(messages)
    if about is not None:
        source = recognise(about["problem"])
        return _refuse() if source is None else _write(source, rng, params)
    chat = read_chat(messages)
    return solve(chat.posed, 1.0 - params.blind_error, rng) if chat.is_test else _NOTHING_ASKED


def _write(source: SimProblem, rng: random.Random, params: RewriterParams) -> str:
    mark = rng.random()
    if (mark := mark - params.near_copy) < 0:
        return _variant(f"{source.text} Explain.", problems.notes(source), source.answer)
    if (mark := mark - params.unreadable) < 0:
        return _fair(source, rng)[:-20]
    if (mark := mark - params.wrong_answer) < 0:
        return _fair(source, rng, slip=rng.randint(1, 9))
    if mark - params.other_structure < 0:
        return _fair(_other(source, rng), rng)
    return _fair(source, rng)


def _fair(source: SimProblem, rng: random.Random, *, slip: int = 0) -> str:
    """Another story of the same template with other numbers; `slip` is added to the answer that is stated."""
    stories = [story for story in source.template.stories if story.anchor not in source.text]
    variant = problems.generate_variant(rng, source, rng.choice(stories))
    return _variant(variant.text, problems.notes(variant), str(int(variant.answer) + slip))


def _other(source: SimProblem, rng: random.Random) -> SimProblem:
    """A problem of the template whose ease differs most."""
    template: Template = max(problems.templates(), key=lambda one: abs(one.ease - source.template.ease))
    return problems.generate_problem(rng, template, template.stories[0])


def _variant(problem: str, solution: str, answer: str) -> str:
    return _reply(refusal="", problem=problem, solution=solution, answer=answer)


def _refuse() -> str:
    return _reply(refusal=_UNKNOWN, problem="", solution="", answer="")


def _reply(**fields: str) -> str:
    return json.dumps(fields, ensure_ascii=False)
