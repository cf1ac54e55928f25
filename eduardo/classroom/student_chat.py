"""What the simulated student makes of the chat it is sent: the problem, its own work, the tutor's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from eduardo.classroom.language import Reading, read, requested
from eduardo.classroom.problems import SimProblem, recognise
from eduardo.classroom.tells import (
    TellKind,
    expressions_of,
    find_tells,
    quantities,
    said_in,
    steps_worked_out,
    wrong_steps,
)
from eduardo.templates import render
from eduardo.types import Message
from eduardo.views import HIDDEN, SILENCE

_MARK = "\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One tutor turn (None when hidden) and the student's reply to it (None when not yet given)."""

    tutor: str | None
    student: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentChat:
    """A chat as the student sees it. `posed` is the problem of a test, None while the dialogue runs."""

    source: SimProblem | None
    posed: SimProblem | None
    is_test: bool
    exchanges: tuple[Exchange, ...]

    @property
    def last_tutor_text(self) -> str:
        return (self.exchanges[-1].tutor or "") if self.exchanges else ""


@dataclass(slots=True)
class Memory:
    """What a dialogue has left behind, step by step. Indices are those of the source problem's steps."""

    written: set[int]  # worked out by the student itself
    explained: set[int]  # and justified
    told: set[int]  # worked out by the tutor where the student can see it, before the student did it
    named_values: set[int]  # only the value was told
    wrong: set[int]  # stated wrongly by the student and not put right since
    answer_seen: bool  # the final answer stands somewhere in what the student can see
    tries: dict[int, int]  # per step: requests for it, the current one included
    num_attempts: int  # requests for an attempt, the current one included
    last_wrong: int | None  # the step that the student's latest message got wrong


def read_chat(messages: Sequence[Message]) -> StudentChat:
    """Understand a chat. Nothing but its messages is used."""
    system = " ".join(m["content"] for m in messages if m["role"] == "system")
    body = [m for m in messages if m["role"] != "system"]
    before, posed_text = (
        _split_test(body[-1]["content"]) if body and body[-1]["role"] == "user" else ("", None)
    )
    if posed_text is not None:
        body = [*body[:-1], {"role": "user", "content": before}] if before else body[:-1]
    return StudentChat(
        source=recognise(system),
        posed=recognise(posed_text) if posed_text is not None else None,
        is_test=posed_text is not None,
        exchanges=_exchanges(body),
    )


def _split_test(content: str) -> tuple[str, str | None]:
    """A user message → what stands before a test and the problem it poses (None when it poses none)."""
    for name in ("post_test", "cold_solve"):
        head, tail = _frame(name)
        start = content.rfind(head)
        if start >= 0 and content.endswith(tail):
            return content[:start].strip(), content[start + len(head) : len(content) - len(tail)]
    return content, None


@lru_cache(maxsize=4)
def _frame(name: str) -> tuple[str, str]:
    head, _, tail = render(name, problem=_MARK).partition(_MARK)
    return head, tail


def _exchanges(body: Sequence[Message]) -> tuple[Exchange, ...]:
    """Pairs after the student's scripted opener; what the tutor's side says before it is a greeting."""
    opener = next((i for i, m in enumerate(body) if m["role"] == "assistant"), len(body))
    exchanges: list[Exchange] = []
    for message in body[opener + 1 :]:
        if message["role"] == "user":
            text = message["content"]
            heard = "" if text == SILENCE else text
            exchanges.append(Exchange(tutor=None if text == HIDDEN else heard, student=None))
        elif exchanges:
            exchanges[-1] = Exchange(tutor=exchanges[-1].tutor, student=message["content"])
    return tuple(exchanges)


def remember(problem: SimProblem, exchanges: Sequence[Exchange]) -> Memory:
    """Walk through a dialogue and keep what counts for the next reply or for a test."""
    memory = Memory(
        written=set(), explained=set(), told=set(), named_values=set(), wrong=set(),
        answer_seen=False, tries={}, num_attempts=0, last_wrong=None,
    )  # fmt: skip
    said = said_in(problem.text)
    answer = problem.steps[-1].value
    for exchange in exchanges:
        if exchange.tutor:
            tutor = read(exchange.tutor)
            for tell in find_tells(tutor, said, problem):
                if tell.step is None or tell.step in memory.written:
                    continue
                kept = memory.told if tell.kind is TellKind.EXPRESSION else memory.named_values
                kept.add(tell.step)
            memory.answer_seen |= answer in tutor.numbers
            _count_request(memory, tutor, problem)
        if exchange.student is not None:
            own = read(exchange.student)
            said.add(own)
            memory.answer_seen |= answer in own.numbers
            _add_own_words(memory, own, problem)
    return memory


def asked_steps(reading: Reading, problem: SimProblem) -> list[int]:
    """Steps whose quantity a question or request asks for by its name."""
    return requested(quantities(problem), reading)


def _count_request(memory: Memory, tutor: Reading, problem: SimProblem) -> None:
    missing = [index for index in asked_steps(tutor, problem) if index not in memory.written]
    if len(missing) == 1:
        memory.tries[missing[0]] = memory.tries.get(missing[0], 0) + 1
    elif not missing and memory.last_wrong is not None and _asks_again(tutor):
        memory.tries[memory.last_wrong] = memory.tries.get(memory.last_wrong, 0) + 1
    elif tutor.asks_attempt:
        memory.num_attempts += 1


def _asks_again(tutor: Reading) -> bool:
    return tutor.denies or tutor.asks_retry


def _add_own_words(memory: Memory, own: Reading, problem: SimProblem) -> None:
    right = steps_worked_out(own, problem)
    wrong = wrong_steps(own, problem) - right
    if "because" in own.text:
        steps = expressions_of(problem)
        memory.explained |= {steps[e] for e in own.expressions if e in steps} & memory.written
    memory.written |= right - memory.told - memory.named_values
    memory.wrong = (memory.wrong | wrong) - right
    memory.last_wrong = next(iter(sorted(wrong)), None)
