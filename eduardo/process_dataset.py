"""Turn a data set into the Parquet files that training reads: `python -m eduardo.process_dataset --help`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eduardo.console import run_main
from eduardo.dataset import Band, HubDataset, LocalFolder, PairSource, SelectionSettings
from eduardo.dataset.build import BuildSettings, build_near_transfer
from eduardo.dataset.checks import SameAnswer
from eduardo.dataset.report import BuildReport, print_report
from eduardo.education_dialogue.build import ConversationSettings, build_education_dialogue
from eduardo.education_dialogue.reading import ConversationFolder
from eduardo.errors import UserError
from eduardo.progress import TaskProgress
from eduardo.resources import configs_dir
from eduardo.settings import GraderSettings, RecipeSettings, read_yaml


class DatasetName(StrEnum):
    NEAR_TRANSFER = "near_transfer"
    EDUCATION_DIALOGUE = "education_dialogue"


class Format(StrEnum):
    SFT = "sft"
    RL = "rl"
    BOTH = "both"


app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)

_EPILOG = """
[b]Examples[/b]

The embedded starter set, with nothing to download:

    python -m eduardo.process_dataset --out-dir data/starter

A folder with a train and a test file (.jsonl, .json, .jsonl.gz, .json.gz or .parquet):

    python -m eduardo.process_dataset --data-dir my_pairs --out-dir data/mine

The published set (--revision pins a commit):

    python -m eduardo.process_dataset --hf-dataset dmacjam/eduardoRL-transfer-dataset --out-dir data/published

Education Dialogue, for a warm start and for the environment:

    python -m eduardo.process_dataset --dataset education_dialogue --data-dir dialogues --out-dir data/dialogues
