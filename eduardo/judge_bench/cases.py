"""The labelled transcripts, as data in `transcripts/*.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from eduardo import views
from eduardo.errors import UserError
from eduardo.types import Criterion, Decision, EndReason, Problem, Speaker, Transcript, Turn

FOLDER = Path(__file__).parent / "transcripts"
INJECTION = "injection"  # the kind of every case with an injection


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]


RowT = TypeVar("RowT", bound=_Row)


class _ProblemRow(_Row):
    text: str
    answer: str


class _CaseRow(_Row):
    problem: str
    kind: str
    no_handover: Decision
    factual_correctness: Decision
    answer_told: bool
    why: Annotated[str, Field(min_length=10)]
    turns: list[dict[Speaker, str]]  # one speaker and its words each; the opener is not among them

    @model_validator(mode="after")
    def _speakers_alternate(self) -> _CaseRow:
        speakers = [speaker for turn in self.turns for speaker in turn]
        if speakers != [(Speaker.TUTOR, Speaker.STUDENT)[i % 2] for i in range(len(self.turns))]:
            raise ValueError("turns must alternate, the tutor first, one speaker each")
        return self


class _InjectionRow(_Row):
    base: str  # id of the case that it is put into
    by: Speaker
    turn: Annotated[int, Field(ge=2)]  # the opener is turn 1
    place: Literal["before", "after"]
    aim: Decision  # what it wants to hear
    text: str
    why: Annotated[str, Field(min_length=10)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a careful reader decides."""

    decisions: dict[Criterion, Decision]
    answer_told: bool  # the final answer, in any form, before the student: what the leak detector looks for

    @property
    def gate(self) -> Decision:
        rejected = Decision.REJECT in self.decisions.values()
        return Decision.REJECT if rejected else Decision.ACCEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    base: str
    by: Speaker
    aim: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    id: str
    kind: str
    why: str
    transcript: Transcript
    labels: Labels
    injection: Injection | None = None


@cache
def all_cases() -> tuple[Case, ...]:
    """Clean transcripts first, then those with an injection. Raises UserError that names a bad line."""
    problems = {
        row.id: Problem(text=row.text, answer=row.answer) for row in _read("problems.jsonl", _ProblemRow)
    }
    clean = {row.id: _case(row, problems[row.problem]) for row in _read("transcripts.jsonl", _CaseRow)}
    injected = [_inject(row, clean[row.base]) for row in _read("injections.jsonl", _InjectionRow)]
    return (*clean.values(), *injected)


def some_cases(num: int | None) -> tuple[Case, ...]:
    """`num` of all cases at even distances, and the clean ones that injections among them build on; None: all."""
    cases = all_cases()
    wanted = min(num or len(cases), len(cases))
    chosen = {cases[index * len(cases) // wanted].id for index in range(wanted)}
    chosen |= {case.injection.base for case in cases if case.injection is not None and case.id in chosen}
    return tuple(case for case in cases if case.id in chosen)


def _read(name: str, model: type[RowT]) -> Iterator[RowT]:
    for number, line in enumerate((FOLDER / name).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            raise UserError(f"{FOLDER / name}, line {number}: {error.errors()[0]['msg']}") from None


def _case(row: _CaseRow, problem: Problem) -> Case:
    turns = [Turn(speaker=speaker, text=text) for turn in row.turns for speaker, text in turn.items()]
    decisions = {Criterion.NO_HANDOVER: row.no_handover, Criterion.FACTUAL: row.factual_correctness}
    return Case(
        id=row.id,
        kind=row.kind,
        why=row.why,
        transcript=Transcript(
            problem=problem, turns=(views.opener(problem), *turns), end_reason=EndReason.TURN_LIMIT
        ),
        labels=Labels(decisions=decisions, answer_told=row.answer_told),
    )


def _inject(row: _InjectionRow, base: Case) -> Case:
    """The base case with the text in one turn. A tutor that speaks to a reviewer violates factual correctness."""
    turns = list(base.transcript.turns)
    turn = turns[row.turn - 1]
    if turn.speaker is not row.by:
        raise UserError(f"{FOLDER / 'injections.jsonl'}, {row.id}: turn {row.turn} is not the {row.by}'s")
    pieces = (row.text, turn.text) if row.place == "before" else (turn.text, row.text)
    turns[row.turn - 1] = replace(turn, text="\n".join(pieces))
    decisions = dict(base.labels.decisions)
    if row.by is Speaker.TUTOR:
        decisions[Criterion.FACTUAL] = Decision.REJECT
    return Case(
        id=row.id,
        kind=INJECTION,
        why=row.why,
        transcript=replace(base.transcript, turns=tuple(turns)),
        labels=Labels(decisions=decisions, answer_told=base.labels.answer_told),
        injection=Injection(base=base.id, by=row.by, aim=row.aim),
    )
