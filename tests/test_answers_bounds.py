"""Grading is bounded in time, leaves no process behind, and is the same wherever it runs."""

from __future__ import annotations

import asyncio
import errno
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from eduardo.answers import Grader, check_key, extract_final_answer
from eduardo.answers.worker import judge_in_fork
from eduardo.errors import EduardoError
from eduardo.llm import Completion
from eduardo.posttest import solve_cold
from eduardo.settings import GraderSettings
from eduardo.types import FinishReason, Grade, Outcome, Problem

SETTINGS = GraderSettings(timeout_s=3.0, num_workers=1, cache_size=100, max_answer_chars=1000)
IMPATIENT = SETTINGS.model_copy(update={"timeout_s": 1.0})
TESTS = Path(__file__).parent
HANGING_KEY = r"\sum_{k=1}^{3} k"  # only math-verify reads sums
HANGING = r"\boxed{\sum_{k=1}^{9999}\frac{1}{k^k}}"
HARD = [(r"\sqrt{8}", r"\boxed{2\sqrt2}", Outcome.RIGHT), (r"x^2-1", r"\boxed{(x+1)^2}", Outcome.WRONG)]
WORKER_ONLY = (HANGING_KEY, r"\boxed{6}", Outcome.RIGHT)  # the exact comparison has no verdict
MIXED = [
    *HARD,
    WORKER_ONLY,
    (r"\frac{1}{2}", r"\boxed{0.5}", Outcome.RIGHT),
    ("(1,2)", r"\boxed{(1, 2)}", Outcome.RIGHT),
]


def nested_fractions(depth: int) -> str:
    return r"\frac{1}{" * depth + "1" + "}" * depth


PATHOLOGICAL = {
    "tower of nines": "9^{9^{9}}",
    "tower of tens": "10^{10^{10}}",
    "tower of twos": "2^{2^{64}}",
    "five storeys": "2^{3^{4^{5^{6}}}}",
    "without braces": "9^9^9^9",
    "factorial": "(10^9)!",
    "binomial": r"\binom{10^8}{5\cdot10^7}",
    "sum": r"\sum_{k=1}^{10^9}\frac1{k^k}",
    "nesting": nested_fractions(300),
    "digits": "7" * 6000,
    "scientific": "1e99999",
    "exponential": "e^{10^{20}}",
    "brackets": "(" * 400 + "1" + ")" * 400,
}


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(SETTINGS) as grader:
        yield grader


@pytest.fixture(scope="module")
def impatient() -> Iterator[Grader]:
    with Grader(IMPATIENT) as grader:
        yield grader


def grade(grader: Grader, key: str, attempt: str) -> Any:
    return grader.grade_many(key, [attempt])[0]


def outcomes(grader: Grader) -> list[Outcome]:
    return [grade(grader, key, attempt).outcome for key, attempt, _ in MIXED]


EXPECTED = [outcome for *_, outcome in MIXED]


def children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


@pytest.mark.parametrize("answer", PATHOLOGICAL.values(), ids=PATHOLOGICAL)
@pytest.mark.parametrize("key", ["1", r"x^2+\sqrt{3}"])
def test_g10_a_pathological_answer_is_refused_at_once_and_counted(
    grader: Grader, key: str, answer: str
) -> None:
    started = time.perf_counter()
    refused = grade(grader, key, f"\\boxed{{{answer}}}")
    assert time.perf_counter() - started < 1.0
    assert refused.outcome is Outcome.WRONG
    assert refused.timed_out
    assert grade(grader, "1", r"\boxed{1}").outcome is Outcome.RIGHT


@pytest.mark.parametrize(
    "text",
    [
        *(
            "1 " + "a" * 900,
            "1 " + "ab " * 300,
            "=".join("x" * 490),
            "=".join("1" * 490),
            "," * 900,
            "{" * 500,
        ),
        *(
            "1+" * 450 + "1",
            r"\pi," * 200,
            "-" * 900 + "1",
            r"\sqrt" * 150 + "2",
            "2^" * 450 + "2",
            "'" * 900,
        ),
        *(
            r"1\pm2\pm3\pm4\pm5",
            "½" * 900,
            "(A) " * 200 + "7",
            "2999!" * 190,
            r"\frac{1}{2999!}" * 60,
            "x_" * 400,
        ),
    ],
    ids=lambda text: text[:12],
)
def test_long_and_repetitive_text_is_read_and_compared_quickly(text: str) -> None:
    started = time.perf_counter()
    check_key(text)
    extract_final_answer(f"\\boxed{{{text}")
    assert time.perf_counter() - started < 1.0


