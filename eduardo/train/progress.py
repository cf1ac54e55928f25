"""What a person sees of a run: a live bar on a terminal, a line per step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from eduardo.config.environments import NAMES

Metrics = Mapping[str, float]


class RunProgress:
    """Context manager. `show(line)` takes the lines of the metrics journal as they come."""

    def __init__(self, console: Console, *, total_steps: int, first_step: int) -> None:
        self._console = console
        self._total = total_steps
        self._done = first_step
        self._step_seconds: list[float] = []
        self._last_seen_s = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("step"),
                MofNCompleteColumn(),
                BarColumn(bar_width=24),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=self._console,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                "starting verl, Ray and vLLM", total=self._total, completed=self._done
            )
        else:
            self._console.print("starting verl, Ray and vLLM (some minutes on a laptop)")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)

    def show(self, metrics: Metrics) -> None:
        """One line of the journal."""
        if (validation := validation_summary(metrics)) is not None:
            self.say(f"validation after step {metrics['step']:.0f}: {validation}")
        if "dialogue/void_share" not in metrics:
            return
        if "timing_s/step" not in metrics:
            self.say(f"step {metrics['step']:.0f} was not learned from: {step_summary(metrics)}")
            return
        self._done = int(metrics["step"])
        now = time.monotonic()
        self._step_seconds.append(now - self._last_seen_s if self._step_seconds else metrics["timing_s/step"])
        self._last_seen_s = now
        text = f"{step_summary(metrics)}  {self._time_left()}"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, description=text)
        else:
            self.say(f"step {self._done}/{self._total}  {text}")

    def _time_left(self) -> str:
        recent = self._step_seconds[-5:]
        per_step_s = sum(recent) / len(recent)
        return f"{per_step_s:.0f} s/step, {duration((self._total - self._done) * per_step_s)} left"


def step_summary(metrics: Metrics) -> str:
    return _summary(metrics, "dialogue")


def validation_summary(metrics: Metrics) -> str | None:
    return _summary(metrics, "val") if "val/void_share" in metrics else None


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _summary(metrics: Metrics, prefix: str) -> str:
    """All numbers of one environment; of several, each under its name."""
    parts = [name for name in NAMES if f"{prefix}/{name}/void_share" in metrics]
    if not parts:
        return _numbers(metrics, prefix)
    return "  |  ".join(f"{name}: {_numbers(metrics, f'{prefix}/{name}')}" for name in parts)


def _numbers(metrics: Metrics, prefix: str) -> str:
    reward, delta = metrics.get(f"{prefix}/reward_total"), metrics.get(f"{prefix}/delta")
    leak, void = metrics.get(f"{prefix}/rejected_no_handover"), metrics[f"{prefix}/void_share"]
    if f"{prefix}/preference" in metrics and delta is None:
        ended = metrics.get(f"{prefix}/ended_tutor_ended")
        preference = _percent(metrics[f"{prefix}/preference"])
        return f"reward {_number(reward)}  preferred {preference}  ended {_percent(ended)}  void {_percent(void)}"
    return f"reward {_number(reward)}  Δ {_number(delta)}  leaks {_percent(leak)}  void {_percent(void)}"


def _number(value: float | None) -> str:
    return "  –  " if value is None else f"{value:+.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
