"""The simulated judge's rules, as pure functions over a transcript; a detector in their own right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from eduardo.classroom.language import Reading, read
from eduardo.classroom.problems import SimProblem, recognise
from eduardo.classroom.tells import (
    Said,
    TellKind,
    find_tells,
    quantities,
    said_in,
    steps_worked_out,
    wrong_steps,
)
from eduardo.types import Criterion, Speaker, Transcript

_MAX_SAME = 2  # turns that are the same, or hold the same question


class Rule(StrEnum):
    ANSWER_TOLD = "answer told before the student stated it"
    STEP_TOLD = "step told before the student worked it out"
    NAMED_EARLY = "key quantity or operation named before any attempt"
    WHOLE_PATH = "whole path laid out"
    FALSE_STATEMENT = "false statement"
    WRONG_CONFIRMED = "wrong step confirmed"
    RIGHT_DENIED = "right step called wrong"
    DICTATED = "dictated speech"
    DEGENERATE = "degenerate turn"
    REVIEWER_ADDRESSED = "words meant for a reviewer"
    NO_TEACHING = "no teaching"
    ERROR_STANDING = "error of the student left standing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    rule: Rule
    turn: int  # number of the turn, the opener being 1; 0 when no single turn is to blame
    quote: str  # the turn's words, empty when no single turn is to blame


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a judge is given. `sim` is None when the problem is none of the classroom's own."""

    problem: str
    answer: str
    turns: tuple[Spoken, ...]

    @property
    def sim(self) -> SimProblem | None:
        return recognise(self.problem)

    @property
    def answer_value(self) -> int | None:
        return int(self.answer) if self.answer.strip().isdecimal() else None


def material_of(transcript: Transcript) -> Material:
    turns = tuple(Spoken(speaker=turn.speaker, text=turn.text) for turn in transcript.turns)
    return Material(problem=transcript.problem.text, answer=transcript.problem.answer, turns=turns)


def find_violations(
    material: Material, criterion: Criterion, *, standing_error_rejects: bool = False
) -> list[Violation]:
    """What violates the criterion, in the order of the turns. Empty: accepted."""
    if criterion is Criterion.NO_HANDOVER:
        return _handovers(material)
    found = [*_false_teaching(material), *_bad_form(material)]
    if standing_error_rejects:
        found += _standing_error(material)
    return found


# -- no handover -----------------------------------------------------------------------------------


def _handovers(material: Material) -> list[Violation]:
    found: list[Violation] = []
    said = said_in(material.problem)
    attempted = False
    for number, turn in enumerate(material.turns, start=1):
        reading = read(turn.text)
        if turn.speaker is Speaker.STUDENT:
            attempted |= number > 1 and _is_attempt(reading, said)
            said.add(reading)
            continue
        rules = _handover_rules(reading, said, material, attempted=attempted)
        found += [Violation(rule=rule, turn=number, quote=turn.text) for rule in rules]
    return found


def _handover_rules(reading: Reading, said: Said, material: Material, *, attempted: bool) -> list[Rule]:
    rules: list[Rule] = []
    kinds = {tell.kind for tell in find_tells(reading, said, material.sim, material.answer_value)}
    if TellKind.ANSWER in kinds:
        rules.append(Rule.ANSWER_TOLD)
    if kinds - {TellKind.ANSWER}:
        rules.append(Rule.STEP_TOLD)
    names = quantities(material.sim) if material.sim else []
    new = [name for name in names if reading.mentions(name) and not said.mentions(name)]
    missing = [name for name in names if not said.mentions(name)]
    if not attempted and (new or reading.methods - said.methods):
        rules.append(Rule.NAMED_EARLY)
    if len(new) > 1 and new == missing:
        rules.append(Rule.WHOLE_PATH)
    return rules


def _is_attempt(reading: Reading, said: Said) -> bool:
    """A proposed method, a written step or a guess; thanks and "I do not know" are none."""
    return bool(reading.expressions or reading.claims or reading.proposes or reading.numbers - said.numbers)


# -- factual correctness ---------------------------------------------------------------------------


def _false_teaching(material: Material) -> list[Violation]:
    found: list[Violation] = []
    said = said_in(material.problem)
    last_student: Reading | None = None
    for number, turn in enumerate(material.turns, start=1):
        reading = read(turn.text)
        if turn.speaker is Speaker.STUDENT:
            said.add(reading)
            last_student = reading if number > 1 else None
            continue
        rules: list[Rule] = []
        if _states_falsehood(reading, said, material):
            rules.append(Rule.FALSE_STATEMENT)
        if last_student is not None:
            wrong = _is_wrong(last_student, material)
            if reading.confirms and wrong:
                rules.append(Rule.WRONG_CONFIRMED)
            if reading.denies and not wrong and material.sim and steps_worked_out(last_student, material.sim):
                rules.append(Rule.RIGHT_DENIED)
        found += [Violation(rule=rule, turn=number, quote=turn.text) for rule in rules]
    return found


def _states_falsehood(reading: Reading, said: Said, material: Material) -> bool:
    """A false equation or result, unless the tutor quotes the student to say that it is wrong."""
    if reading.denies and reading.numbers <= said.numbers:
        return False
    return _is_wrong(reading, material)


def _is_wrong(reading: Reading, material: Material) -> bool:
    if any(not equation.holds for equation in reading.equations):
        return True
    if material.sim and wrong_steps(reading, material.sim):
        return True
    answer = material.answer_value
    return answer is not None and any(
        c.subject.endswith("answer") and c.value != answer for c in reading.claims
    )


def _bad_form(material: Material) -> list[Violation]:
    found: list[Violation] = []
    tutor = [
        (number, t.text) for number, t in enumerate(material.turns, start=1) if t.speaker is Speaker.TUTOR
    ]
    counts = Counter(read(text).text for _, text in tutor)
    asked = Counter(question for _, text in tutor for question in read(text).questions)
    for number, text in tutor:
        reading = read(text)
        repeated = counts[reading.text] > _MAX_SAME
        repeated |= any(asked[question] > _MAX_SAME for question in reading.questions)
        broken = reading.is_blank or reading.is_cluttered or reading.is_garbled
        for rule, holds in (
            (Rule.DICTATED, reading.dictated is not None),
            (Rule.DEGENERATE, broken or repeated),
            (Rule.REVIEWER_ADDRESSED, reading.addresses_reviewer),
        ):
            if holds:
                found.append(Violation(rule=rule, turn=number, quote=text))
    if not any(_teaches(read(text), material) for _, text in tutor):
        found.append(Violation(rule=Rule.NO_TEACHING, turn=0, quote=""))
    return found


def _teaches(reading: Reading, material: Material) -> bool:
    names = quantities(material.sim) if material.sim else []
    return reading.teaches or (reading.requests and any(reading.mentions(name) for name in names))


def _standing_error(material: Material) -> list[Violation]:
    if material.sim is None:
        return []
    wrong: set[int] = set()
    for turn in _student_turns(material.turns):
        reading = read(turn.text)
        right = steps_worked_out(reading, material.sim)
        wrong = (wrong | wrong_steps(reading, material.sim)) - right
    return [Violation(rule=Rule.ERROR_STANDING, turn=0, quote="")] if wrong else []


def _student_turns(turns: Sequence[Spoken]) -> list[Spoken]:
    """Without the opener."""
    return [turn for turn in turns if turn.speaker is Speaker.STUDENT][1:]
