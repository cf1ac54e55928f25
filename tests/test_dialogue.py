"""The turn loop: who speaks when, what ends a dialogue, and what a failure leaves behind."""

from __future__ import annotations

from eduardo.dialogue import TutorReply, run_dialogue
from eduardo.errors import EndpointUnavailable
from eduardo.protocol import ThinkingMode
from eduardo.settings import DialogueSettings
from eduardo.types import EndReason, FinishReason, Problem, Speaker, Transcript, Turn, TurnFault

PROBLEM = Problem(text="What is 2 + 2?", answer="4")
OPENER = Turn(speaker=Speaker.STUDENT, text="Help me.")
SETTINGS = DialogueSettings(
    max_tutor_turns=11,
    min_tutor_turns_before_end=3,
    tutor_turn_tokens=662,
    response_tokens=8192,
    prompt_tokens=2048,
    student_turn_tokens=500,
    student_temperature=0.6,
    end_tag="<end_of_conversation>",
)
END = "Well done. <end_of_conversation>"


class ScriptedTutor:
    """Says its lines in order; None stands for a spent token budget, an exception for a dead endpoint."""

    thinking_mode = ThinkingMode.NONE

    def __init__(self, *lines: str | Exception | None, finish: FinishReason = FinishReason.STOP) -> None:
        self._lines, self._finish = list(lines), finish

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def reply(self, transcript: Transcript) -> TutorReply | None:
        line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        if isinstance(line, Exception):
            raise line
        return None if line is None else TutorReply(raw=line, finish=self._finish)


class ScriptedStudent:
    def __init__(self, fails_at: int | None = None) -> None:
        self.seeds: list[int] = []
        self._fails_at = fails_at

    async def reply(self, transcript: Transcript, *, seed: int) -> Turn:
        if len(self.seeds) == self._fails_at:
            raise EndpointUnavailable("student is down")
        self.seeds.append(seed)
        return Turn(speaker=Speaker.STUDENT, text=f"answer {len(self.seeds)}")


async def run(tutor: ScriptedTutor, student: ScriptedStudent | None = None, *, seed: int = 1) -> Transcript:
    return await run_dialogue(
        PROBLEM,
        opener=OPENER,
        tutor=tutor,
        student=student or ScriptedStudent(),
        settings=SETTINGS,
        seed=seed,
    )


async def test_a_tutor_that_never_ends_gets_eleven_turns_and_the_student_ten() -> None:
    transcript = await run(ScriptedTutor("Why?"))
    assert transcript.end_reason is EndReason.TURN_LIMIT
    assert len(transcript.turns) == 22
    assert len(transcript.tutor_turns) == 11
    assert len(transcript.student_turns) == 1 + 10


async def test_turns_alternate_from_the_opener_and_the_last_tutor_turn_stays_in() -> None:
    transcript = await run(ScriptedTutor("Why?"))
    assert transcript.turns[0] is OPENER
    assert [t.speaker for t in transcript.turns] == [Speaker.STUDENT, Speaker.TUTOR] * 11
    assert transcript.turns[-1].text == "Why?"


async def test_an_end_tag_counts_once_three_tutor_turns_came_before() -> None:
    transcript = await run(ScriptedTutor("One?", "Two?", "Three?", END))
    assert transcript.end_reason is EndReason.TUTOR_ENDED
    assert len(transcript.tutor_turns) == 4
    assert transcript.turns[-1].text == "Well done."


async def test_an_early_end_tag_is_ignored_and_recorded() -> None:
    transcript = await run(ScriptedTutor(END, END, END, END))
    assert len(transcript.tutor_turns) == 4
    early = transcript.tutor_turns[:3]
    assert all(TurnFault.EARLY_END_TAG in t.faults and not t.ends_dialogue for t in early)
    assert all("end_of_conversation" not in t.text for t in transcript.turns)


async def test_a_spent_token_budget_ends_the_dialogue_without_failure() -> None:
    transcript = await run(ScriptedTutor("Why?", None))
    assert transcript.end_reason is EndReason.TOKEN_BUDGET
    assert not transcript.end_reason.is_failure
    assert len(transcript.tutor_turns) == 1


async def test_a_dead_tutor_keeps_what_was_said_and_names_the_error() -> None:
    transcript = await run(ScriptedTutor("Why?", EndpointUnavailable("tutor is down")))
    assert transcript.end_reason is EndReason.TUTOR_FAILED
    assert transcript.end_reason.is_failure
    assert transcript.error == "tutor is down"
    assert len(transcript.turns) == 3


async def test_a_dead_student_keeps_what_was_said_and_names_the_error() -> None:
    transcript = await run(ScriptedTutor("Why?"), ScriptedStudent(fails_at=2))
    assert transcript.end_reason is EndReason.STUDENT_FAILED
    assert transcript.error == "student is down"
    assert [t.text for t in transcript.student_turns] == ["Help me.", "answer 1", "answer 2"]


async def test_student_seeds_differ_by_turn_and_repeat_for_the_same_dialogue() -> None:
    first, second, other = ScriptedStudent(), ScriptedStudent(), ScriptedStudent()
    await run(ScriptedTutor("Why?"), first)
    await run(ScriptedTutor("Why?"), second)
    await run(ScriptedTutor("Why?"), other, seed=2)
    assert len(set(first.seeds)) == 10
    assert first.seeds == second.seeds != other.seeds
