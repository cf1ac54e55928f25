"""The simulated student: a small, explicit learner model behind plain chat messages. No model of real people.

It answers what the tutor did and learns by what it works out itself; `docs/classroom.md` gives the model.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import lru_cache

from eduardo.classroom.language import Reading, evaluate, parse_expression, read
from eduardo.classroom.problems import SimProblem, Step
from eduardo.classroom.sim_settings import StudentParams
from eduardo.classroom.student_chat import Memory, StudentChat, asked_steps, read_chat, remember
from eduardo.classroom.tells import find_tells, quantities, said_in
from eduardo.types import Message

_STEP_WORDS = ("{step}.", "I get {step}.", "Then {step}.", "I think {step}.")
_THANKS = ("Ok, thank you.", "Thanks.", "I see.")
_PUZZLED = "I do not know what you mean."
_LOST = ("I am not sure what to do next.", _PUZZLED)
_STUCK = "I am stuck here."
_CHAT = ("Ok.", "That is nice.", "Thank you.")


def reply(messages: Sequence[Message], rng: random.Random, params: StudentParams) -> str:
    """The student's next message: a dialogue turn, or a full solution when the last message poses a test."""
    chat, chance = _understand(tuple((m["role"], m["content"]) for m in messages), params)
    if chance is not None:
        return solve(chat.posed, chance, rng)
    if chat.source is None:
        return "I do not know this kind of problem."
    return _converse(chat, chat.source, rng, params)


@lru_cache(maxsize=256)
def _understand(chat: tuple[tuple[str, str], ...], params: StudentParams) -> tuple[StudentChat, float | None]:
    """The chat and, when it poses a test, the chance to pass. Kept, since a test is asked for many times over."""
    understood = read_chat([{"role": role, "content": content} for role, content in chat])
    return understood, solve_chance(understood, params) if understood.is_test else None


def cold_chance(problem: SimProblem, params: StudentParams) -> float:
    """Chance of a right solution without any help; fixed for a problem text."""
    move = zlib.crc32(problem.text.encode()) / 2**32 * 2 - 1
    chance = problem.template.ease + move * params.ease_spread
    return min(params.cold_max, max(params.cold_min, chance))


def solve_chance(chat: StudentChat, params: StudentParams) -> float:
    """Chance to solve the posed problem after what the chat shows. 0 for a problem that is not recognised."""
    posed = chat.posed
    if posed is None:
        return 0.0
    cold = cold_chance(posed, params)
    source = chat.source
    if source is None or source.template.id != posed.template.id:
        return cold
    memory = remember(source, chat.exchanges)
    learned = _learned(memory, len(source.steps), params)
    chance = cold + (params.ceiling - cold) * learned
    chance *= 1.0 - params.misconception * len(memory.wrong) / len(source.steps)
    if posed.text == source.text and memory.answer_seen:
        return max(chance, params.recall)
    return chance


def _learned(memory: Memory, num_steps: int, params: StudentParams) -> float:
    """Share of the solution structure that was learned, in [0, 1]."""
    told = memory.told - memory.written
    score = (
        params.written_weight * len(memory.written)
        + params.explained_weight * len(memory.written) * bool(memory.explained)
        + params.told_weight * len(told)
    ) / num_steps
    if num_steps - 1 in memory.named_values - told - memory.written:
        score += params.bare_weight
    return min(1.0, score)


# -- tests -----------------------------------------------------------------------------------------


def solve(posed: SimProblem | None, chance: float, rng: random.Random) -> str:
    """A full solution with `\\boxed{}`, right with the given chance; a word of despair for an unknown problem."""
    if posed is None:
        return "I do not know how to solve this."
    steps = posed.steps
    if rng.random() < chance:
        return "\n".join([*map(str, steps), f"The answer is \\boxed{{{steps[-1].value}}}."])
    slip = rng.randrange(len(steps))
    wrong = _wrong_step(steps[slip], rng)
    answer = wrong.value if slip == len(steps) - 1 else _wrong_step(steps[-1], rng).value
    return "\n".join([*map(str, steps[:slip]), str(wrong), f"The answer is \\boxed{{{answer}}}."])


def _wrong_step(step: Step, rng: random.Random) -> Step:
    """The step with another operation, or with a slip in its result; never the right value."""
    left, sign, right = step.expression.split()
    others = [other for other in "+-*" if other != sign]
    rng.shuffle(others)
    for other in others:
        value = int(evaluate((int(left), other, int(right))))
        if 0 < value != step.value:
            return Step(quantity=step.quantity, expression=f"{left} {other} {right}", value=value)
    return Step(quantity=step.quantity, expression=step.expression, value=step.value + 1)


# -- dialogue --------------------------------------------------------------------------------------


