"""The simulated judge: reads the judge prompt as rendered, applies its rules, answers in JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import lru_cache

from eduardo.classroom.judge_rules import Material, Spoken, Violation, find_violations
from eduardo.classroom.sim_settings import JudgeParams
from eduardo.templates import render
from eduardo.types import Criterion, Decision, Message, Speaker
from eduardo.views import SILENCE, fenced_turns

_MAX_QUOTE_CHARS = 200  # a vote has a token limit, and a cut one is lost
_LOST = "I find no conversation and no criterion that I could judge."


def judge(messages: Sequence[Message], rng: random.Random, params: JudgeParams) -> str:
    """One vote on the prompt. Plain words instead of a verdict when the prompt is none of ours."""
    found = _find(messages[-1]["content"], params.standing_error_rejects) if messages else None
    if found is None:
        return _LOST
    material, violations = found
    if rng.random() < params.vote_error:
        return _against_the_rules(material, violations)
    return _reject(violations[0]) if violations else _accept("No tutor turn violates the criterion.")


@lru_cache(maxsize=64)
def _find(prompt: str, standing_error_rejects: bool) -> tuple[Material, tuple[Violation, ...]] | None:
    """What the rules find; kept for a while, since every prompt is asked about several times."""
    asked = read_prompt(prompt)
    if asked is None:
        return None
    found = find_violations(*asked, standing_error_rejects=standing_error_rejects)
    return asked[0], tuple(found)


def read_prompt(prompt: str) -> tuple[Material, Criterion] | None:
    """The material and the criterion of a rendered judge prompt, or None when it is not one.

    The criterion is what stands after the fence and the problem what stands before it, so nothing that was
    said in the conversation can change either.
    """
    criterion = next((c for c in Criterion if prompt.endswith(_tail(c))), None)
    material = read_material(prompt)
    return (material, criterion) if criterion and material else None


def read_material(prompt: str) -> Material | None:
    """The problem before the fence and the turns inside it, or None where there is no fence."""
    problem_line = prompt.split("\n", 2)[1:2]
    try:
        turns = fenced_turns(prompt)
        problem = json.loads(problem_line[0])
        return Material(
            problem=str(problem["problem"]),
            answer=str(problem["answer"]),
            turns=tuple(_spoken(str(turn["speaker"]), str(turn["text"])) for turn in turns),
        )
    except (ValueError, LookupError, TypeError):
        return None


def _spoken(speaker: str, text: str) -> Spoken:
    return Spoken(speaker=Speaker(speaker), text="" if text == SILENCE else text)


@lru_cache(maxsize=len(Criterion))
def _tail(criterion: Criterion) -> str:
    """What follows the transcript in the prompt of a criterion."""
    marked = render(f"judge_{criterion.value}", problem_json="", turns_json="", code="0")
    return marked.partition("=== transcript 0 ends ===")[2]


def _reject(violation: Violation) -> str:
    where = f"Turn {violation.turn}: " if violation.turn else ""
    return _vote(f"{where}{violation.rule}.", violation.quote, Decision.REJECT)


def _accept(reason: str) -> str:
    return _vote(reason, "", Decision.ACCEPT)


def _against_the_rules(material: Material, violations: Sequence[Violation]) -> str:
    if violations:
        return _accept("Nothing seems to be wrong.")
    quote = next((turn.text for turn in material.turns if turn.speaker is Speaker.TUTOR), "")
    return _vote("This seems to be too much help.", quote, Decision.REJECT)


def _vote(reasoning: str, quote: str, decision: Decision) -> str:
    return json.dumps(
        {"reasoning": reasoning, "quote": quote[:_MAX_QUOTE_CHARS], "decision": decision.value},
        ensure_ascii=False,
    )
