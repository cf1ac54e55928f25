"""How a test ends: its part is written, the folder's page renewed, and the tables shown."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from eduardo.evaluation.html_report import write_report
from eduardo.evaluation.parts import Part, write_part


def publish(folder: Path, name: str, part: Part, console: Console) -> None:
    """Write the part and `report.html` into the folder and show what was measured. Raises UserError."""
    write_part(folder, name, part)
    page = write_report(folder)
    console.print(Markdown((folder / f"{name}.md").read_text(encoding="utf-8")))
    console.print(f"report: {page}, and {name}.md, {name}.csv and {name}.part.json beside it")
