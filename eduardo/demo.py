"""`python -m eduardo.demo`: the whole path on two CPU cores, from nothing to a tutor that teaches better."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from eduardo import evaluate, process_dataset, train
from eduardo.classroom.__main__ import main as classroom
from eduardo.console import run_main

_EPILOG = """\
stages (what is there already is kept):
  data         starter problems with measured solve rates            data/starter
  warm start   a tiny tutor that imitates good and bad teaching      models/tiny
  training     DPPO with the simulated student and judge             runs/demo
  evaluation   unseen templates, before and after training           runs/demo/evaluation

examples:
  python -m eduardo.demo
  python -m eduardo.demo --run-dir runs/second run.seed=7
  python -m eduardo.demo --run-dir runs/no_gates ablation=no_gates

The classroom is a simulation: its numbers show that the machinery and the incentives work, not that a tutor
teaches people.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.demo",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data-dir", type=Path, default=Path("data/starter"), help="default: %(default)s")
    parser.add_argument("--model-dir", type=Path, default=Path("models/tiny"), help="default: %(default)s")
    parser.add_argument("--run-dir", type=Path, default=Path("runs/demo"), help="default: %(default)s")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the training")
    arguments = parser.parse_intermixed_args(argv)
    return run_demo(arguments.data_dir, arguments.model_dir, arguments.run_dir, arguments.overrides)


def run_demo(data_dir: Path, model_dir: Path, run_dir: Path, overrides: Sequence[str]) -> int:
    """All stages in order. Returns the exit status of the first one that did not succeed, else 0."""
    console = Console(stderr=True)
    training = [
        f"run.dir={run_dir}",
        f"data_dir={data_dir}",
        f"actor_rollout_ref.model.path={model_dir}",
        *overrides,
    ]
    evaluation = [
        "environment",
        "--tutor",
        f"before={model_dir}",
        "--tutor",
        f"after={run_dir}",
        f"data_file={data_dir / 'test.parquet'}",
        f"out_dir={run_dir / 'evaluation'}",
    ]
    stages: list[tuple[str, Callable[[], int]]] = [
        ("data", lambda: _make_data(data_dir)),
        ("warm start", lambda: classroom(["warm-start", "--out-dir", str(model_dir)])),
        ("training", lambda: train.main(training)),
        ("evaluation", lambda: evaluate.main(evaluation)),
    ]
    seconds: dict[str, float] = {}
    for name, stage in stages:
        console.print(f"[bold]{name}[/]")
        with _timed(name, seconds):
            status = stage()
        if status != 0:
            return status
    took = ", ".join(f"{name} {duration:.0f} s" for name, duration in seconds.items())
    console.print(f"{took}; everything is in {run_dir}")
    return 0


def _make_data(folder: Path) -> int:
    if (folder / "manifest.json").is_file():  # written last
        print(f"{folder}: kept")
        return 0
    return process_dataset.main(["--out-dir", str(folder), "--tutor-prompt", "compact"])


@contextmanager
def _timed(name: str, seconds: dict[str, float]) -> Iterator[None]:
    start = time.monotonic()
    yield
    seconds[name] = time.monotonic() - start


if __name__ == "__main__":
    sys.exit(run_main(main))