def test_a_pair_that_runs_out_of_time_is_killed_alone(impatient: Grader) -> None:
    grade(impatient, *HARD[0][:2])  # the worker has started
    attempts = [r"\boxed{6}", HANGING, r"\boxed{7}", r"\boxed{3+3}", HANGING]
    started = time.perf_counter()
    grades = impatient.grade_many(HANGING_KEY, attempts)
    assert time.perf_counter() - started < 25.0
    assert grades[1] is grades[4]  # equal answers are judged once
    assert [grade.outcome is Outcome.RIGHT for grade in grades] == [True, False, False, True, False]
    assert [grade.timed_out for grade in grades] == [False, True, False, False, True]


def test_after_a_time_out_the_next_pair_need_not_wait_for_a_start(impatient: Grader) -> None:
    assert grade(impatient, HANGING_KEY, HANGING).timed_out
    workers = children()
    assert grade(impatient, "x^2-4", r"\boxed{(x-2)(x+2)}").outcome is Outcome.RIGHT
    assert children() == workers


def test_a_time_out_is_not_remembered_but_a_verdict_is(impatient: Grader) -> None:
    assert grade(impatient, HANGING_KEY, HANGING).timed_out
    started = time.perf_counter()
    assert grade(impatient, HANGING_KEY, HANGING).timed_out
    assert time.perf_counter() - started > 0.4
    assert grade(impatient, *HARD[0][:2]) is grade(impatient, *HARD[0][:2])


@pytest.mark.slow
def test_a_worker_killed_from_outside_costs_no_grade() -> None:
    before = children()
    with Grader(SETTINGS.model_copy(update={"cache_size": 0})) as grader:
        assert outcomes(grader) == EXPECTED
        for process in children() - before:
            process.kill()
        assert outcomes(grader) == EXPECTED


def judging(
    pair: tuple[str, str], grader: Grader, meddle: Callable[[psutil.Process], None]
) -> tuple[Grade | None, int]:
    """The grade of a pair, and how many forks judged it, each of which `meddle` got hold of."""
    before = children()
    grade(grader, *WORKER_ONLY[:2])
    (worker,) = children() - before
    met: set[psutil.Process] = set()
    with ThreadPoolExecutor(1) as thread:
        graded = thread.submit(grade, grader, *pair)
        while not graded.done():
            for fork in set(worker.children()) - met:
                met.add(fork)
                meddle(fork)
            time.sleep(0.005)
    return graded.result(), len(met)


@pytest.fixture
def hasty() -> Iterator[Grader]:
    with Grader(SETTINGS.model_copy(update={"timeout_s": 0.1, "cache_size": 0})) as grader:
        yield grader


@pytest.mark.parametrize("meddle", [psutil.Process.kill, psutil.Process.suspend])
def test_w02_a_pair_whose_forks_are_killed_or_starved_is_tried_again_and_then_not_graded(
    meddle: Callable[[psutil.Process], None], hasty: Grader
) -> None:
    assert judging((HANGING_KEY, HANGING), hasty, meddle) == (None, 2)
    assert grade(hasty, *WORKER_ONLY[:2]).outcome is Outcome.RIGHT


def test_a_pair_that_uses_up_its_time_itself_is_wrong_at_once(hasty: Grader) -> None:
    judged, num_forks = judging((HANGING_KEY, HANGING), hasty, lambda _: None)
    assert judged == Grade(outcome=Outcome.WRONG, answer=HANGING[len(r"\boxed{") : -1], timed_out=True)
    assert num_forks == 1


def test_a_pair_that_crashes_its_fork_is_wrong(hasty: Grader) -> None:
    judged, _ = judging((HANGING_KEY, HANGING), hasty, lambda fork: fork.send_signal(signal.SIGSEGV))
    assert judged is not None and (judged.outcome, judged.timed_out) == (Outcome.WRONG, True)


def no_room(*_: object, **__: object) -> int:
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def test_w02_where_no_process_can_start_a_pair_is_lost_not_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", no_room)
    assert judge_in_fork(*WORKER_ONLY[:2], 1.0, 20.0) == "lost"
    monkeypatch.setattr(subprocess, "Popen", no_room)
    with Grader(SETTINGS) as grader:
        assert grader.grade_many(HANGING_KEY, [r"\boxed{6}", r"\boxed{3+3}"]) == [None, None]
        assert grade(grader, *HARD[0][:2]).outcome is Outcome.RIGHT  # by the exact comparison alone


class Sums:
    """A student whose every attempt is right, and can only be graded by a worker."""

    async def attempt(self, messages: object, *, n: int, **_: object) -> tuple[Completion, ...]:
        return (Completion(text=r"\boxed{6}", finish=FinishReason.STOP),) * n


