"""What grading costs: ordinary pairs beside math-verify alone, hard pairs, the time bound, and memory.

Ordinary pairs are a seeded mix of integers, decimals, fractions, money, units, percentages, words and choice letters,
half of them wrong, each at the end of a paragraph as a student writes it. Rates are per second of CPU time of one
core, with the cache off. math-verify gets the same texts, its own extraction, and no time limit.

Run: python benchmarks/grading.py [--full]     (--full: memory over 10^6 gradings instead of 10^5)
"""

from __future__ import annotations

import argparse
import gc
import logging
import random
import time
from collections.abc import Callable

import psutil
import yaml
from math_verify import parse, verify

from eduardo.answers import Grader
from eduardo.resources import configs_dir
from eduardo.settings import GraderSettings

NUM_PAIRS = 3000
NUM_MATH_VERIFY_PAIRS = 300
BATCH_SIZES = (1, 4, 16, 64, 256)
TARGET_PAIRS_PER_S = 2000
NUM_MEMORY_STEPS = 10
MEMORY_BATCH = 16
MEMORY_CACHE_SIZE = 10_000  # full after the first step, so that what grows later is a leak
PARAGRAPH = (
    "First I add what both of them have, 12 + 8 = 20. Then I share it by 4, so $20 / 4 = 5$ for each. " * 4
)
HARD_PAIRS = (
    (r"\sqrt{8}", r"2\sqrt{2}"),
    (r"\frac{\sqrt{3}}{2}", r"\sqrt{\frac{3}{4}}"),
    ("x^2-1", "(x-1)(x+1)"),
    ("y=2x+3", "2x-y+3=0"),
    (r"3\pm\sqrt{2}", r"3+\sqrt{2}, 3-\sqrt{2}"),
    (r"12\pi", r"36\pi/3"),
)
HANGING_PAIR = (r"\sum_{k=1}^{3} k", r"\sum_{k=1}^{9999}\frac{1}{k^k}")
REFUSED_PAIR = ("1", "9^{9^{9}}")

Pair = tuple[str, str]  # key, whole attempt


def ordinary_pair(rng: random.Random) -> Pair:
    number, other = rng.randint(1, 5000), rng.randint(2, 30)
    wrong = rng.random() < 0.5
    shown = number + wrong
    key, answer = rng.choice(
        (
            (str(number), str(shown)),
            (f"{number / 100:.2f}", f"{shown / 100}"),
            (rf"\frac{{{number}}}{{{other}}}", rf"\frac{{{2 * shown}}}{{{2 * other}}}"),
            (f"{number}/{other}", rf"\dfrac{{{shown}}}{{{other}}}"),
            (rf"\${number}", rf"\${shown}.00"),
            (f"{number:,}", str(shown)),
            (str(number), rf"{shown}\text{{ cm}}"),
            (rf"{number}\%", f"{shown}%"),
            ("Friday", r"\text{Monday}" if wrong else r"\text{Friday}"),
            ("B", "(C)" if wrong else "(B)"),
        )
    )
    return key, attempt(answer)


def attempt(answer: str) -> str:
    return f"{PARAGRAPH}So the answer is $\\boxed{{{answer}}}$."


def rate(num: int, work: Callable[[], object]) -> float:
    """Items per second of this process's CPU time, warm: the second of two runs counts."""
    work()
    started = time.process_time()
    work()
    return num / (time.process_time() - started)


def compare_with_math_verify(grader: Grader, pairs: list[Pair]) -> None:
    ours = rate(len(pairs), lambda: [grader.grade_many(key, [text]) for key, text in pairs])
    few = pairs[:NUM_MATH_VERIFY_PAIRS]
    theirs = rate(
        len(few),
        lambda: [
            verify(
                parse(f"${key}$", parsing_timeout=None),
                parse(text, parsing_timeout=None),
                timeout_seconds=None,
            )
            for key, text in few
        ],
    )
    met = "met" if ours >= TARGET_PAIRS_PER_S else "MISSED"
    print(f"ordinary pairs, one attempt a call   {ours:8,.0f} /s   (target {TARGET_PAIRS_PER_S:,}: {met})")
    print(f"the same, math-verify alone          {theirs:8,.0f} /s")
    print(f"ratio                                {ours / theirs:8.1f}")


