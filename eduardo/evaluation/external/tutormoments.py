"""TutorMoments: summaries that its own command wrote. They are only collected here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eduardo.errors import UserError
from eduardo.evaluation.cells import NOT_MEASURED
from eduardo.evaluation.statistics import Estimate, rate

SUMMARY = "summary.json"
# What is reported → block of the summary, its value, its count, and whether the metric is what is left of 1.
_METRICS = {
    "appropriate scaffolding": ("scaffold_calibrated", "score", "n_clean_yes", False),
    "appropriate rigor": ("rigor_calibrated", "score", "n_clean_yes", False),
    "avoids over-scaffolding": ("overscaffold", "rate", "n_yes", True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentsRun:
    """One run folder of theirs. Metrics are None where the run did not measure them."""

    run: str
    tutor: str
    mode: str
    num_trials: int
    metrics: Mapping[str, Estimate | None]


def read_runs(folder: Path) -> list[MomentsRun]:
    """The runs in a results folder, or the one that it is. Raises UserError when there is none."""
    found = sorted({*folder.glob(SUMMARY), *folder.glob(f"*/{SUMMARY}")})
    if not found:
        raise UserError(
            f"--tutormoments {folder}: no {SUMMARY} in it or in its folders; "
            "give the results folder of `tutormoments run`"
        )
    return [_read(path) for path in found]


def _read(path: Path) -> MomentsRun:
    summary = _object(path)
    trials = summary.get("trials")
    num_trials = trials if isinstance(trials, int) else 1
    core = summary["mean"] if num_trials > 1 else summary
    if not isinstance(core, Mapping):
        raise UserError(f"{path}: several trials but no means of them; another version of TutorMoments?")
    config = _object(path.parent / "config.json") if (path.parent / "config.json").is_file() else {}
    named = {**config, **summary}
    return MomentsRun(
        run=path.parent.name,
        tutor=str(named.get("tutor_model") or named.get("tutor") or path.parent.name),
        mode=str(named.get("mode") or NOT_MEASURED),
        num_trials=num_trials,
        metrics={name: _metric(core, name, num_trials, path) for name in _METRICS},
    )


def _metric(core: Mapping[str, object], name: str, num_trials: int, path: Path) -> Estimate | None:
    """With Wilson's interval where one trial's counts are there; means of trials have none."""
    block_name, value_name, count_name, is_rest = _METRICS[name]
    block = core.get(block_name)
    if not isinstance(block, Mapping):
        raise UserError(f"{path}: no {block_name}; another version of TutorMoments than the one known here?")
    value, count, total = block.get(value_name), block.get(count_name), block.get("n_total")
    if not isinstance(value, int | float):
        return None
    if num_trials == 1 and isinstance(count, int) and isinstance(total, int) and total > 0:
        num_hits = total - count if is_rest else count
        return rate([i < num_hits for i in range(total)])
    return Estimate(
        value=1 - value if is_rest else value, low=None, high=None, num_values=num_trials, num_clusters=1
    )


def _object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(content, dict):
        raise UserError(f"{path}: not an object; another version of TutorMoments than the one known here?")
    return content
