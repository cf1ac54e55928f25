"""`metrics.jsonl` of a warm start, in the form of every run, from the lines that verl's file logger writes."""

from __future__ import annotations

from collections.abc import Iterator

from eduardo.train.run_folder import RunFolder
from eduardo.verl_adapter.checkpoints import POINTER
from eduardo.verl_adapter.journal import JournalReader, append_line, drop_steps_after, finite_numbers


class LossJournal:
    """Steps that a resumed run takes again are forgotten first."""

    SOURCE = "verl_metrics.jsonl"  # verl begins it anew with every start

    def __init__(self, folder: RunFolder) -> None:
        source, self._target = folder.path / self.SOURCE, folder.metrics
        source.unlink(missing_ok=True)
        self._entries = JournalReader(source)
        newest = folder.checkpoints / POINTER
        drop_steps_after(self._target, int(newest.read_text(encoding="utf-8")) if newest.is_file() else 0)

    def new_lines(self) -> Iterator[dict[str, float]]:
        """What has been measured since the last call; it is in the run's journal by then."""
        for entry in self._entries.new_lines():
            numbers = finite_numbers(entry["data"])
            append_line(self._target, entry["step"], numbers)
            yield {"step": float(entry["step"]), **numbers}