def _converse(chat: StudentChat, problem: SimProblem, rng: random.Random, params: StudentParams) -> str:
    tutor = read(chat.last_tutor_text)
    if (said := _react(chat, tutor, problem, rng)) is not None:
        return said
    memory = remember(problem, chat.exchanges)
    asked = asked_steps(tutor, problem)
    missing = [index for index in asked if index not in memory.written]
    if len(missing) > 1:
        return "That is a lot at once."
    if missing:
        return _work_on(missing[0], problem, memory, rng, params)
    if memory.written and tutor.asks_why:
        return _explain(problem, memory)
    wrong = _last_wrong(chat, problem)
    if wrong is not None and (tutor.denies or tutor.asks_retry):
        return _work_on(wrong, problem, memory, rng, params)
    if asked:
        return f"I have the {problem.steps[asked[-1]].quantity} already."
    if tutor.asks_attempt:
        return _attempt(problem, memory, rng, params)
    return rng.choice(_LOST if tutor.requests else _CHAT)


def _react(chat: StudentChat, tutor: Reading, problem: SimProblem, rng: random.Random) -> str | None:
    """What it says to a turn that calls for no work on the problem; None when it does."""
    if tutor.is_blank:
        return "Are you there?"
    if tutor.dictated is not None:
        return _echo(chat, tutor)
    if _tells_something_new(chat, tutor, problem):
        return rng.choice(_THANKS)
    return _PUZZLED if tutor.is_garbled else None


def _tells_something_new(chat: StudentChat, tutor: Reading, problem: SimProblem) -> bool:
    said = said_in(problem.text)
    for exchange in chat.exchanges:
        said.add(read(exchange.student or ""))
    return bool(find_tells(tutor, said, problem))


def _echo(chat: StudentChat, tutor: Reading) -> str:
    """The dictated words without any calculation, and of a chain of equals only its ends."""
    words = tutor.dictated
    if not words:
        words = read(chat.exchanges[-1].tutor or "").text
    pieces = [piece.strip() for piece in words.split("=") if not read(piece).expressions]
    return " = ".join([pieces[0], pieces[-1]] if len(pieces) > 2 else pieces) or _CHAT[0]


def _last_wrong(chat: StudentChat, problem: SimProblem) -> int | None:
    """The step that the student's message before the tutor's last one got wrong."""
    return remember(problem, chat.exchanges[:-1]).last_wrong


def _work_on(
    index: int, problem: SimProblem, memory: Memory, rng: random.Random, params: StudentParams
) -> str:
    step = problem.steps[index]
    if index in memory.told | memory.named_values:
        return "You told me that already."
    if not _inputs(index, problem) <= memory.written | memory.told | memory.named_values:
        return f"I need something else before the {step.quantity}."
    if memory.tries.get(index, 1) > params.max_tries:
        return _STUCK
    if rng.random() < params.step_right:
        return _say(step, problem, rng)
    if rng.random() < params.step_unsure:
        return f"I am not sure about the {step.quantity}."
    return _say(_wrong_step(step, rng), problem, rng)


def _inputs(index: int, problem: SimProblem) -> set[int]:
    """Indices of the steps whose results a step uses."""
    plan = problem.template.steps[index]
    names = [quantity.replace(" ", "_") for quantity in quantities(problem)]
    return {names.index(operand) for operand in (plan.left, plan.right) if operand in names}


def _say(step: Step, problem: SimProblem, rng: random.Random) -> str:
    words = rng.choice(_STEP_WORDS).format(step=step)
    is_last = step.quantity == problem.steps[-1].quantity
    return f"{words} So the answer is {step.value}." if is_last else words


def _attempt(problem: SimProblem, memory: Memory, rng: random.Random, params: StudentParams) -> str:
    missing = [i for i in range(len(problem.steps)) if i not in memory.written]
    if not missing:
        return f"I think I am done. The answer is {problem.answer}."
    if memory.num_attempts > params.max_attempts:
        return rng.choice(_LOST)
    if memory.num_attempts == 1 and rng.random() < params.attempt_declined:
        return "I do not know how to start."
    step = problem.steps[missing[0]]
    if rng.random() < params.attempt_right * cold_chance(problem, params):
        return _say(step, problem, rng)
    wrong = _wrong_step(step, rng)
    if rng.random() < params.attempt_guess:
        return f"I guess the answer is {wrong.value}."
    return _say(wrong, problem, rng)


def _explain(problem: SimProblem, memory: Memory) -> str:
    step = problem.steps[max(memory.written)]
    return f"Because the {step.quantity} is {_reversed(step)}."


def _reversed(step: Step) -> str:
    """The calculation in the student's own order: the smaller number first where that changes nothing."""
    left, sign, right = parse_expression(step.expression)
    return f"{left} {sign} {right}"
