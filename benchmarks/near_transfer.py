"""Time and peak memory of `process_dataset` on near-transfer pairs, at the size of the published set.

The published set is not shipped. The stand-in has as many rows (10,000 and 500); each text is forty words drawn
from the published Education Dialogue records in tests/data, as long as a grade-school problem. Every row passes
the filters, so that all of them are compared with one another.

Run: python benchmarks/near_transfer.py
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "tests/data/education_dialogue/conversations_train1.json"
NUM_ROWS = {"train": 10_000, "test": 500}


def write_stand_in(folder: Path) -> None:
    turns = [turn["text"] for record in json.loads(SAMPLE.read_text()) for turn in record["conversation"]]
    words = " ".join(turns).split()
    rng = random.Random(0)
    for split, num_rows in NUM_ROWS.items():
        rows = [
            {
                "problem": f"{' '.join(rng.choices(words, k=40))} What is {n} + 1?",
                "answer": str(n + 1),
                "transfer_problem": f"{' '.join(rng.choices(words, k=40))} What is {n} + 2?",
                "transfer_answer": str(n + 2),
                "pre_solve_rate": 0.5,
                "pre_solve_rate_transfer_problem": 0.5,
            }
            for n in range(num_rows)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        write_stand_in(Path(scratch))
        command = [sys.executable, "-m", "eduardo.process_dataset", "--data-dir", scratch]
        start = time.perf_counter()
        subprocess.run([*command, "--out-dir", f"{scratch}/out"], check=True)
        wall_s = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s, peak_mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        print(f"10,500 pairs: {wall_s:.1f} s wall, {cpu_s:.1f} s CPU, peak {peak_mb:.0f} MB")


if __name__ == "__main__":
    main()
