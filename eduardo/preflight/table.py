"""The table of a pre-flight."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eduardo.preflight.findings import Finding, Status

FILE_WIDTH = 150
_STYLES = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.SKIPPED: "dim"}


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(title="Pre-flight", title_justify="left")
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("found", ratio=3, overflow="fold")
    table.add_column("to do", ratio=2, overflow="fold")
    for finding in findings:
        style = _STYLES[finding.status]
        table.add_row(
            finding.check,
            f"[{style}]{finding.status}[/{style}]",
            escape(finding.text),
            escape(finding.todo),
        )
    return table


def print_findings(findings: Sequence[Finding], *, elapsed_s: float) -> None:
    """The table, and a line such as '9 pass, 1 warn, 3 skipped in 6.2 s'."""
    console = Console(width=None if sys.stdout.isatty() else FILE_WIDTH)
    console.print(_table(findings))
    counts = Counter(finding.status for finding in findings)
    parts = [f"{counts[status]} {status}" for status in Status if counts[status]]
    console.print(f"{', '.join(parts)} in {elapsed_s:.1f} s", highlight=False)