"""
_SOURCE = "Where the rows come from (default: the embedded starter set)"
_SIZE = "How many rows"
_FILTER = "Which rows"
_OUTPUT = "What is written"
# Flags that mean nothing for one of the data sets are refused there, not ignored.
_ONLY = {
    DatasetName.NEAR_TRANSFER: (
        "solve_rate_min",
        "solve_rate_max",
        "holdout_solve_rate_min",
        "holdout_solve_rate_max",
        "min_graded",
        "similarity",
    ),
    DatasetName.EDUCATION_DIALOGUE: ("format_",),
}


def _option(panel: str, help_text: str, *names: str, **limits: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=panel, **limits)


@app.command(epilog=_EPILOG)
def process_dataset(
    context: typer.Context,
    out_dir: Annotated[Path, _option(_OUTPUT, "Folder to write to; made if absent.")],
    dataset: Annotated[DatasetName, _option(_SOURCE, "Kind of data.")] = DatasetName.NEAR_TRANSFER,
    data_dir: Annotated[Path | None, _option(_SOURCE, "Folder with train and test files.")] = None,
    hf_dataset: Annotated[str | None, _option(_SOURCE, "Data set of the Hugging Face Hub.")] = None,
    revision: Annotated[str | None, _option(_SOURCE, "Commit, tag or branch of --hf-dataset.")] = None,
    num_train: Annotated[
        int | None, _option(_SIZE, "At most so many rows for train; all if absent.", min=1)
    ] = None,
    num_test: Annotated[int, _option(_SIZE, "Rows for val, out of the train split.", min=1)] = 100,
    num_holdout: Annotated[
        int | None, _option(_SIZE, "At most so many rows for test; all if absent.", min=1)
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
    strict: Annotated[bool, _option(_FILTER, "Stop at a faulty row.", "--strict")] = False,
    tutor_prompt: Annotated[str, _option(_OUTPUT, "Tutor's system prompt: default or compact.")] = "default",
    format_: Annotated[
        Format,
        _option(_OUTPUT, "education_dialogue: rows for a warm start, the environment, or both.", "--format"),
    ] = Format.BOTH,
) -> None:
    """Turn near-transfer pairs into [b]train.parquet[/b], [b]val.parquet[/b] and [b]test.parquet[/b].

    train and val are disjoint and come from the train split, test comes from the test split. Near-duplicate
    problems never lie on both sides. The same input and seed give the same bytes. Rows that are left out are
    listed with their reason in rejects.jsonl; manifest.json says what went in and what came out.
    """
    _refuse_idle_flags(context, dataset)
    end_tag = read_yaml(configs_dir() / "recipe" / "paper.yaml", RecipeSettings).dialogue.end_tag
    console = Console(highlight=False)
    if dataset is DatasetName.EDUCATION_DIALOGUE:
        report = build_education_dialogue(
            _conversations(data_dir, hf_dataset, revision),
            out_dir,
            ConversationSettings(
                format=format_.value,
                num_train=num_train,
                num_val=num_test,
                num_test=num_holdout,
                seed=seed,
                prompt_style=tutor_prompt,
                end_tag=end_tag,
                strict=strict,
            ),
        )
    else:
        selection = SelectionSettings(
            num_train=num_train,
            num_val=num_test,
            num_test=num_holdout,
            seed=seed,
            band=_band("--solve-rate", solve_rate_min, solve_rate_max),
            test_band=_band("--holdout-solve-rate", holdout_solve_rate_min, holdout_solve_rate_max),
            min_graded=min_graded,
            similarity=similarity,
        )
        settings = BuildSettings(
            selection=selection, prompt_style=tutor_prompt, end_tag=end_tag, strict=strict
        )
        with _pairs(data_dir, hf_dataset, revision, console) as source:
            report = _near_transfer(source, out_dir, settings)
    print_report(console, report, out_dir)


def _refuse_idle_flags(context: typer.Context, dataset: DatasetName) -> None:
    for owner, names in _ONLY.items():
        given = [name for name in names if str(context.get_parameter_source(name)).endswith("COMMANDLINE")]
        if given and owner is not dataset:
            flag = "--" + given[0].strip("_").replace("_", "-")
            raise UserError(f"{flag} means nothing for --dataset {dataset}; leave it out")


def _near_transfer(source: PairSource, out_dir: Path, settings: BuildSettings) -> BuildReport:
    from eduardo.answers import check_key

    with _same_answer() as same_answer:
        return build_near_transfer(source, out_dir, settings, check_key=check_key, same_answer=same_answer)


@contextmanager
def _same_answer() -> Iterator[SameAnswer]:
    """Whether two keys mean the same, decided by the grader that the reward uses."""
    from eduardo.answers import Grader
    from eduardo.types import Outcome

    with Grader(read_yaml(configs_dir() / "grader" / "default.yaml", GraderSettings)) as grader:

        def same(key: str, other: str) -> bool:
            (grade,) = grader.grade_many(key, [f"\\boxed{{{other}}}"])
            if grade is None:
                raise UserError(
                    f"{key!r} and {other!r} could not be compared: free memory or processors, and run again"
                )
            return grade.outcome is Outcome.RIGHT

        yield same


@contextmanager
def _pairs(
    data_dir: Path | None, hf_dataset: str | None, revision: str | None, console: Console
) -> Iterator[PairSource]:
    _check_source(data_dir, hf_dataset, revision)
    if data_dir is not None:
        yield LocalFolder(data_dir)
    elif hf_dataset is not None:
        yield HubDataset(hf_dataset, revision)
    else:
        with tempfile.TemporaryDirectory(prefix="eduardo-starter-") as folder:
            _write_starter(Path(folder), console)
            yield LocalFolder(Path(folder), kind="starter")


def _conversations(data_dir: Path | None, hf_dataset: str | None, revision: str | None) -> PairSource:
    _check_source(data_dir, hf_dataset, revision)
    if data_dir is not None:
        return ConversationFolder(data_dir)
    if hf_dataset is not None:
        return HubDataset(hf_dataset, revision)
    raise UserError("--dataset education_dialogue needs --data-dir with its files, or --hf-dataset")


def _check_source(data_dir: Path | None, hf_dataset: str | None, revision: str | None) -> None:
    if data_dir is not None and hf_dataset is not None:
        raise UserError("--data-dir and --hf-dataset exclude each other; give one")
    if revision is not None and hf_dataset is None:
        raise UserError("--revision goes with --hf-dataset")


def _write_starter(folder: Path, console: Console) -> None:
    from eduardo.classroom.starter import starter_settings, write_starter

    settings = starter_settings()
    with TaskProgress(console) as progress:
        num_pairs = settings.num_train + settings.num_test
        task = progress.add_task("measuring solve rates of the starter problems", total=num_pairs)
        write_starter(folder, settings, on_progress=lambda done: progress.update(task, completed=done))


def _band(flag: str, low: float, high: float) -> Band:
    if low > high:
        raise UserError(f"{flag}-min {low:g} is above {flag}-max {high:g}")
    return Band(low, high)


def main(argv: list[str] | None = None) -> int:
    """Exit status of the command with these arguments. Raises UserError for bad input."""
    try:
        app(args=argv, prog_name="python -m eduardo.process_dataset")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
