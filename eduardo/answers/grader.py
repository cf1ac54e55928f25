"""Grades attempts against a key: two independent comparisons, bounded in time, the same on every thread.

How the two decide together:

1. The exact comparison (`exact`) runs first, in this process. On pairs that it compares without numbers of finite
   precision (numbers, text, choice letters, and lists, intervals and matrices of them) its verdict is final: an
   ordinary pair costs a fraction of a millisecond and starts nothing.
2. On all other pairs math-verify judges too, in a worker process that may be killed, and in both orders. Where the
   exact comparison has a verdict it stands, because it reads the whole answer, while math-verify is known to accept
   half-read ones and to refuse right ones; a contrary verdict of math-verify is recorded as `stages_disagree`. Where
   the exact comparison cannot tell, math-verify decides.
3. A pair that neither can tell, that is refused as too costly, or that uses up its processor time undecided, is wrong.
   Refusals and time-outs set `timed_out`; a time-out never withdraws a verdict that the exact comparison has.
4. A pair that math-verify would have to decide and that the machine let down (workers or forks killed from outside,
   none could start, too busy to give a pair its time) has no grade: a fault of the machine is no wrong answer.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from eduardo.answers.exact import Decision, decide, read_key, screened
from eduardo.answers.extract import extract_final_answer
from eduardo.answers.normalize import strip_delimiters
from eduardo.answers.screen import screen
from eduardo.answers.tree import TooCostly
from eduardo.answers.verdict import Verdict
from eduardo.answers.workers import PairLost, PairUnjudged, Workers
from eduardo.settings import GraderSettings
from eduardo.types import Grade, Outcome


class Grader:
    """Context manager; usable from any thread, event loop or Ray actor, and picklable (as its settings).

    Worker processes start with the first pair that needs one and are gone after `close`.
    """

    def __init__(self, settings: GraderSettings) -> None:
        self._settings = settings
        self._cache = _Cache(settings.cache_size)
        self._workers: Workers | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Grader], tuple[GraderSettings]]:
        return Grader, (self._settings,)

    def close(self) -> None:
        """End all worker processes. The grader may be used again and then starts new ones."""
        with self._lock:
            workers, self._workers = self._workers, None
        if workers is not None and self._owner == os.getpid():
            workers.close()

    def grade_many(self, key: str, attempts: Sequence[str]) -> list[Grade | None]:
        """Grade whole attempt texts against one key, in order; None where the machine let the grader down.

        Every grade is UNGRADABLE where the key is (see `check_key`). Raises EduardoError when no worker can start: a
        broken installation is no wrong answer.
        """
        plan = _Plan(key, attempts, self._settings.max_answer_chars, self._cache, self._submit)
        for answer, (decision, future) in plan.pending.items():
            try:
                plan.settle(answer, decision, future.result())
            except PairUnjudged as why:
                plan.settle_without(answer, decision, why)
        return plan.grades()

    async def grade_many_async(self, key: str, attempts: Sequence[str]) -> list[Grade | None]:
        """`grade_many` that leaves the event loop free while workers judge."""
        plan = _Plan(key, attempts, self._settings.max_answer_chars, self._cache, self._submit)
        for answer, (decision, future) in plan.pending.items():
            try:
                plan.settle(answer, decision, await asyncio.wrap_future(future))
            except PairUnjudged as why:
                plan.settle_without(answer, decision, why)
        return plan.grades()

    async def second_opinion(self, key: str, answer: str) -> Outcome | None:
        """What math-verify alone says of a final answer: right, wrong, or None when it cannot tell in time.

        Raises EduardoError when no worker can start.
        """
        try:
            screen(key)
            screen(answer)
            verdict = await asyncio.wrap_future(self._submit(strip_delimiters(key), strip_delimiters(answer)))
        except (TooCostly, PairUnjudged):
            return None
        return None if verdict is Verdict.UNKNOWN else Outcome(verdict.value)

    def _submit(self, key: str, answer: str) -> Future[Verdict]:
        with self._lock:
            if self._workers is None or self._owner != os.getpid():  # threads do not survive a fork
                self._workers = Workers(self._settings.num_workers, self._settings.timeout_s)
                self._owner = os.getpid()
            return self._workers.submit(key, answer)


class _Cache:
    """Grades by key and answer; forgets the least recently used."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._grades: OrderedDict[tuple[str, str], Grade] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, answer: str) -> Grade | None:
        with self._lock:
            grade = self._grades.get((key, answer))
            if grade is not None:
                self._grades.move_to_end((key, answer))
            return grade

    def put(self, key: str, answer: str, grade: Grade) -> None:
        with self._lock:
            self._grades[key, answer] = grade
            while len(self._grades) > self._size:
                self._grades.popitem(last=False)


class _Plan:
    """One call: equal answers are decided once, and those that need a worker wait together in `pending`."""

    def __init__(
        self,
        key: str,
        attempts: Sequence[str],
        max_chars: int,
        cache: _Cache,
        submit: Callable[[str, str], Future[Verdict]],
    ) -> None:
        self.pending: dict[str, tuple[Decision, Future[Verdict]]] = {}
        self._key = key
        self._cache = cache
        self._answers = [extract_final_answer(attempt) for attempt in attempts]
        self._settled: dict[str, Grade | None] = {}
        read = read_key(key) if len(key) <= max_chars else None
        self._gradable = read is not None and not isinstance(read, str)
        for answer in dict.fromkeys(answer for answer in self._answers if answer is not None):
            if read is None or isinstance(read, str):
                self._settled[answer] = Grade(outcome=Outcome.UNGRADABLE, answer=answer)
            elif len(answer) > max_chars:
                self._settled[answer] = _grade(answer, Verdict.WRONG, timed_out=True)
            elif remembered := cache.get(key, answer):
                self._settled[answer] = remembered
            else:
                decision = screened(decide(read, answer), key, answer)
                if decision.final:
                    self._keep(_grade(answer, decision.verdict, timed_out=decision.refused))
                else:
                    future = submit(strip_delimiters(key), strip_delimiters(answer))
                    self.pending[answer] = decision, future

    def settle(self, answer: str, decision: Decision, second: Verdict) -> None:
        """Take the verdict of the second comparison."""
        first = decision.verdict
        disagree = {first, second} == {Verdict.RIGHT, Verdict.WRONG}
        self._keep(_grade(answer, second if first is Verdict.UNKNOWN else first, stages_disagree=disagree))

    def settle_without(self, answer: str, decision: Decision, why: PairUnjudged) -> None:
        """Do without the second comparison. Not remembered: another try may find the machine in a better state."""
        first, lost = decision.verdict, isinstance(why, PairLost)
        unmeasured = lost and first is Verdict.UNKNOWN
        self._settled[answer] = None if unmeasured else _grade(answer, first, timed_out=not lost)

    def grades(self) -> list[Grade | None]:
        """One grade for each attempt, in order; call once all pending answers are settled."""
        missing = Grade(outcome=Outcome.WRONG if self._gradable else Outcome.UNGRADABLE, answer=None)
        return [missing if answer is None else self._settled[answer] for answer in self._answers]

    def _keep(self, grade: Grade) -> None:
        assert grade.answer is not None
        self._settled[grade.answer] = grade
        self._cache.put(self._key, grade.answer, grade)


def _grade(answer: str, verdict: Verdict, *, timed_out: bool = False, stages_disagree: bool = False) -> Grade:
    outcome = Outcome.RIGHT if verdict is Verdict.RIGHT else Outcome.WRONG
    return Grade(outcome=outcome, answer=answer, timed_out=timed_out, stages_disagree=stages_disagree)
