"""How fast the viewer is on 100,000 dialogues, over HTTP as its page asks: first open, open, filter, search, read;
and how large a report of a run gets.

    python benchmarks/viewer.py [--num-dialogues 100000] [--folder DIR]

The records are synthetic, about as long as those of the published recipe (8 tutor turns with thinking, a post-test
of 16 attempts), with words as frequent as in ordinary text. With --folder they are kept and used again. Beside the
time that passed stands the CPU time of the viewer: on a machine that is busy with other work only that is its own.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psutil

from eduardo.evaluation.html_report import write_report
from eduardo.evaluation.report_dialogues import MAX_DIALOGUES
from eduardo.records import to_json
from eduardo.types import (
    Attempt,
    Criterion,
    Decision,
    EndReason,
    Grade,
    ItemKind,
    Outcome,
    PostTest,
    Problem,
    RewardBreakdown,
    ScoredDialogue,
    SolveRate,
    Speaker,
    TestItem,
    Transcript,
    Turn,
    TurnTokens,
    Verdict,
    Vote,
)
from eduardo.verl_adapter.dialogue_files import step_file

PER_STEP = 128  # 16 problems, 8 dialogues each
NUM_ATTEMPTS = 16
TIMES = 7
NUM_TEXTS = 2000
PAIR, STEP = "PAIR-ID", 987654321  # placeholders
OPEN_LIMIT_S, FILTER_LIMIT_S, REPORT_LIMIT_MB = 3.0, 0.3, 15
QUESTIONS: dict[str, dict[str, object]] = {
    "all, newest first": {},
    "reward of at least 0.5": {"bound": "reward>=0.5", "sort": "reward"},
    "rejected, by step": {"leak": "reject", "sort": "step"},
    "three bounds, by tokens": {
        "bound": ["gain>=0.2", "length_decay<=0", "step>=200"],
        "sort": "visible_tokens",
    },
    "a frequent word": {"text": "w3 "},
    "a rare word": {"text": "w4801 "},
    "a phrase in tutor turns": {"text": '"w1 w2"', "text_in": "tutor"},
    "a word's beginning, rejected": {"text": "w48", "leak": "reject"},
    "last page by reward": {"sort": "reward", "offset": 99_900, "with_steps": False},
}


class Words:
    """Sentences of 5,000 words with Zipf's frequencies, made once and drawn from."""

    def __init__(self, rng: random.Random) -> None:
        vocabulary = [f"w{i}" for i in range(5000)]
        weights = [1 / (i + 1) for i in range(5000)]
        self._rng = rng
        self._sentences = [" ".join(rng.choices(vocabulary, weights, k=20)) for _ in range(20_000)]

    def text(self, num_sentences: int) -> str:
        return ". ".join(self._rng.choices(self._sentences, k=num_sentences))


def dialogue(words: Words, rng: random.Random) -> ScoredDialogue:
    """One with placeholders where dialogues of different steps and problems differ."""
    problem = Problem(text=f"{PAIR}: {words.text(2)}", answer="42")
    turns = [Turn(speaker=Speaker.STUDENT, text=problem.text)]
    for _ in range(8):
        tokens = TurnTokens(visible=rng.randint(20, 150), thinking=rng.randint(50, 500))
        turns.append(Turn(speaker=Speaker.TUTOR, text=words.text(2), thinking=words.text(5), tokens=tokens))
        turns.append(Turn(speaker=Speaker.STUDENT, text=words.text(2), tokens=TurnTokens(visible=40)))
    rejected, post = rng.random() < 0.2, rng.randint(0, NUM_ATTEMPTS)
    decision = Decision.REJECT if rejected else Decision.ACCEPT
    vote = Vote(decision=decision, reason=words.text(2), quote="" if not rejected else words.text(1))
    grades = [Outcome.RIGHT] * post + [Outcome.WRONG] * (NUM_ATTEMPTS - post)
    test = PostTest(
        item=TestItem(problem=problem, baseline=SolveRate(value=0.25), kind=ItemKind.TRANSFER),
        masked=True,
        attempts=tuple(Attempt(text=words.text(6), grade=Grade(outcome=one, answer="42")) for one in grades),
    )
    scored = RewardBreakdown(
        gain=post / NUM_ATTEMPTS - 0.25, length_decay=-0.05, pre=0.25, post=post / NUM_ATTEMPTS
    )
    return ScoredDialogue(
        pair_id=PAIR,
        transcript=Transcript(
            problem=problem,
            turns=tuple(turns),
            end_reason=rng.choice(list(EndReason)[:1] * 4 + [EndReason.TURN_LIMIT]),
        ),
        verdicts=tuple(
            Verdict(criterion=criterion, decision=decision, votes=(vote, vote)) for criterion in Criterion
        ),
        post_test=None if rejected else test,
        reward=RewardBreakdown(gate=-0.2, gated=True) if rejected else scored,
        labels={"split": "train", "step": STEP, "sample": 0, "seed": rng.randrange(2**31)},
    )


