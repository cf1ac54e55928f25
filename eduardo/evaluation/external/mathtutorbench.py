"""MathTutorBench (arXiv 2502.18940): its own `main.py` against a served tutor, task by task, and its result files.

One process per task: a run over several tasks keeps the generations of the last one only.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from eduardo.errors import UserError
from eduardo.evaluation.external.settings import MathTutorBenchSettings
from eduardo.evaluation.statistics import Estimate, rate

REPOSITORY = "https://github.com/eth-lre/mathtutorbench"
_MAIN, _CONFIGS, _SCORER = "main.py", "configs", "reward_model/compute_scaffolding_score.py"
_WIN_RATE, _NUM_SAMPLES = "win_rate", "total_samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One number of theirs. `estimate` has an interval where they say how many examples are behind it."""

    task: str
    metric: str
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    base_url: str
    model: str


class MathTutorBench:
    """Raises UserError when `checkout` is none, or has another layout than the one known here."""

    def __init__(self, checkout: Path, settings: MathTutorBenchSettings) -> None:
        self._checkout, self._settings = checkout.resolve(), settings
        needed = [_MAIN, _CONFIGS, *([_SCORER] if settings.score_generations else [])]
        missing = [name for name in needed if not (checkout / name).exists()]
        if missing:
            raise UserError(
                f"--mathtutorbench {checkout}: no checkout of MathTutorBench as it is known here, it has no "
                f"{' and no '.join(missing)}; clone {REPOSITORY}"
            )
        there = sorted(path.name for path in (checkout / _CONFIGS).glob("*.yaml"))
        self.tasks: Sequence[str] = there if settings.tasks is None else settings.tasks
        unknown = [task for task in self.tasks if task not in there]
        if unknown or not there:
            raise UserError(
                f"mathtutorbench.tasks: {checkout / _CONFIGS} holds no {unknown[0] if unknown else 'task'}; "
                f"there are {', '.join(there) or 'none'}"
            )

    def run(self, task: str, server: Server, folder: Path) -> str | None:
        """Run one task unless `folder` holds its results; returns what went wrong, None when nothing did."""
        if not list(folder.glob("results-*.yaml")):
            command = [
                self._settings.python, _MAIN, "--tasks", task, "--provider", "completion_api",
                "--model_args", self._model_args(server), "--output", str(folder.resolve()),
            ]  # fmt: skip
            fault = self._call(command, folder / "run.log", cwd=self._checkout)
            if fault or not list(folder.glob("results-*.yaml")):
                return f"{task}: {fault or 'it ended without a results file'}; see {folder / 'run.log'}"
        return self._score_generations(task, folder) if self._settings.score_generations else None

    def _score_generations(self, task: str, folder: Path) -> str | None:
        """Their reward model, in `folder`, since it writes to where it is started."""
        for generations in sorted(folder.glob("generations-*.json")):
            scores = folder / "scaffolding_scores" / f"{generations.name}_results.json"
            if scores.is_file():
                continue
            command = [self._settings.python, str(self._checkout / _SCORER), "--data_path", generations.name]
            fault = self._call(command, folder / "scoring.log", cwd=folder)
            if not scores.is_file():  # with its scores written, what it does after that does not matter here
                return f"{task}: {fault or 'no scores were written'}; see {folder / 'scoring.log'}"
        return None

    def _model_args(self, server: Server) -> str:
        settings = self._settings
        values = {
            "base_url": server.base_url,
            "model": server.model,
            "is_chat": settings.is_chat,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        for name, value in values.items():
            if set(str(value)) & set(",="):
                raise UserError(
                    f"MathTutorBench cannot be given {name}={value}: its arguments part at , and ="
                )
        return ",".join(f"{name}={value}" for name, value in values.items())

    def _call(self, command: Sequence[str], log: Path, *, cwd: Path) -> str | None:
        """Run to the end, all output to `log`; returns why it failed."""
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("wb") as out:
                ended = subprocess.run(
                    command,
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=self._settings.task_timeout_s,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            return f"it took longer than mathtutorbench.task_timeout_s={self._settings.task_timeout_s:g}"
        except OSError as error:
            raise UserError(
                f"mathtutorbench.python={command[0]}: cannot be started ({error.strerror})"
            ) from error
        return f"it failed with status {ended.returncode}" if ended.returncode else None


def read_results(task: str, folder: Path) -> list[Result]:
    """All numbers in the result files of one task. Raises UserError for a file that is none."""
    found = [
        Result(task=task, metric=metric, estimate=_without_interval(value))
        for path in sorted(folder.glob("results-*.yaml"))
        for metric, value in _numbers(_read(path))
    ]
    for path in sorted(folder.glob("scaffolding_scores/*_results.json")):
        scores = dict(_numbers(_read(path)))
        num_samples = int(scores.pop(_NUM_SAMPLES, 0))
        for metric, value in scores.items():
            estimate = _without_interval(value)
            if metric == _WIN_RATE and num_samples:
                num_wins = round(value * num_samples)
                estimate = rate([i < num_wins for i in range(num_samples)]) or estimate
            found.append(Result(task=task, metric=f"reward model: {metric}", estimate=estimate))
    return found


def _read(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(
            f"{path}: no result file that can be read ({' '.join(str(error).split())[:160]}); remove it to run again"
        ) from error


def _numbers(content: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Dotted name and value of every number, whatever the nesting."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from _numbers(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield prefix, float(content)


def _without_interval(value: float) -> Estimate:
    return Estimate(value=value, low=None, high=None, num_values=1, num_clusters=1)
