"""What thousands of dialogues at once cost in one process, against a stub server in its own process on loopback.

The real turn loop, student, judge, post-test, grader, reward and dialogue file; only the tutor is scripted: 11 tutor
turns, 10 student turns, 2 judge requests with n = 2 and one post-test with n = 16 a dialogue. Half-way all dialogues
wait for each other, so that all are in flight at once. Each number of dialogues has a fresh process; CPU time and
memory are those of that process, the server's not included.

Run: python benchmarks/dialogues.py [--num N]     (--num: one row alone)
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from stub_server import JUDGE_MODEL, MODEL, running_stub

from eduardo import views
from eduardo.answers import Grader
from eduardo.dialogue import TutorReply, run_dialogue
from eduardo.judge import Judge
from eduardo.llm import ChatClient
from eduardo.protocol import ThinkingMode
from eduardo.records import DialogueWriter
from eduardo.resources import configs_dir
from eduardo.scoring import score_dialogue
from eduardo.settings import EndpointSettings, GraderSettings, RecipeSettings
from eduardo.student import Student
from eduardo.types import FinishReason, ItemKind, Problem, SolveRate, TestItem, Transcript, TransferPair

NUMS = (250, 500, 1000, 2000)
NUM_WARM_UP = 32
WATCH_S = 0.5
MEETING_TURN = 6  # of 11: here all dialogues wait for each other
NUM_REQUESTS_PER_DIALOGUE = 13
ALLOWED_GROWTH = 1.2  # of a figure, from the fewest dialogues to the most
TURN = "Let me see what you have so far. What would you try next, and why do you think that it helps? " * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    num: int
    wall_s: float
    cpu_s: float
    peak_kib: float  # memory of the process at its highest, above that before the dialogues began
    num_fds_peak: int
    num_fds_after: int

    @property
    def cpu_ms_per_dialogue(self) -> float:
        return 1000 * self.cpu_s / self.num

    @property
    def kib_per_dialogue(self) -> float:
        return self.peak_kib / self.num


class Watch:
    """The highest memory and number of open files of this process while it runs as a task."""

    def __init__(self) -> None:
        self.peak_kib, self.num_fds_peak = 0.0, 0

    async def run(self) -> None:
        while True:
            self.peak_kib = max(self.peak_kib, memory_kib())
            self.num_fds_peak = max(self.num_fds_peak, psutil.Process().num_fds())
            await asyncio.sleep(WATCH_S)


class Script:
    """A tutor that says the same every turn and attends the meeting."""

    thinking_mode = ThinkingMode.PREFILLED

    def __init__(self, meeting: asyncio.Barrier) -> None:
        self._meeting = meeting

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def reply(self, transcript: Transcript) -> TutorReply:
        if len(transcript.tutor_turns) + 1 == MEETING_TURN:
            await self._meeting.wait()
        return TutorReply(raw=f"I ask.</think>{TURN}", finish=FinishReason.STOP)


def memory_kib() -> float:
    return float(psutil.Process().memory_info().rss) / 1024


def settings_of(path: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((configs_dir() / path).read_text(encoding="utf-8"))
    return values


def endpoint(base_url: str, model: str) -> EndpointSettings:
    return EndpointSettings(**settings_of("endpoint/default.yaml") | {"base_url": base_url, "model": model})


def pair(number: int) -> TransferPair:
    items = [
        TestItem(
            problem=Problem(text=f"{kind.value} problem {number}. {TURN}", answer=str(number)),
            baseline=SolveRate(value=0.25),
            kind=kind,
        )
        for kind in (ItemKind.SOURCE, ItemKind.TRANSFER)
    ]
    return TransferPair(id=f"p{number}", source=items[0], variant=items[1])


async def hold(num: int, base_url: str, file: Path) -> Cost:
    recipe = RecipeSettings(**settings_of("recipe/paper.yaml"))
    async with (
        ChatClient(endpoint(base_url, MODEL)) as to_student,
        ChatClient(endpoint(base_url, JUDGE_MODEL)) as to_judge,
    ):
        student, judge = Student(to_student, recipe), Judge(to_judge, recipe.judge)
        with Grader(GraderSettings(**settings_of("grader/default.yaml"))) as grader:

            async def one(number: int, meeting: asyncio.Barrier, writer: DialogueWriter) -> None:
                problem = pair(number).source.problem
                transcript = await run_dialogue(
                    problem,
                    opener=views.opener(problem),
                    tutor=Script(meeting),
                    student=student,
                    settings=recipe.dialogue,
                    seed=number,
                )
                scored = await score_dialogue(
                    pair(number),
                    transcript,
                    student=student,
                    judge=judge,
                    grader=grader,
                    recipe=recipe,
                    seed=number,
                )
                assert not scored.is_void, scored.void_reason
                writer.write(scored)

            async def all_at_once(num: int, name: str) -> None:
                meeting, writer = asyncio.Barrier(num), DialogueWriter(file.with_name(name))
                await asyncio.gather(*(one(number, meeting, writer) for number in range(num)))
                writer.close()

            await all_at_once(NUM_WARM_UP, "warm_up.jsonl")
            gc.collect()
            num_calls, held_kib = to_student.stats.num_calls + to_judge.stats.num_calls, memory_kib()
            watch = Watch()
            watching = asyncio.create_task(watch.run())
            wall, cpu = time.perf_counter(), time.process_time()
            await all_at_once(num, file.name)
            wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
            watching.cancel()
            num_calls = to_student.stats.num_calls + to_judge.stats.num_calls - num_calls
            assert num_calls == NUM_REQUESTS_PER_DIALOGUE * num
    return Cost(
        num=num,
        wall_s=wall_s,
        cpu_s=cpu_s,
        peak_kib=watch.peak_kib - held_kib,
        num_fds_peak=watch.num_fds_peak,
        num_fds_after=psutil.Process().num_fds(),
    )


def measure(num: int) -> Cost:
    """In a process of its own."""
    command = [sys.executable, __file__, "--num", str(num), "--json"]
    return Cost(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout))


def show(costs: list[Cost]) -> None:
    print("at once     wall   CPU/dialogue   memory/dialogue   open files at most, after")
    for cost in costs:
        print(
            f"{cost.num:>7} {cost.wall_s:>6.1f} s {cost.cpu_ms_per_dialogue:>11.2f} ms "
            f"{cost.kib_per_dialogue:>13.1f} KiB   {cost.num_fds_peak:>18}, {cost.num_fds_after}"
        )


def judge_growth(costs: list[Cost]) -> None:
    first, last = costs[0], costs[-1]
    for what, growth in (
        ("CPU per dialogue", last.cpu_ms_per_dialogue / first.cpu_ms_per_dialogue),
        ("memory per dialogue", last.kib_per_dialogue / first.kib_per_dialogue),
        ("open files at most", last.num_fds_peak / first.num_fds_peak),
        ("open files after", last.num_fds_after / first.num_fds_after),
    ):
        verdict = "met" if growth <= ALLOWED_GROWTH else "MISSED"
        print(
            f"{what:<20} from {first.num} to {last.num} dialogues: times {growth:.2f} "
            f"(at most {ALLOWED_GROWTH}: {verdict})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--num", type=int, help="only this number of dialogues at once")
    parser.add_argument("--json", action="store_true", help="print the raw figures of --num")
    arguments = parser.parse_args()
    if arguments.num is None:
        costs = [measure(num) for num in NUMS]
        show(costs)
        judge_growth(costs)
        return
    with running_stub() as base_url, tempfile.TemporaryDirectory() as folder:
        cost = asyncio.run(hold(arguments.num, base_url, Path(folder) / "dialogues.jsonl"))
    if arguments.json:
        print(json.dumps(asdict(cost)))
    else:
        show([cost])


if __name__ == "__main__":
    main()
