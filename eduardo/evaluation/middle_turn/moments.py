"""Moments of human tutoring dialogues in which the teacher's next turn is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.types import Problem, Speaker, Transcript, Turn

Line = tuple[Speaker, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What was said up to a student turn, and what the human tutor answered."""

    id: str  # stable: the dialogue and the place of the turn in it
    cluster: str  # the problem: all that is said about it counts as one
    problem: Problem  # `answer` is the worked solution, or a word that there is none
    history: tuple[Turn, ...]
    human: str

    def answered(self, text: str) -> Transcript:
        """The dialogue with `text` as the tutor's last turn."""
        return Transcript(problem=self.problem, turns=(*self.history, Turn(speaker=Speaker.TUTOR, text=text)))


def moments_of(
    dialogue_id: str, problem: Problem, lines: Sequence[Line], *, every_turn: bool, cluster: str
) -> list[Moment]:
    """The middle one of the tutor turns that answer the student, or all of them; none in a dialogue without any.

    Neighbouring lines of one speaker are one turn. Of an even number of turns the later middle one is taken.
    """
    turns = _join(lines)
    places = [
        place
        for place in range(1, len(turns))
        if turns[place].speaker is Speaker.TUTOR and turns[place - 1].speaker is Speaker.STUDENT
    ]
    chosen = places if every_turn else places[len(places) // 2 :][:1]
    return [
        Moment(
            id=f"{dialogue_id}#{place}",
            cluster=cluster,
            problem=problem,
            history=tuple(turns[:place]),
            human=turns[place].text,
        )
        for place in chosen
    ]


def _join(lines: Sequence[Line]) -> list[Turn]:
    turns: list[Turn] = []
    for speaker, text in lines:
        if not text.strip():
            continue
        earlier = f"{turns.pop().text}\n" if turns and turns[-1].speaker is speaker else ""
        turns.append(Turn(speaker=speaker, text=earlier + text.strip()))
    return turns
