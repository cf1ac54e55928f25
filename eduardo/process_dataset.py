"""Turn a data set into the Parquet files that training reads: `python -m eduardo.process_dataset --help`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.progress import Progress

from eduardo.console import run_main
from eduardo.dataset import Band, HubDataset, LocalFolder, PairSource, SelectionSettings
from eduardo.dataset.build import BuildSettings, build_near_transfer
from eduardo.dataset.checks import SameAnswer
from eduardo.dataset.report import print_report
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
_SOURCE = "Where the rows come from (default: the embedded starter set)"
_SIZE = "How many rows"
_FILTER = "Which rows"
_OUTPUT = "What is written"


def _option(panel: str, help_text: str, **limits: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel=panel, **limits)


@app.command(epilog=_EPILOG)
def process_dataset(
    out_dir: Annotated[Path, _option(_OUTPUT, "Folder to write to; made if absent.")],
    data_dir: Annotated[Path | None, _option(_SOURCE, "Folder with a train and a test file.")] = None,
    hf_dataset: Annotated[str | None, _option(_SOURCE, "Data set of the Hugging Face Hub.")] = None,
    revision: Annotated[str | None, _option(_SOURCE, "Commit, tag or branch of --hf-dataset.")] = None,
    num_train: Annotated[
        int | None, _option(_SIZE, "At most so many rows in train.parquet (default: all).", min=1)
    ] = None,
    num_test: Annotated[int, _option(_SIZE, "Rows of val.parquet, taken from the train split.", min=1)] = 100,
    num_holdout: Annotated[
        int | None, _option(_SIZE, "At most so many rows in test.parquet (default: all).", min=1)
    ] = None,
    seed: Annotated[int, _option(_SIZE, "Decides which rows go where.", min=0)] = 42,
    solve_rate_min: Annotated[float, _option(_FILTER, "Lowest rates in train, val.", min=0, max=1)] = 0.02,
    solve_rate_max: Annotated[float, _option(_FILTER, "Highest rates in train, val.", min=0, max=1)] = 0.65,
    holdout_solve_rate_min: Annotated[float, _option(_FILTER, "Lowest rates in test.", min=0, max=1)] = 0.0,
    holdout_solve_rate_max: Annotated[float, _option(_FILTER, "Highest rates in test.", min=0, max=1)] = 1.0,
    min_graded: Annotated[int, _option(_FILTER, "Fewest graded samples behind a solve rate.", min=1)] = 1,
    similarity: Annotated[
        float,
        _option(_FILTER, "Share of common wording that makes problems near-duplicates.", min=0.2, max=1),
    ] = 0.5,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a faulty row.", rich_help_panel=_FILTER)
    ] = False,
    tutor_prompt: Annotated[str, _option(_OUTPUT, "Tutor's system prompt: default or compact.")] = "default",
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
        end_tag=_config("recipe/paper.yaml")["dialogue"]["end_tag"],
        strict=strict,
    )
    from eduardo.answers import check_key

    console = Console(highlight=False)
    with _source(data_dir, hf_dataset, revision, console) as source, _same_answer() as same:
        report = build_near_transfer(source, out_dir, settings, check_key=check_key, same_answer=same)
    print_report(console, report, out_dir)


@contextmanager
def _source(
    data_dir: Path | None, hf_dataset: str | None, revision: str | None, console: Console
) -> Iterator[PairSource]:
    if data_dir is not None and hf_dataset is not None:
        raise UserError("--data-dir and --hf-dataset exclude each other; give one")
    if revision is not None and hf_dataset is None:
        raise UserError("--revision goes with --hf-dataset")
    if data_dir is not None:
        yield LocalFolder(data_dir)
    elif hf_dataset is not None:
        yield HubDataset(hf_dataset, revision)
    else:
        with tempfile.TemporaryDirectory(prefix="eduardo-starter-") as folder:
            _write_starter(Path(folder), console)
            yield LocalFolder(Path(folder), kind="starter")


def _write_starter(folder: Path, console: Console) -> None:
    from eduardo.classroom.starter import write_starter

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring solve rates of the starter problems")
        write_starter(
            folder,
            **_config("starter_set.yaml"),
            on_progress=lambda done, total: progress.update(task, completed=done, total=total),
        )


@contextmanager
def _same_answer() -> Iterator[SameAnswer]:
    """Whether two keys mean the same, decided by the grader that the reward uses."""
    from eduardo.answers import Grader
    from eduardo.settings import GraderSettings
    from eduardo.types import Outcome

    with Grader(GraderSettings(**_config("grader/default.yaml"))) as grader:
        yield lambda a, b: grader.grade_many(a, [f"\\boxed{{{b}}}"])[0].outcome is Outcome.RIGHT


def _band(flag: str, low: float, high: float) -> Band:
    if low > high:
        raise UserError(f"{flag}-min {low:g} is above {flag}-max {high:g}")
    return Band(low, high)


def _config(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((configs_dir() / name).read_text(encoding="utf-8"))
    return content


def main(argv: list[str] | None = None) -> int:
    """Exit status of the command with these arguments. Raises UserError for bad input."""
    try:
        app(args=argv, prog_name="python -m eduardo.process_dataset")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
