"""What came of a data set: rows read, left out and written, as a table, a list of rejects and a manifest."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

import eduardo
from eduardo.dataset.complaints import Dropped, Rule

REJECTS = "rejects.jsonl"
MANIFEST_VERSION = 1
_MAX_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    num_read: dict[str, int]  # by split of the source
    dropped: dict[str, list[Dropped]]  # by split of the source
    num_rows: dict[str, int]  # by file
    cleaned: dict[str, dict[str, int]] = field(default_factory=dict)  # by split: what was changed, how often
    notes: list[str] = field(default_factory=list)  # facts for the reader, one sentence each

    def counts(self, split: str) -> dict[Rule, int]:
        """Rows left out of `split` by rule, in the order of the rules."""
        counted = Counter(dropped.rule for dropped in self.dropped[split])
        return {rule: counted[rule] for rule in Rule if counted[rule]}

    def reject_lines(self) -> Iterator[bytes]:
        """One JSON line for every row left out."""
        for split, dropped in self.dropped.items():
            for one in dropped:
                line = {
                    "split": split,
                    "file": one.where.file,
                    "row": one.where.row,
                    "line": one.where.line,
                    "rule": one.rule.value,
                    "fault": one.rule.is_fault,
                    "reason": one.reason,
                }
                yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def for_manifest(self) -> dict[str, object]:
        return {
            "num_read": self.num_read,
            "num_rows": self.num_rows,
            "num_dropped": {
                split: {rule.value: count for rule, count in self.counts(split).items()}
                for split in self.dropped
            },
            "num_cleaned": self.cleaned,
        }


def package_versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of what can change the bytes of the output."""
    return {
        "python": platform.python_version(),
        "eduardo": eduardo.__version__,
        **{name: metadata.version(name) for name in names},
    }


def print_report(console: Console, report: BuildReport, out_dir: Path) -> None:
    """Counts by rule, files, the first faulty rows, and where to find the rest."""
    table = Table("", *(f"{split} split" for split in report.num_read), title=f"written to {out_dir}")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("rows read", *map(str, report.num_read.values()))
    counts = [report.counts(split) for split in report.num_read]
    for rule in Rule:
        if any(rule in by_rule for by_rule in counts):
            table.add_row(f"- {rule.value}", *(str(by_rule.get(rule, "")) for by_rule in counts))
    changes = [report.cleaned.get(split, {}) for split in report.num_read]
    for change in dict.fromkeys(change for by_change in changes for change in by_change):
        table.add_row(f"~ {change}", *(str(by_change.get(change, "")) for by_change in changes))
    table.add_section()
    for name, num_rows in report.num_rows.items():
        source = "test" if "test" in name else "train"
        table.add_row(name, *(str(num_rows) if split == source else "" for split in report.num_read))
    console.print(table)
    for note in report.notes:
        console.print(f"note: {note}", markup=False)
    faults = [one for dropped in report.dropped.values() for one in dropped if one.rule.is_fault]
    for fault in faults[:_MAX_SHOWN]:
        console.print(f"left out: {fault}", markup=False)
    if len(faults) > _MAX_SHOWN:
        console.print(f"... and {len(faults) - _MAX_SHOWN} more faulty rows")
    console.print(f"every row left out, with its reason: {out_dir / REJECTS}", markup=False)
