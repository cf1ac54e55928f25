"""Who answers in the embedded classroom about lessons, beside those who answer about problems."""

from __future__ import annotations

import random
from collections.abc import Mapping

from eduardo.classroom import in_process
from eduardo.classroom.preferences import sim_judge, sim_student
from eduardo.classroom.preferences.sim_settings import load_preference_settings
from eduardo.classroom.wire import Brain
from eduardo.types import Message


def with_lessons(about_problems: Mapping[str, Brain]) -> dict[str, Brain]:
    """The same served models, which now also understand the prompts of lessons and of their comparison."""
    params = load_preference_settings()
    student, judge = about_problems[in_process.STUDENT_MODEL], about_problems[in_process.JUDGE_MODEL]

    def reply(messages: list[Message], rng: random.Random) -> str:
        chat = sim_student.read_lesson(messages)
        return student(messages, rng) if chat is None else sim_student.reply(chat, rng, params.student)

    def vote(messages: list[Message], rng: random.Random) -> str:
        compared = sim_judge.judge(messages, rng, params.judge)
        return judge(messages, rng) if compared is None else compared

    return {**about_problems, in_process.STUDENT_MODEL: reply, in_process.JUDGE_MODEL: vote}
