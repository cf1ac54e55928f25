"""The masked post-test, and the cold solve rate that it is measured against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from eduardo import views
from eduardo.answers import Grader
from eduardo.errors import EndpointUnavailable
from eduardo.llm import Completion
from eduardo.seeds import derive_seed
from eduardo.settings import PostTestSettings
from eduardo.types import (
    Attempt,
    FinishReason,
    Message,
    Outcome,
    PostTest,
    Problem,
    SolveRate,
    TestItem,
    Transcript,
)


class Solver(Protocol):
    """Who takes tests: `eduardo.student.Student` in practice."""

    async def attempt(
        self, messages: list[Message], *, n: int, max_tokens: int, temperature: float, seed: int
    ) -> tuple[Completion, ...]: ...


async def run_post_test(
    transcript: Transcript,
    item: TestItem,
    *,
    student: Solver,
    grader: Grader,
    settings: PostTestSettings,
    seed: int,
) -> PostTest:
    """Pose `item` after the dialogue and grade `settings.attempts` independent attempts.

    Attempts that never came back stay in the result with a fault and no grade; the caller decides from
    `num_graded` whether the test counts. Raises EndpointRejected on a permanent refusal.
    """
    attempts = await _attempt_and_grade(
        views.post_test_view(transcript, item.problem, mask_tutor=settings.mask_tutor),
        key=item.problem.answer,
        student=student,
        grader=grader,
        num_attempts=settings.attempts,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        seed=seed,
    )
    return PostTest(item=item, masked=settings.mask_tutor, attempts=attempts)


async def measure_solve_rate(
    problem: Problem,
    *,
    student: Solver,
    grader: Grader,
    num_samples: int,
    min_graded: int,
    max_tokens: int,
    temperature: float,
    seed: int,
) -> SolveRate | None:
    """The student's cold solve rate: no dialogue, `num_samples` attempts. None when too few could be graded."""
    attempts = await solve_cold(
        problem,
        student=student,
        grader=grader,
        num_attempts=num_samples,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
    )
    outcomes = [a.grade.outcome for a in attempts if a.grade and a.grade.outcome is not Outcome.UNGRADABLE]
    if len(outcomes) < max(1, min_graded):
        return None
    return SolveRate(value=outcomes.count(Outcome.RIGHT) / len(outcomes), num_graded=len(outcomes))


async def solve_cold(
    problem: Problem,
    *,
    student: Solver,
    grader: Grader,
    num_attempts: int,
    max_tokens: int,
    temperature: float,
    seed: int,
) -> tuple[Attempt, ...]:
    """`num_attempts` graded attempts at `problem` alone; one that never came back has a fault and no grade."""
    return await _attempt_and_grade(
        views.cold_solve_view(problem),
        key=problem.answer,
        student=student,
        grader=grader,
        num_attempts=num_attempts,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
    )


async def _attempt_and_grade(
    messages: list[Message],
    *,
    key: str,
    student: Solver,
    grader: Grader,
    num_attempts: int,
    max_tokens: int,
    temperature: float,
    seed: int,
) -> tuple[Attempt, ...]:
    completions, fault = await _collect(messages, student, num_attempts, max_tokens, temperature, seed)
    answered = [c for c in completions if c.finish is not FinishReason.OTHER]
    # A reply without text that ended normally is the student's own silence: wrong, not unmeasured.
    texts = [c.text or "" for c in answered]
    grades = await grader.grade_many_async(key, texts)
    graded = [
        Attempt(
            text=text, grade=grade, fault=None if grade is not None else "the machine let the grader down"
        )
        for text, grade in zip(texts, grades, strict=True)
    ]
    unusable = [
        Attempt(text=c.text or "", grade=None, fault="the endpoint cut the attempt off")
        for c in completions
        if c.finish is FinishReason.OTHER
    ]
    missing = [Attempt(text="", grade=None, fault=fault)] * (num_attempts - len(completions))
    return (*graded, *unusable, *missing)


async def _collect(
    messages: list[Message],
    student: Solver,
    num_attempts: int,
    max_tokens: int,
    temperature: float,
    seed: int,
) -> tuple[Sequence[Completion], str]:
    """Ask for all attempts in one request, so that the server shares the prefix; ask again for missing ones."""
    completions: list[Completion] = []
    fault = "the endpoint returned fewer attempts than were asked for"
    for request in range(num_attempts):
        missing = num_attempts - len(completions)
        if missing <= 0:
            break
        try:
            new = await student.attempt(
                messages,
                n=missing,
                max_tokens=max_tokens,
                temperature=temperature,
                seed=derive_seed(seed, "attempt", request),
            )
        except EndpointUnavailable as error:
            fault = str(error)
            break
        if not new:
            break
        completions.extend(new[:missing])
    return completions, fault
