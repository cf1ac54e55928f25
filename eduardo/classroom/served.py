"""Who answers for each model of the classroom's server: `in_process`, and what only prompts of a kind ask for."""

from __future__ import annotations

import random

from eduardo.classroom import in_process, sim_personas, sim_rubric
from eduardo.classroom.in_process import JUDGE_MODEL, STUDENT_MODEL
from eduardo.classroom.sim_settings import SimSettings, load_sim_settings
from eduardo.classroom.wire import Brain
from eduardo.types import Message


def served_brains(settings: SimSettings | None = None) -> dict[str, Brain]:
    """A student that acts the persona in its prompt, and a judge that answers rubrics too; else `in_process.brains`."""
    chosen = settings or load_sim_settings()
    plain = in_process.brains(chosen)

    def student(messages: list[Message], rng: random.Random) -> str:
        return sim_personas.reply(messages, rng, chosen.student)

    def judge(messages: list[Message], rng: random.Random) -> str:
        return sim_rubric.rate(messages[-1]["content"]) or plain[JUDGE_MODEL](messages, rng)

    return {**plain, STUDENT_MODEL: student, JUDGE_MODEL: judge}
