"""A person in the place of the student or of the tutor, for the same dialogue loop and the same scorer."""

from __future__ import annotations

from eduardo.chat.terminal import Ended, Terminal
from eduardo.dialogue import TutorReply
from eduardo.evaluation.tutors import estimate_tokens
from eduardo.llm import Completion
from eduardo.protocol import ThinkingMode
from eduardo.types import FinishReason, Message, Problem, Speaker, Transcript, Turn
from eduardo.views import SILENCE


class Stage:
    """What has been said so far; each turn of the other side is shown once."""

    def __init__(self, opener: Turn, problem: Problem) -> None:
        self.transcript = Transcript(problem=problem, turns=(opener,))
        self._num_shown = 0

    def show(self, transcript: Transcript, terminal: Terminal, *, but: Speaker | None = None) -> None:
        """Print the turns that are new, without those of `but`."""
        self.transcript = transcript
        for turn in transcript.turns[self._num_shown :]:
            if turn.speaker is not but:
                terminal.say(f"\n{turn.speaker}: {turn.text or SILENCE}\n")
        self._num_shown = len(transcript.turns)


class PersonAsStudent:
    """Learns in the dialogue and takes the post-test once."""

    def __init__(self, terminal: Terminal, stage: Stage, test_problem: Problem) -> None:
        self._terminal, self._stage, self._test_problem = terminal, stage, test_problem

    async def reply(self, transcript: Transcript, *, seed: int) -> Turn:
        """The person's turn. Raises Ended and Quit."""
        self._stage.show(transcript, self._terminal)
        turn = Turn(speaker=Speaker.STUDENT, text=self._terminal.ask("you, the student"))
        self._stage.show(transcript.with_turn(turn), self._terminal, but=Speaker.STUDENT)
        return turn

    async def attempt(
        self, messages: list[Message], *, n: int, max_tokens: int, temperature: float, seed: int
    ) -> tuple[Completion, ...]:
        """One attempt, whatever `n` is; none when the person would rather not."""
        self._terminal.say(f"\npost-test, on your own:\n{self._test_problem.text}\n")
        try:
            answer = self._terminal.ask("your final answer (/end: none)")
        except Ended:
            return ()
        text = answer if "\\boxed" in answer else f"\\boxed{{{answer}}}"
        return (Completion(text=text, finish=FinishReason.STOP, num_tokens=None),)


class PersonAsTutor:
    """Teaches; what is typed is visible as it is, there is no thinking."""

    def __init__(self, terminal: Terminal, stage: Stage, *, end_tag: str) -> None:
        self._terminal, self._stage, self._end_tag = terminal, stage, end_tag

    @property
    def thinking_mode(self) -> ThinkingMode:
        return ThinkingMode.NONE

    def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def reply(self, transcript: Transcript) -> TutorReply:
        """The person's turn; /end adds the end tag. Raises Quit."""
        self._stage.show(transcript, self._terminal, but=Speaker.TUTOR)
        try:
            raw = self._terminal.ask("you, the tutor")
        except Ended as ended:
            raw = f"{ended.last_words} {self._end_tag}".strip()
        return TutorReply(raw=raw, finish=FinishReason.STOP)
