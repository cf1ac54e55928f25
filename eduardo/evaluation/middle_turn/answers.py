"""First stage: the tutor answers in place of the human teacher."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from eduardo.errors import EndpointUnavailable, UserError
from eduardo.evaluation.jsonl import append_lines, read_lines
from eduardo.evaluation.middle_turn.moments import Moment
from eduardo.evaluation.together import run_together
from eduardo.evaluation.tutors import TutorFactory
from eduardo.files import LineWriter
from eduardo.protocol import parse_tutor_turn
from eduardo.seeds import derive_seed
from eduardo.settings import DialogueSettings
from eduardo.types import ItemKind, Message, Speaker, TestItem, Transcript, TransferPair, Turn
from eduardo.views import opener, tutor_prompt

Progress = Callable[[], None]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    text: str  # what the student would see
    thinking: str = ""
    faults: list[str] = []


async def work_on_all(
    moments: Sequence[Moment],
    work: Callable[[Moment], Awaitable[Sequence[msgspec.Struct]]],
    writer: LineWriter,
    *,
    max_at_once: int,
    progress: Progress,
) -> Counter[str]:
    """Write what `work` returns for each moment. Those that an endpoint failed are left for another run.

    Returns why moments were left.
    """
    slots = asyncio.Semaphore(max_at_once)
    left: Counter[str] = Counter()

    async def one(moment: Moment) -> None:
        async with slots:
            try:
                results = await work(moment)
            except EndpointUnavailable as error:
                left[str(error)] += 1
                return
        for result in results:
            writer.write(msgspec.json.encode(result))
        progress()

    await run_together(one(moment) for moment in moments)
    return left


def human_answers(moments: Sequence[Moment]) -> list[Answer]:
    return [Answer(id=moment.id, text=moment.human) for moment in moments]


async def answer_all(
    moments: Sequence[Moment],
    make_tutor: TutorFactory,
    *,
    file: Path,
    prompt_style: str,
    sees_solution: bool,
    settings: DialogueSettings,
    seed: int,
    max_at_once: int,
    progress: Progress,
) -> Counter[str]:
    """Have the tutor answer every moment that `file` does not hold yet; returns why some could not be."""
    done = {answer.id for answer in read_lines(file, Answer)}

    async def work(moment: Moment) -> Sequence[Answer]:
        start = opener(moment.problem)
        tutor = make_tutor(
            tutor_chat(moment, style=prompt_style, sees_solution=sees_solution, end_tag=settings.end_tag),
            seed=derive_seed(seed, "middle turn", moment.id),
        )
        reply = await tutor.reply(Transcript(problem=moment.problem, turns=(start,)))
        if reply is None:
            raise UserError(
                f"no room for an answer to {moment.id}: raise recipe.dialogue.response_tokens, "
                f"now {settings.response_tokens}"
            )
        turn = parse_tutor_turn(
            reply.raw,
            mode=tutor.thinking_mode,
            end_tag=settings.end_tag,
            may_end=True,
            finish=reply.finish,
            count_tokens=tutor.count_tokens,
        )
        faults = [fault.value for fault in turn.faults]
        return (Answer(id=moment.id, text=turn.text, thinking=turn.thinking, faults=faults),)

    missing = [moment for moment in moments if moment.id not in done]
    with append_lines(file, Answer) as writer:
        return await work_on_all(missing, work, writer, max_at_once=max_at_once, progress=progress)


def tutor_chat(moment: Moment, *, style: str, sees_solution: bool, end_tag: str) -> list[Message]:
    """The tutor's own chat as in training: its system prompt, the scripted opener, then what was said."""
    source = TestItem(problem=moment.problem, baseline=None, kind=ItemKind.SOURCE)
    notes = moment.problem.answer if sees_solution else None
    pair = TransferPair(id=moment.id, source=source, variant=None, notes=notes)
    chat = tutor_prompt(pair, style, end_tag=end_tag)
    for turn in moment.history:
        chat = _with(chat, turn)
    return chat


def _with(chat: list[Message], turn: Turn) -> list[Message]:
    role = "assistant" if turn.speaker is Speaker.TUTOR else "user"
    if chat[-1]["role"] != role:
        return [*chat, {"role": role, "content": turn.text}]
    return [*chat[:-1], {"role": role, "content": f"{chat[-1]['content']}\n\n{turn.text}"}]