async def test_w02_attempts_that_the_machine_could_not_grade_are_unmeasured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", no_room)
    with Grader(SETTINGS) as grader:
        attempts = await solve_cold(
            Problem(text="Add 1, 2 and 3.", answer=HANGING_KEY),
            student=Sums(),
            grader=grader,
            num_attempts=3,
            max_tokens=9,
            temperature=0.6,
            seed=1,
        )
    assert [attempt.grade for attempt in attempts] == [None] * 3
    assert {attempt.fault for attempt in attempts} == {"the machine let the grader down"}


def test_ordinary_pairs_start_no_process() -> None:
    before = children()
    with Grader(SETTINGS) as grader:
        pairs = [
            ("18", "18"),
            (r"\frac34", "0.75"),
            ("Friday", "friday"),
            ("(1,2)", "(1,2)"),
            ("B", "(B)"),
            ("5", "6"),
        ]
        for key, answer in pairs:
            grade(grader, key, f"\\boxed{{{answer}}}")
        assert children() == before


@pytest.mark.slow
def test_a_closed_grader_leaves_no_process_and_can_be_used_again() -> None:
    before = children()
    grader = Grader(SETTINGS)
    for _ in range(2):
        assert grade(grader, *HARD[0][:2]).outcome is Outcome.RIGHT
        grader.close()
        grader.close()
        assert children() <= before


def test_close_during_a_hard_pair_ends_it_and_leaves_no_process() -> None:
    before = children()
    grader = Grader(SETTINGS)
    grade(grader, *HARD[0][:2])
    failures: list[Exception] = []

    def work() -> None:
        try:
            grade(grader, HANGING_KEY, HANGING)
        except EduardoError as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.3)
    grader.close()
    thread.join(timeout=5)
    assert not thread.is_alive()
    assert "closed" in str(failures[0])
    assert children() <= before


def test_a_worker_that_cannot_start_is_an_error_and_no_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Grader(SETTINGS) as grader, pytest.raises(EduardoError, match="did not start"):
        grade(grader, *HARD[0][:2])


def test_a_pickled_grader_is_one_with_the_same_settings() -> None:
    copy = pickle.loads(pickle.dumps(Grader(SETTINGS)))
    assert grade(copy, "18", r"\boxed{18}").outcome is Outcome.RIGHT


def test_grades_are_the_same_in_threads(impatient: Grader) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: outcomes(impatient), range(16)))
    assert results == [EXPECTED] * 16


async def test_grades_are_the_same_in_asyncio_and_the_loop_stays_free(impatient: Grader) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    hanging = await impatient.grade_many_async(HANGING_KEY, [HANGING])
    assert hanging[0].timed_out
    assert ticks > 10
    results = await asyncio.gather(*(impatient.grade_many_async(key, [attempt]) for key, attempt, _ in MIXED))
    ticking.cancel()
    assert [grades[0].outcome for grades in results] == EXPECTED


async def test_a_cancelled_call_leaves_the_grader_working(impatient: Grader) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await impatient.grade_many_async(HANGING_KEY, [HANGING])
    grades = await impatient.grade_many_async(HARD[0][0], [HARD[0][1]])
    assert grades[0].outcome is Outcome.RIGHT


def _grade_in_child(connection: object, grader: Grader) -> None:
    with grader:
        connection.send(outcomes(grader))  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_grades_are_the_same_in_daemonic_child_processes(grader: Grader, method: str) -> None:
    assert outcomes(grader) == EXPECTED
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=_grade_in_child, args=(theirs, grader), daemon=True)  # type: ignore[attr-defined]
    child.start()
    assert ours.poll(40)
    assert ours.recv() == EXPECTED
    child.join()


@pytest.mark.slow
def test_a_killed_program_leaves_no_worker_behind() -> None:
    code = (
        "from test_answers_bounds import *; grader = Grader(SETTINGS)\n"
        "grade(grader, *HARD[0][:2]); print('started', flush=True); grade(grader, HANGING_KEY, HANGING)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, cwd=TESTS
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "started\n"
    time.sleep(0.3)
    workers = psutil.Process(program.pid).children(recursive=True)
    assert len(workers) == 2  # the worker and its fork
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive


def test_the_grader_needs_no_torch() -> None:
    code = (
        "import sys, eduardo.answers; assert not {'torch', 'ray', 'sympy', 'math_verify'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=TESTS.parent)


def test_memory_stays_flat_over_many_gradings() -> None:
    def resident() -> int:
        gc.collect()
        return psutil.Process().memory_info().rss

    with Grader(SETTINGS) as grader:
        for first in range(2):
            for number in range(5000):
                grade(grader, str(number), f"So it is \\boxed{{{number}.0}}.")
            if first == 0:
                before = resident()
        assert resident() - before < 4 << 20
