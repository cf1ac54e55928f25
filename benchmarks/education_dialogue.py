"""Time and peak memory of Education Dialogue to Parquet, at the size of the published set.

The published files are not shipped. A stand-in of the same shape (five training files of 8,000 conversations and a
test file of 7,234, each one indented JSON array) is made by resampling the twelve published records in
tests/data: other backgrounds, and a number in one turn so that no two conversations are equal. The command
then runs in a process of its own, pinned to one core.

Run: python benchmarks/education_dialogue.py [--share 0.1]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parents[1] / "tests/data/education_dialogue/conversations_train1.json"
FILES = {**{f"conversations_train{n}.json": 8000 for n in range(1, 6)}, "conversations_eval.json": 7234}
NUM_TOPICS = 400
TIME_TARGET_S = 60
MEMORY_TARGET_MB = 1024


def write_stand_in(folder: Path, share: float) -> int:
    """Write the six files, `share` of their published size, and return the number of conversations."""
    published: list[dict[str, Any]] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    columns = {
        name: sorted({r["background_info"][name] for r in published})
        for name in published[0]["background_info"]
    }
    rng = random.Random(0)
    num_written = 0
    for name, size in FILES.items():
        records = [resample(published, columns, rng, num_written + n) for n in range(round(size * share))]
        (folder / name).write_text(json.dumps(records, indent=4), encoding="utf-8")
        num_written += len(records)
    return num_written


def resample(
    published: list[dict[str, Any]], columns: Mapping[str, list[str]], rng: random.Random, number: int
) -> dict[str, Any]:
    turns = [dict(turn) for turn in rng.choice(published)["conversation"]]
    turns[1]["text"] = f"({number}) {turns[1]['text']}"
    background = {name: rng.choice(values) for name, values in columns.items()}
    return {
        "background_info": background | {"topic": f"Topic {rng.randrange(NUM_TOPICS)}"},
        "conversation": turns,
    }


def run(data_dir: Path, out_dir: Path, format_: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MB of one run of the command on one core."""
    flags = ["--dataset", "education_dialogue", "--data-dir", str(data_dir), "--out-dir", str(out_dir)]
    core = min(os.sched_getaffinity(0))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [
            "taskset",
            "-c",
            str(core),
            sys.executable,
            "-m",
            "eduardo.process_dataset",
            *flags,
            "--format",
            format_,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall_s = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s, cpu_s, after.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the published size")
    share = parser.parse_args().share
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = Path(scratch) / "in"
        data_dir.mkdir()
        num_conversations = write_stand_in(data_dir, share)
        num_mb = sum(file.stat().st_size for file in data_dir.iterdir()) / 1e6
        print(f"{num_conversations} conversations, {num_mb:.0f} MB of JSON, one core")
        for format_ in ("sft", "rl", "both"):
            wall_s, cpu_s, peak_mb = run(data_dir, Path(scratch) / format_, format_)
            print(
                f"  {format_:4}  {wall_s:5.1f} s wall, {cpu_s:5.1f} s CPU (target {TIME_TARGET_S * share:.0f} s), "
                f"peak {peak_mb:.0f} MB so far (target {MEMORY_TARGET_MB} MB)"
            )


if __name__ == "__main__":
    main()
