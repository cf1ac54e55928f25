"""Turn a data set into the Parquet files that training reads: `python -m eduardo.process_dataset --help`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.table import Table

from eduardo.console import run_main
from eduardo.dataset import Band, HubDataset, LocalFolder, PairSource, SelectionSettings
from eduardo.dataset.build import REJECTS, BuildReport, BuildSettings, build_near_transfer
from eduardo.dataset.checks import SameAnswer
from eduardo.errors import UserError
from eduardo.resources import configs_dir

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)

_EPILOG = """
[b]Examples[/b]

The embedded starter set, with nothing to download:

    python -m eduardo.process_dataset --out-dir data/starter

A folder with a train and a test file (.jsonl, .json, .jsonl.gz, .json.gz or .parquet):

    python -m eduardo.process_dataset --data-dir my_pairs --out-dir data/mine

The published set (--revision pins a commit):

    python -m eduardo.process_dataset --hf-dataset dmacjam/eduardoRL-transfer-dataset --out-dir data/published
"""
_SOURCE = "Where the pairs come from (default: the embedded starter set)"
_SIZE = "How many rows"
_FILTER = "Which rows"


@app.command(epilog=_EPILOG)
def process_dataset(
    out_dir: Annotated[Path, typer.Option(help="Folder to write to; made if absent.", show_default=False)],
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with a train and a test file.", rich_help_panel=_SOURCE)
    ] = None,
    hf_dataset: Annotated[
        str | None, typer.Option(help="Data set of the Hugging Face Hub.", rich_help_panel=_SOURCE)
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Commit, tag or branch of --hf-dataset.", rich_help_panel=_SOURCE)
    ] = None,
    num_train: Annotated[
        int, typer.Option(help="At most so many rows in train.parquet.", min=1, rich_help_panel=_SIZE)
    ] = 10_000,
    num_test: Annotated[
        int,
        typer.Option(help="Rows of val.parquet, taken from the train split.", min=1, rich_help_panel=_SIZE),
    ] = 100,
    num_holdout: Annotated[
        int, typer.Option(help="At most so many rows in test.parquet.", min=1, rich_help_panel=_SIZE)
    ] = 500,
    seed: Annotated[int, typer.Option(help="Decides which rows go where.", min=0)] = 42,
    solve_rate_min: Annotated[
        float, typer.Option(help="Lowest solve rate, train and val.", min=0, max=1, rich_help_panel=_FILTER)
    ] = 0.02,
    solve_rate_max: Annotated[
        float, typer.Option(help="Highest solve rate, train and val.", min=0, max=1, rich_help_panel=_FILTER)
    ] = 0.65,
    holdout_solve_rate_min: Annotated[
        float, typer.Option(help="Lowest solve rate, test.", min=0, max=1, rich_help_panel=_FILTER)
    ] = 0.0,
    holdout_solve_rate_max: Annotated[
        float, typer.Option(help="Highest solve rate, test.", min=0, max=1, rich_help_panel=_FILTER)
    ] = 1.0,
    min_graded: Annotated[
        int,
        typer.Option(help="Fewest graded samples behind a solve rate.", min=1, rich_help_panel=_FILTER),
    ] = 1,
    similarity: Annotated[
        float,
        typer.Option(
            help="Overlap of wording from which problems count as near-duplicates and stay on one side.",
            min=0.2,
            max=1,
            rich_help_panel=_FILTER,
        ),
    ] = 0.5,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at faulty rows instead of leaving them out.", rich_help_panel=_FILTER
        ),
    ] = False,
    tutor_prompt: Annotated[str, typer.Option(help="Tutor's system prompt: default or compact.")] = "default",
) -> None:
    """Turn near-transfer pairs into [b]train.parquet[/b], [b]val.parquet[/b] and [b]test.parquet[/b].

    train and val are disjoint and come from the train split, test comes from the test split. Near-duplicate
    problems never lie on both sides. The same input and seed give the same bytes. Rows that are left out are
    listed with their reason in rejects.jsonl; manifest.json says what went in and what came out.
    """
    settings = BuildSettings(
        selection=SelectionSettings(
            num_train=num_train,
            num_val=num_test,
            num_test=num_holdout,
            seed=seed,
            band=_band("--solve-rate", solve_rate_min, solve_rate_max),
            test_band=_band("--holdout-solve-rate", holdout_solve_rate_min, holdout_solve_rate_max),
            min_graded=min_graded,
            similarity=similarity,
        ),
        prompt_style=tutor_prompt,
        end_tag=_end_tag(),
        strict=strict,
    )
    source = _source(data_dir, hf_dataset, revision)
    from eduardo.answers import check_key  # after the flags are checked: it loads a computer algebra system

    console = Console(highlight=False)
    with (
        console.status("reading, checking and grouping ...") if console.is_terminal else _quiet(),
        _grader() as same,
    ):
        report = build_near_transfer(source, out_dir, settings, check_key=check_key, same_answer=same)
    _print_report(console, report, out_dir, num_test)


def _source(data_dir: Path | None, hf_dataset: str | None, revision: str | None) -> PairSource:
    if data_dir is not None and hf_dataset is not None:
        raise UserError("--data-dir and --hf-dataset exclude each other; give one")
    if revision is not None and hf_dataset is None:
        raise UserError("--revision goes with --hf-dataset")
    if data_dir is not None:
        return LocalFolder(data_dir)
    if hf_dataset is not None:
        return HubDataset(hf_dataset, revision)
    from eduardo.classroom.starter import starter_source

    return starter_source()


def _band(flag: str, low: float, high: float) -> Band:
    if low > high:
        raise UserError(f"{flag}-min {low:g} is above {flag}-max {high:g}")
    return Band(low, high)


def _end_tag() -> str:
    """The recipe's end tag, which the tutor's system prompt names."""
    recipe = yaml.safe_load((configs_dir() / "recipe" / "paper.yaml").read_text(encoding="utf-8"))
    return str(recipe["dialogue"]["end_tag"])


@contextmanager
def _quiet() -> Iterator[None]:
    yield


@contextmanager
def _grader() -> Iterator[SameAnswer]:
    """Whether two keys mean the same, decided by the grader that the reward uses."""
    from eduardo.answers import Grader
    from eduardo.settings import GraderSettings
    from eduardo.types import Outcome

    raw = yaml.safe_load((configs_dir() / "grader" / "default.yaml").read_text(encoding="utf-8"))
    with Grader(GraderSettings(**raw)) as grader:
        yield lambda a, b: grader.grade_many(a, [f"\\boxed{{{b}}}"])[0].outcome is Outcome.RIGHT


def _print_report(console: Console, report: BuildReport, out_dir: Path, num_val: int) -> None:
    table = Table("rows", *report.num_read, title=f"written to {out_dir}", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("read", *map(str, report.num_read.values()))
    counts = {split: report.counts(split) for split in report.num_read}
    for rule in counts["train"] | counts["test"]:
        table.add_row(f"- {rule.value}", *(str(counts[split].get(rule, 0)) for split in report.num_read))
    for name, num_rows in report.num_rows.items():
        table.add_row(
            f"{name}.parquet",
            *(str(num_rows) if (split == "test") == (name == "test") else "" for split in report.num_read),
        )
    console.print(table)
    if report.num_rows["val"] < num_val:
        console.print(f"note: val.parquet has {report.num_rows['val']} rows, {num_val} were asked for")
    faults = [one for dropped in report.dropped.values() for one in dropped if one.rule.is_fault]
    for fault in faults[:10]:
        console.print(f"  {fault}", markup=False)
    if len(faults) > 10:
        console.print(f"  ... and {len(faults) - 10} more faulty rows")
    console.print(f"every row left out, with its reason: {out_dir / REJECTS}", markup=False)


def main(argv: list[str] | None = None) -> int:
    """Exit status of the command with these arguments. Raises UserError for bad input."""
    try:
        app(args=argv, prog_name="python -m eduardo.process_dataset")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
