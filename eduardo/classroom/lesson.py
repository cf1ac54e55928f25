"""Where a dialogue stands, as a scripted tutor needs to know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.classroom.language import Reading, read
from eduardo.classroom.problems import SimProblem, Step, recognise
from eduardo.classroom.student_chat import Exchange, Memory, remember
from eduardo.classroom.tells import steps_worked_out, wrong_steps
from eduardo.errors import UserError
from eduardo.types import Speaker, Transcript, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    problem: SimProblem
    memory: Memory
    last_reply: Reading | None  # the student's last generated turn
    num_tutor_turns: int  # before the turn to be written
    attempted: bool  # the student wrote a step or a guess

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.problem.steps

    @property
    def next_step(self) -> int | None:
        """Index of the first step that nobody has worked out."""
        done = self.memory.written | self.memory.told | self.memory.named_values
        return next((index for index in range(len(self.steps)) if index not in done), None)

    @property
    def reply_was_right(self) -> bool:
        return self.last_reply is not None and bool(steps_worked_out(self.last_reply, self.problem))

    @property
    def reply_was_wrong(self) -> bool:
        reply = self.last_reply
        if reply is None or self.reply_was_right:
            return False
        answer = self.steps[-1].value
        return bool(wrong_steps(reply, self.problem)) or any(
            claim.subject.endswith("answer") and claim.value != answer for claim in reply.claims
        )

    def tries(self, step: int) -> int:
        """How often the step was asked for so far."""
        return self.memory.tries.get(step, 0)


def lesson_of(transcript: Transcript) -> Lesson:
    """Raises UserError when the problem is none of the classroom's own."""
    problem = recognise(transcript.problem.text)
    if problem is None:
        raise UserError(
            f"scripted tutors know only the classroom's own problems, not {transcript.problem.text[:60]!r}; "
            "use the starter problems"
        )
    replies = [read(turn.text) for turn in transcript.student_turns[1:]]
    return Lesson(
        problem=problem,
        memory=remember(problem, exchanges_of(transcript.turns)),
        last_reply=replies[-1] if replies else None,
        num_tutor_turns=len(transcript.tutor_turns),
        attempted=any(reply.equations or reply.claims or reply.proposes for reply in replies),
    )


def exchanges_of(turns: Sequence[Turn]) -> tuple[Exchange, ...]:
    """Tutor turns with the student's replies, after the opener."""
    exchanges: list[Exchange] = []
    for turn in turns[1:]:
        if turn.speaker is Speaker.TUTOR:
            exchanges.append(Exchange(tutor=turn.text, student=None))
        elif exchanges:
            exchanges[-1] = Exchange(tutor=exchanges[-1].tutor, student=turn.text)
    return tuple(exchanges)
