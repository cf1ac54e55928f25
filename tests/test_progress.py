"""Progress in a log file: a line per tenth of the work, and nothing of a bar."""

import io

import pytest
from rich.console import Console

from eduardo.progress import TaskProgress


def lines_of(total: int, steps: int) -> list[str]:
    out = io.StringIO()
    with TaskProgress(Console(file=out, force_terminal=False, width=40)) as progress:
        task = progress.add_task("solve rates [of all]", total=total)
        for _ in range(steps):
            progress.advance(task)
    return out.getvalue().splitlines()


def test_a_log_gets_a_line_per_tenth_of_the_work() -> None:
    lines = lines_of(total=1000, steps=1000)
    assert len(lines) == 11  # the start, and each tenth
    assert lines[0].startswith("solve rates [of all]: 1/1000 after ")
    assert lines[-1].startswith("solve rates [of all]: 1000/1000 after ")


def test_small_work_gets_no_more_lines_than_it_has_steps() -> None:
    assert [line.split(" after")[0] for line in lines_of(total=3, steps=2)] == [
        "solve rates [of all]: 1/3",
        "solve rates [of all]: 2/3",
    ]


def test_a_terminal_gets_a_bar() -> None:
    out = io.StringIO()
    with TaskProgress(Console(file=out, force_terminal=True, width=100)) as progress:
        task = progress.add_task("solve rates", total=2)
        progress.update(task, completed=2)
    assert "━" in out.getvalue() and " after " not in out.getvalue()


def test_a_log_says_how_much_time_is_left() -> None:
    lines = lines_of(total=20, steps=20)
    assert " left" not in lines[0] and " left" not in lines[-1]
    assert all(line.endswith(" left") for line in lines[1:-1])


def test_slow_work_gets_a_line_every_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = iter(range(0, 10_000, 25))
    monkeypatch.setattr("eduardo.progress.time.monotonic", lambda: float(next(now_s)))
    lines = lines_of(total=1000, steps=12)
    assert len(lines) > 3 and lines[1].startswith("solve rates [of all]: 4/1000")