def measure_batches(grader: Grader, rng: random.Random) -> None:
    for size in BATCH_SIZES:
        batches = [
            (str(rng.randint(1, 5000)), [attempt(str(rng.randint(1, 5000))) for _ in range(size)])
            for _ in range(NUM_PAIRS // size)
        ]
        num = size * len(batches)
        per_s = rate(num, lambda batches=batches: [grader.grade_many(*batch) for batch in batches])  # type: ignore[misc]
        print(f"ordinary pairs, {size:3d} attempts a call   {per_s:8,.0f} /s")


def measure_hard_pairs(grader: Grader, limit_s: float) -> None:
    started = time.perf_counter()
    grader.grade_many(HARD_PAIRS[0][0], [attempt(HARD_PAIRS[0][1])])
    print(f"first hard pair, with worker start   {time.perf_counter() - started:8.2f} s")
    started = time.perf_counter()
    grades = [grader.grade_many(key, [attempt(answer)])[0] for key, answer in HARD_PAIRS]
    print(
        f"hard pair                            {1000 * (time.perf_counter() - started) / len(HARD_PAIRS):8.0f} ms"
    )
    print(
        f"hard pairs on which stages disagree  "
        f"{sum(grade is not None and grade.stages_disagree for grade in grades):8d} of {len(grades)}"
    )
    for name, (key, answer) in (("hanging", HANGING_PAIR), ("refused", REFUSED_PAIR)):
        started = time.perf_counter()
        (grade,) = grader.grade_many(key, [attempt(answer)])
        took = time.perf_counter() - started
        print(
            f"{name} pair                         {took:8.3f} s  "
            f"(limit {limit_s} s, timed out: {grade is not None and grade.timed_out})"
        )


def measure_memory(settings: GraderSettings, num: int) -> None:
    process = psutil.Process()
    with Grader(settings) as grader:
        for step in range(NUM_MEMORY_STEPS + 1):
            gc.collect()
            held = process.memory_info().rss + sum(
                child.memory_info().rss for child in process.children(recursive=True)
            )
            print(f"memory after {step * num // NUM_MEMORY_STEPS:9,} gradings     {held / 2**20:8.1f} MiB")
            if step < NUM_MEMORY_STEPS:
                grade_many_keys(grader, step * num // NUM_MEMORY_STEPS, num // NUM_MEMORY_STEPS)


def grade_many_keys(grader: Grader, first: int, num: int) -> None:
    """Fresh keys all the time, one in a thousand batches hard, so that no cache helps."""
    for start in range(first, first + num, MEMORY_BATCH):
        key = rf"\sqrt{{{start}}}" if start % (1000 * MEMORY_BATCH) == 0 else str(start)
        grader.grade_many(key, [attempt(str(start + index)) for index in range(MEMORY_BATCH)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="memory over 10^6 gradings instead of 10^5")
    num_gradings = 10**6 if parser.parse_args().full else 10**5
    logging.disable(logging.WARNING)  # math-verify warns that we keep the time ourselves
    shipped = GraderSettings(**yaml.safe_load((configs_dir() / "grader" / "default.yaml").read_text()))
    settings = shipped.model_copy(update={"cache_size": 0})
    rng = random.Random(0)
    with Grader(settings) as grader:
        compare_with_math_verify(grader, [ordinary_pair(rng) for _ in range(NUM_PAIRS)])
        measure_batches(grader, rng)
        measure_hard_pairs(grader, settings.timeout_s)
    left = psutil.Process().children(recursive=True)
    print(f"processes left after close           {len(left):8d}")
    measure_memory(shipped.model_copy(update={"cache_size": MEMORY_CACHE_SIZE}), num_gradings)


if __name__ == "__main__":
    main()
