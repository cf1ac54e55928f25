"""Timed calls to student and judge: one of each kind, then several at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq

from eduardo.dataset import from_row
from eduardo.errors import EduardoError, EndpointRejected
from eduardo.judge.reply import RESPONSE_FORMAT, read_vote
from eduardo.llm import ChatClient, Completion
from eduardo.preflight.findings import CannotCheck, Finding, Subject, failed, passed, warned
from eduardo.student import Student
from eduardo.types import Criterion, Problem, Speaker, Transcript, Turn
from eduardo.views import judge_view, opener, post_test_view

T = TypeVar("T")
VOTE, TEST, LOAD, SPEED = "judge's vote", "student's test", "load", "speed of the servers"
_SEED = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """Of one kind of call."""

    alone_s: float  # a single call
    num_at_once: int
    together_s: float  # so many at once, until the last one is back

    @property
    def concurrency(self) -> float:
        """Calls that the server works on at full speed: Little's law on what came back."""
        return min(self.num_at_once, max(1.0, self.num_at_once * self.alone_s / self.together_s))

    @property
    def seconds_per_call(self) -> float:
        """When the server is kept busy."""
        return self.together_s / self.num_at_once


@dataclass(frozen=True, slots=True)
class Speed:
    reply: Rate
    vote: Rate
    test: Rate


class Probes:
    """`findings` holds what is known so far, `speed` all of it once `run` has returned."""

    def __init__(self, subject: Subject) -> None:
        self.findings: list[Finding] = []
        self.speed: Speed | None = None
        self._recipe = subject.settings.recipe
        self._classroom = subject.settings.classroom
        self._num_at_once = subject.settings.preflight.probe_requests
        self._transcript = _transcript(_a_problem(subject))

    @property
    def num_calls(self) -> int:
        """That `run` times: a vote, a test and a student's turn alone, then turns and votes at once."""
        return 3 + 2 * self._num_at_once

    async def run(self) -> list[Finding]:
        async with (
            ChatClient(self._classroom.student) as student,
            ChatClient(self._classroom.judge) as judge,
        ):
            try:
                await self._measure(Student(student, self._recipe), judge)
            except EduardoError as error:
                self.findings.append(failed(SPEED, error))
        return self.findings

    async def _measure(self, student: Student, judge: ChatClient) -> None:
        schema = await self._takes_schema(judge)
        votes, vote_s = await _timed(self._vote(judge, schema, seed=_SEED))
        self.findings.append(self._judge_vote(votes, schema, vote_s))
        attempts, test_s = await _timed(self._test(student))
        self.findings.append(self._judge_test(attempts, test_s))
        _, reply_s = await _timed(student.reply(self._transcript, seed=_SEED))
        reply = await self._at_once(lambda seed: student.reply(self._transcript, seed=seed), reply_s)
        vote = await self._at_once(lambda seed: self._vote(judge, schema, seed=seed), vote_s)
        self.speed = Speed(
            reply, vote, Rate(test_s, reply.num_at_once, test_s * reply.num_at_once / reply.concurrency)
        )
        self.findings.append(self._judge_load(reply, vote))

    async def _takes_schema(self, judge: ChatClient) -> bool:
        """Raises EndpointRejected when the recipe insists on a schema that the server refuses."""
        mode = self._recipe.judge.structured_output
        if mode == "off":
            return False
        try:
            await self._vote(judge, schema=True, seed=_SEED, max_tokens=1)
        except EndpointRejected:
            if mode == "json_schema":
                raise
            return False
        return True

    async def _vote(
        self, judge: ChatClient, schema: bool, *, seed: int, max_tokens: int | None = None
    ) -> Completion:
        completions = await judge.complete(
            judge_view(self._transcript, Criterion.NO_HANDOVER),
            temperature=self._recipe.judge.temperature,
            max_tokens=max_tokens or self._recipe.judge.max_tokens,
            seed=seed,
            response_format=RESPONSE_FORMAT if schema else None,
        )
        return completions[0]

    async def _test(self, student: Student) -> tuple[Completion, ...]:
        settings = self._recipe.post_test
        return await student.attempt(
            post_test_view(self._transcript, self._transcript.problem, mask_tutor=settings.mask_tutor),
            n=settings.attempts,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
            seed=_SEED,
        )

    async def _at_once(self, call: Callable[[int], Awaitable[object]], alone_s: float) -> Rate:
        start = time.monotonic()
        # Other seeds than the single call's, so that no cache of replies answers.
        await asyncio.gather(*(call(_SEED + 1 + number) for number in range(self._num_at_once)))
        return Rate(alone_s, self._num_at_once, time.monotonic() - start)

    def _judge_vote(self, completion: Completion, schema: bool, elapsed_s: float) -> Finding:
        vote = read_vote(completion, Criterion.NO_HANDOVER, self._transcript)
        text = f"{elapsed_s:.1f} s, {'by JSON schema' if schema else 'without a schema'}"
        if vote.decision is None:
            return warned(
                VOTE,
                f"{text}: lost ({vote.fault})",
                "look at the judge's model, recipe.judge.max_tokens and classroom.judge.extra_body",
            )
        if not schema and self._recipe.judge.structured_output == "auto":
            return warned(
                VOTE, text, "serve the judge with structured output: votes are then lost less often"
            )
        return passed(VOTE, text)

    def _judge_test(self, attempts: tuple[Completion, ...], elapsed_s: float) -> Finding:
        settings = self._recipe.post_test
        text = f"{len(attempts)} attempts in {elapsed_s:.1f} s"
        if len(attempts) < settings.min_graded:
            return warned(
                TEST,
                f"{text}, {settings.min_graded} needed (recipe.post_test.min_graded)",
                "serve the student with a server that takes n, such as vLLM: every dialogue would be void",
            )
        return passed(TEST, text)

    def _judge_load(self, reply: Rate, vote: Rate) -> Finding:
        text = "; ".join(
            f"{role}: {rate.num_at_once} calls at once in {rate.together_s:.1f} s, one in {rate.alone_s:.1f} s: "
            f"sustains about {rate.concurrency:.0f} at full speed"
            for role, rate in (("student", reply), ("judge", vote))
        )
        return passed(LOAD, text)


async def _timed(call: Awaitable[T]) -> tuple[T, float]:
    start = time.monotonic()
    result = await call
    return result, time.monotonic() - start


def _a_problem(subject: Subject) -> Problem:
    """The first problem of the training data. Lessons without one cannot be tried out."""
    for name in subject.config.data.train_files:
        rows = pq.read_table(Path(name), columns=["extra_info"]).to_pylist()
        row = next((row for row in rows if row["extra_info"]["problem"]), None)
        if row is not None:
            return from_row(row).source.problem
    raise CannotCheck("the training data holds no problem to try the servers with")


def _transcript(problem: Problem) -> Transcript:
    """A dialogue as short as one can be judged."""
    return Transcript(
        problem=problem,
        turns=(
            opener(problem),
            Turn(
                speaker=Speaker.TUTOR, text="Which numbers does the problem give, and what does it ask for?"
            ),
        ),
    )
