"""The set as files: rows for `process_dataset` and `datasets`, rejects, report, pictures, manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

from eduardo.dataset.output_folder import output_folder
from eduardo.dataset.report import REJECTS, package_versions
from eduardo.transfer_generation import pictures, report
from eduardo.transfer_generation.assemble import Models, finished_rows, published_rows, rejects
from eduardo.transfer_generation.figures import Figures, figures
from eduardo.transfer_generation.outcome import Row
from eduardo.transfer_generation.prices import Prices
from eduardo.transfer_generation.settings import GenerationSettings
from eduardo.transfer_generation.source import SPLITS, SourceSet

_PACKAGES = ("datasketch", "math-verify", "matplotlib", "orjson", "xxhash")


def write_set(
    out_dir: Path,
    sources: SourceSet,
    rows: Mapping[str, Row],
    *,
    models: Models,
    generation: GenerationSettings,
    prices: Prices,
    solution_as_notes: bool,
    about: dict[str, object],
) -> Figures:
    """Write train.jsonl and test.jsonl (a split without rows has no file), rejects, report and manifest; all or none.

    The same rows give the same bytes, in whatever order they were finished. Raises UserError when the folder cannot
    be written.
    """
    finished = finished_rows(sources, rows, generation.near_copies.similarity)
    found = figures(finished, sources)
    with output_folder(out_dir) as staging:
        for split in SPLITS:
            lines = [
                row
                for one in finished
                if one.source.split == split
                for row in published_rows(one, models, solution_as_notes=solution_as_notes)
            ]
            if lines:
                staging.path(f"{split}.jsonl").write_bytes(_json_lines(lines))
            else:
                (out_dir / f"{split}.jsonl").unlink(missing_ok=True)
        staging.path(REJECTS).write_bytes(_json_lines(rejects(finished, sources)))
        cost = prices.cost(found.rewriter_usage, found.student_usage)
        staging.path("report.md").write_text(report.to_markdown(found, about, cost), encoding="utf-8")
        staging.path("report.json").write_bytes(report.to_json(found, about))
        staging.path("acceptance.png").write_bytes(pictures.acceptance(found))
        staging.path("gaps.png").write_bytes(pictures.gaps(found, generation.solve_rate))
        staging.path("solve_rates.png").write_bytes(pictures.solve_rates(found, generation.solve_rate))
        staging.write_manifest({**about, "packages": package_versions(_PACKAGES)})
    return found


def print_summary(console: Console, found: Figures, prices: Prices, out_dir: Path) -> None:
    table = Table("drafts", *(f"round {number}" for number in found.rounds), title=f"written to {out_dir}")
    for column in table.columns[1:]:
        column.justify = "right"
    for outcome in ("accepted", *found.reasons):
        table.add_row(outcome, *(str(by_outcome.get(outcome, "")) for by_outcome in found.rounds.values()))
    console.print(table)
    console.print(
        f"{found.num_with_variant} of {found.num_finished} problems have a variant "
        f"({found.num_variants['accepted']} accepted, {found.num_variants['closest']} kept as the closest)"
    )
    if found.num_finished < found.num_chosen:
        console.print(f"{found.num_chosen - found.num_finished} problems are still open and not in the set")
    if found.num_dropped:
        left_out = ", ".join(f"{reason} {count}" for reason, count in found.num_dropped.items())
        console.print(f"rows of the source left out: {left_out}")
    cost = prices.cost(found.rewriter_usage, found.student_usage)
    if cost is not None:
        console.print(f"cost at the prices set: {cost:.2f}")
    console.print(f"report: {out_dir / 'report.md'}; every refusal with its reason: {out_dir / REJECTS}")


def _json_lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
