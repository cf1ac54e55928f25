"""The one turn loop: training, evaluation and the command line all run dialogues through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eduardo.errors import EndpointError
from eduardo.protocol import ThinkingMode, parse_tutor_turn
from eduardo.seeds import derive_seed
from eduardo.settings import DialogueSettings
from eduardo.types import EndReason, FinishReason, Problem, Transcript, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TutorReply:
    raw: str  # as generated, without the end-of-turn token
    finish: FinishReason


class Tutor(Protocol):
    """Who teaches: a policy under training, a served checkpoint, a scripted probe or a person."""

    @property
    def thinking_mode(self) -> ThinkingMode: ...

    def count_tokens(self, text: str) -> int: ...

    async def reply(self, transcript: Transcript) -> TutorReply | None:
        """The next turn, or None when the token budget leaves no room for one. Raises EndpointError."""
        ...


class Learner(Protocol):
    """Who learns. `eduardo.student.Student` is the frozen LLM; a person or a script can stand in."""

    async def reply(self, transcript: Transcript, *, seed: int) -> Turn:
        """The next student turn. Raises EndpointError."""
        ...


async def run_dialogue(
    problem: Problem, *, opener: Turn, tutor: Tutor, student: Learner, settings: DialogueSettings, seed: int
) -> Transcript:
    """Alternate tutor and student from the scripted opener until something ends the dialogue.

    The returned transcript always has an `end_reason`. A failed endpoint ends it with a failure reason and
    the error text; what was said before is kept. The last tutor turn stays in, whatever ended the dialogue.
    """
    transcript = Transcript(problem=problem, turns=(opener,))
    for num_tutor_turns in range(settings.max_tutor_turns):
        try:
            reply = await tutor.reply(transcript)
        except EndpointError as error:
            return transcript.ended(EndReason.TUTOR_FAILED, str(error))
        if reply is None:
            return transcript.ended(EndReason.TOKEN_BUDGET)
        turn = parse_tutor_turn(
            reply.raw,
            mode=tutor.thinking_mode,
            end_tag=settings.end_tag,
            may_end=num_tutor_turns >= settings.min_tutor_turns_before_end,
            finish=reply.finish,
            count_tokens=tutor.count_tokens,
        )
        transcript = transcript.with_turn(turn)
        if turn.ends_dialogue:
            return transcript.ended(EndReason.TUTOR_ENDED)
        if num_tutor_turns + 1 == settings.max_tutor_turns:
            break
        try:
            student_turn = await student.reply(transcript, seed=derive_seed(seed, "student", num_tutor_turns))
        except EndpointError as error:
            return transcript.ended(EndReason.STUDENT_FAILED, str(error))
        transcript = transcript.with_turn(student_turn)
        if student_turn.ends_dialogue:
            return transcript.ended(EndReason.STUDENT_ENDED)
    return transcript.ended(EndReason.TURN_LIMIT)
