"""`metrics.jsonl` of a warm start, in the form of every run, from the lines that verl's file logger writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from eduardo.train.run_folder import RunFolder
from eduardo.verl_adapter.journal import drop_steps_after


class LossJournal:
    """Steps that a resumed run takes again are forgotten first."""

    SOURCE = "verl_metrics.jsonl"  # verl begins it anew with every start

    def __init__(self, folder: RunFolder) -> None:
        self._source, self._target = folder.path / self.SOURCE, folder.metrics
        self._source.unlink(missing_ok=True)
        self._offset = 0
        newest = folder.checkpoints / "latest_checkpointed_iteration.txt"
        drop_steps_after(self._target, int(newest.read_text(encoding="utf-8")) if newest.is_file() else 0)

    def new_lines(self) -> Iterator[dict[str, float]]:
        """What has been measured since the last call; it is in the run's journal by then."""
        if not self._source.exists():
            return
        with self._source.open("rb") as file, self._target.open("a", encoding="utf-8") as journal:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                entry = json.loads(line)
                numbers = {key: float(v) for key, v in entry["data"].items() if _is_finite(v)}
                journal.write(json.dumps({"step": entry["step"], **numbers}) + "\n")
                journal.flush()
                yield {"step": float(entry["step"]), **numbers}


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
