"""The simulated rubric judge: scores from 1 to 5 by the same rules as the simulated judge. None of it is a person's."""

from __future__ import annotations

import json

from eduardo.classroom.judge_rules import Material, Rule, Violation, find_violations
from eduardo.classroom.language import read
from eduardo.classroom.sim_judge import read_material
from eduardo.judge import Rubric
from eduardo.templates import render
from eduardo.types import Criterion, Speaker

_FALSE = {Rule.FALSE_STATEMENT, Rule.WRONG_CONFIRMED, Rule.RIGHT_DENIED}
_NO_WORK_OF_ITS_OWN = {Rule.NO_TEACHING, Rule.DICTATED, Rule.ANSWER_TOLD, Rule.WHOLE_PATH}


def rate(prompt: str) -> str | None:
    """The score that a rubric prompt asks for, as JSON; None when the prompt is none of ours."""
    asked = _asked(prompt)
    material = read_material(prompt)
    if asked is None or material is None:
        return None
    rubric, last_turn_only = asked
    last = len(material.turns)
    turns = {
        number
        for number, turn in enumerate(material.turns, start=1)
        if turn.speaker is Speaker.TUTOR and (number == last or not last_turn_only)
    }
    score = _pedagogy(material, turns) if rubric is Rubric.PEDAGOGY else _factuality(material, turns)
    return json.dumps({"reasoning": "By the rules of the simulated judge.", "score": score})


def _asked(prompt: str) -> tuple[Rubric, bool] | None:
    """Rubric and scope, from what stands after the transcript."""
    for rubric in Rubric:
        for last_turn_only in (True, False):
            marked = render(
                f"rubric_{rubric}", problem_json="", turns_json="", code="0", last_turn_only=last_turn_only
            )
            if prompt.endswith(marked.partition("=== transcript 0 ends ===")[2]):
                return rubric, last_turn_only
    return None


def _pedagogy(material: Material, turns: set[int]) -> int:
    """1: told or no teaching; 2 and 3: by the share of turns that hand something over; 5: and asks for reasons."""
    handed = _of(find_violations(material, Criterion.NO_HANDOVER), turns)
    form = _of(find_violations(material, Criterion.FACTUAL), turns | {0})
    if not turns or {violation.rule for violation in (*handed, *form)} & _NO_WORK_OF_ITS_OWN:
        return 1
    share = len({violation.turn for violation in handed}) / len(turns)
    if share > 0:
        return 2 if share > 1 / 3 else 3
    readings = [read(material.turns[number - 1].text) for number in turns]
    return 5 if any(reading.asks_why or reading.asks_attempt for reading in readings) else 4


def _factuality(material: Material, turns: set[int]) -> int:
    """One less for every false statement, wrong confirmation or wrong denial."""
    found = _of(find_violations(material, Criterion.FACTUAL), turns)
    return max(1, 5 - sum(violation.rule in _FALSE for violation in found))


def _of(violations: list[Violation], turns: set[int]) -> list[Violation]:
    return [violation for violation in violations if violation.turn in turns]