def write_run(folder: Path, num_dialogues: int) -> None:
    """Steps of 16 problems and 8 dialogues each; texts come back every NUM_TEXTS dialogues."""
    rng = random.Random(0)
    words = Words(rng)
    patterns = [to_json(dialogue(words, rng)) + b"\n" for _ in range(min(NUM_TEXTS, num_dialogues))]
    for start in range(0, num_dialogues, PER_STEP):
        step = start // PER_STEP + 1
        path = step_file(folder, "train", step)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for number in range(start, min(start + PER_STEP, num_dialogues)):
                pair = f"pair{number // 8 % 10_000}"
                line = patterns[number % len(patterns)].replace(PAIR.encode(), pair.encode())
                file.write(line.replace(str(STEP).encode(), str(step).encode()))


class Viewer:
    """Asks a running viewer, and knows what CPU time it has used."""

    def __init__(self, address: str, process: psutil.Process) -> None:
        self._process = process
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 0
        token = parts.query.removeprefix("token=")
        self._cookie = {"Cookie": f"eduardo_view_{self._port}={token}"}
        self._connection = HTTPConnection(self._host, self._port, timeout=120)

    def cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def ask(self, path: str, wanted: dict[str, object] | None = None) -> dict[str, list[dict[str, object]]]:
        self._connection.request("GET", f"{path}?{urlencode(wanted or {}, doseq=True)}", headers=self._cookie)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path} {wanted}: status {response.status}, {body[:200]!r}")
        return dict(json.loads(body)) if response.headers["Content-Type"] == "application/json" else {}

    def list(self, wanted: dict[str, object]) -> None:
        """What the page asks when a filter changes: fifty dialogues, and counts and sums of all that are left."""
        self.ask("/api/dialogues", wanted)

    def read(self, key: str) -> None:
        self.ask(f"/api/dialogues/{key}")

    def wait_for(self, num_dialogues: int) -> None:
        while True:
            facets = self.ask("/api/state")["facets"]
            if sum(int(str(one["num"])) for one in facets if one["name"] == "grp") >= num_dialogues:
                return
            time.sleep(0.2)


@contextmanager
def viewer(run: Path, cache: Path) -> Iterator[tuple[Viewer, float]]:
    """A running viewer, and the seconds from its start to its first list of dialogues."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "eduardo.view", str(run), "--cache-dir", str(cache)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise RuntimeError("no output of the viewer")
        address = process.stdout.readline().removeprefix("viewer: ").strip()
        found = Viewer(address, psutil.Process(process.pid))
        found.ask("/")
        found.ask("/api/state")
        found.list({})
        yield found, time.perf_counter() - started
    finally:
        process.terminate()
        process.wait(timeout=30)


def report(what: str, found: Viewer, work: Callable[[], None], limit_s: float) -> None:
    """Median time of a question, and the viewer's mean CPU time for it."""
    measured_s, cpu_before_s = [], found.cpu_s()
    for _ in range(TIMES):
        started = time.perf_counter()
        work()
        measured_s.append(time.perf_counter() - started)
    cpu_ms = (found.cpu_s() - cpu_before_s) / TIMES * 1000
    middle_ms = statistics.median(measured_s) * 1000
    print(f"  {what:<30} {middle_ms:6.0f} ms, CPU {cpu_ms:4.0f} ms   (limit {limit_s * 1000:.0f} ms)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--num-dialogues", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        measure(folder / "run", folder / "cache", arguments.num_dialogues)


def measure(run: Path, cache: Path, num_dialogues: int) -> None:
    if not run.exists():
        write_run(run, num_dialogues)
    size = sum(path.stat().st_size for path in run.rglob("*.jsonl"))
    print(f"{num_dialogues:,} dialogues, {size / 1e9:.2f} GB of records")
    if not cache.exists():
        started = time.perf_counter()
        with viewer(run, cache) as (found, first_list_s):
            found.wait_for(num_dialogues)
            indexed_s = time.perf_counter() - started
            cpu_s = found.cpu_s()
        print(
            f"first open: list after {first_list_s:.1f} s, all indexed after {indexed_s:.0f} s, CPU {cpu_s:.0f} s"
        )
    index_bytes = sum(path.stat().st_size for path in cache.iterdir())
    print(f"index: {index_bytes / 1e6:.0f} MB")
    with viewer(run, cache) as (found, open_s):
        print(f"open: {open_s:.2f} s, CPU {found.cpu_s():.2f} s   (limit {OPEN_LIMIT_S:.0f} s)")
        for name, wanted in QUESTIONS.items():
            report(name, found, partial(found.list, wanted), FILTER_LIMIT_S)
        key = found.ask("/api/dialogues", {"limit": 1})["rows"][0]["key"]
        report("one dialogue", found, partial(found.read, str(key)), FILTER_LIMIT_S)
    page = write_report(run)
    print(
        f"report of {MAX_DIALOGUES} dialogues: {page.stat().st_size / 1e6:.1f} MB   (limit {REPORT_LIMIT_MB} MB)"
    )


if __name__ == "__main__":
    main()
