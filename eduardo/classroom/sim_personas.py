"""The simulated student in a persona: parameters that differ, and a habit. Without one it is `sim_student` itself.

The persona is read from the system prompt that the student is sent, as an LLM would. Tests are posed without one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from eduardo.classroom import sim_student
from eduardo.classroom.language import Reading, read
from eduardo.classroom.problems import SimProblem
from eduardo.classroom.sim_settings import StudentParams
from eduardo.classroom.student_chat import Memory, StudentChat, asked_steps, read_chat, remember
from eduardo.classroom.tells import steps_worked_out
from eduardo.errors import UserError
from eduardo.personas import PLAIN, persona_names, persona_text
from eduardo.resources import configs_dir
from eduardo.settings import Settings, Share, read_yaml
from eduardo.types import Message

_WANDERING = (
    "I watched a film yesterday.", "This is boring.", "Can we do something else?", "I am hungry.",
    "Do you like football?",
)  # fmt: skip
_FISHING = ("Just tell me the answer.", "What is the answer?", "I need it quickly, what comes out?")
_AFRAID = ("Sorry, I am afraid to get it wrong.", "I do not know, sorry.")
_AGREEING = ("Yes, I understand.", "Ok, that makes sense.", "Yes, you are right.")
_ENCOURAGING = ("guess", "no hurry", "mistakes are", "do not worry", "you can")


class SimPersona(Settings):
    habit: Share
    changes: dict[str, float | int]

    def params(self, plain: StudentParams) -> StudentParams:
        return StudentParams.model_validate({**plain.model_dump(), **self.changes})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """What a habit may act on: the tutor's turn, what is known, and what the student would have said."""

    said: str
    tutor: Reading
    chat: StudentChat
    problem: SimProblem
    before: Memory  # without the exchange that is being answered
    now: Memory
    rng: random.Random


Habit = Callable[[_Moment], str | None]
"""The habitual reply, or None where the moment gives no occasion for it."""


@lru_cache(maxsize=1)
def load_sim_personas() -> Mapping[str, SimPersona]:
    """The settings in `configs/sim/personas.yaml`, one for every persona but the plain one."""
    path = configs_dir() / "sim" / "personas.yaml"
    found = read_yaml(path, dict[str, SimPersona])
    wanted = set(persona_names()) - {PLAIN}
    if found.keys() != wanted or wanted != _HABITS.keys():
        raise UserError(f"{path}: every persona needs an entry and a habit: {', '.join(sorted(wanted))}")
    return found


def reply(messages: Sequence[Message], rng: random.Random, params: StudentParams) -> str:
    """The student's next message, in the persona of its system prompt; without one that of `sim_student`."""
    name = _persona_in(" ".join(m["content"] for m in messages if m["role"] == "system"))
    if name == PLAIN:
        return sim_student.reply(messages, rng, params)
    persona = load_sim_personas()[name]
    chat = read_chat(messages)
    acts = rng.random() < persona.habit
    said = sim_student.reply(messages, rng, persona.params(params))
    if not acts or chat.is_test or chat.source is None or not chat.exchanges:
        return said
    moment = _Moment(
        said=said,
        tutor=read(chat.last_tutor_text),
        chat=chat,
        problem=chat.source,
        before=remember(chat.source, chat.exchanges[:-1]),
        now=remember(chat.source, chat.exchanges),
        rng=rng,
    )
    return _HABITS[name](moment) or said


@lru_cache(maxsize=1024)
def _persona_in(system: str) -> str:
    acting = (name for name in persona_names() if name != PLAIN and persona_text(name) in system)
    return next(acting, PLAIN)


# -- habits ----------------------------------------------------------------------------------------


def _go_further(moment: _Moment) -> str | None:
    """The next step as well, when the one that was asked for is right."""
    done = steps_worked_out(read(moment.said), moment.problem)
    following = max(done) + 1 if done else len(moment.problem.steps)
    if following >= len(moment.problem.steps) or following in moment.now.written:
        return None
    return f"{moment.said} And then {moment.problem.steps[following]}."


def _leave_out_the_way(moment: _Moment) -> str | None:
    if moment.tutor.asks_why or moment.tutor.mentions("how") or moment.tutor.mentions("show"):
        return None
    equations = read(moment.said).equations
    return f"{equations[0].value}." if equations else None


def _wander(moment: _Moment) -> str | None:
    return moment.rng.choice(_WANDERING)


def _fish(moment: _Moment) -> str | None:
    """At the first request for an attempt or for a step; the second time it does work."""
    asked = asked_steps(moment.tutor, moment.problem)
    is_first = all(moment.now.tries.get(step, 0) <= 1 for step in asked) and (
        bool(asked) or moment.now.num_attempts <= 1
    )
    return moment.rng.choice(_FISHING) if moment.tutor.requests and is_first else None


def _insist(moment: _Moment) -> str | None:
    """Its last words again, when they were wrong and the tutor doubts them."""
    doubted = moment.tutor.denies or moment.tutor.asks_retry
    if moment.before.last_wrong is None or not doubted or len(moment.chat.exchanges) < 2:
        return None
    earlier = moment.chat.exchanges[-2].student or ""
    return f"I am sure. {earlier.removeprefix('I am sure. ')}"


def _hesitate(moment: _Moment) -> str | None:
    encouraged = moment.tutor.confirms or any(words in moment.tutor.text for words in _ENCOURAGING)
    return None if encouraged or not moment.tutor.requests else moment.rng.choice(_AFRAID)


def _agree(moment: _Moment) -> str | None:
    """Unless the tutor wants to see the work."""
    return None if moment.tutor.mentions("show") else moment.rng.choice(_AGREEING)


def _jump_ahead(moment: _Moment) -> str | None:
    """A final answer without the steps, and a wrong one."""
    if not asked_steps(moment.tutor, moment.problem):
        return None
    return f"I guess the answer is {moment.problem.steps[-1].value + moment.rng.randint(1, 9)}."


_HABITS: Mapping[str, Habit] = MappingProxyType(
    {
        "eager": _go_further,
        "terse": _leave_out_the_way,
        "disengaging": _wander,
        "answer_fishing": _fish,
        "stubbornly_wrong": _insist,
        "anxious": _hesitate,
        "agreeable": _agree,
        "hasty": _jump_ahead,
    }
)
