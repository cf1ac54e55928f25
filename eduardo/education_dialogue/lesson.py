"""A lesson: the one turn loop with a student who knows how it likes to learn and may end the conversation."""

from __future__ import annotations

from dataclasses import replace

from eduardo.dialogue import Tutor, run_dialogue
from eduardo.education_dialogue.conversation import Background
from eduardo.education_dialogue.views import opener, student_view
from eduardo.llm import Completer
from eduardo.protocol import take_end_tag
from eduardo.settings import DialogueSettings
from eduardo.student import to_turn
from eduardo.types import Problem, Transcript, Turn, TurnFault


class LessonStudent:
    """The frozen student of one lesson. Its end tag counts from the same turn on as the tutor's."""

    def __init__(self, client: Completer, settings: DialogueSettings, background: Background) -> None:
        self._client, self._settings, self._background = client, settings, background

    async def reply(self, transcript: Transcript, *, seed: int) -> Turn:
        """The next student turn. Raises EndpointError."""
        settings = self._settings
        completions = await self._client.complete(
            student_view(transcript, self._background, end_tag=settings.end_tag),
            temperature=settings.student_temperature,
            max_tokens=settings.student_turn_tokens,
            seed=seed,
        )
        turn = to_turn(completions[0])
        text, has_end_tag = take_end_tag(turn.text, settings.end_tag)
        if not has_end_tag:
            return turn
        may_end = len(transcript.tutor_turns) > settings.min_tutor_turns_before_end
        faults = [*turn.faults, *([] if may_end else [TurnFault.EARLY_END_TAG])]
        if not text:
            faults.append(TurnFault.BLANK)
        return replace(turn, text=text, raw=turn.text, ends_dialogue=may_end, faults=tuple(faults))


async def hold_lesson(
    background: Background, *, tutor: Tutor, student: LessonStudent, settings: DialogueSettings, seed: int
) -> Transcript:
    """A lesson about the topic, as `dialogue.run_dialogue` holds it. There is no answer key: its answer is empty."""
    return await run_dialogue(
        Problem(text=background.topic, answer=""),
        opener=opener(background.topic),
        tutor=tutor,
        student=student,
        settings=settings,
        seed=seed,
    )
