"""`python -m eduardo.create_transfer_dataset`: write and check near-transfer variants of your own problems."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from eduardo.answers import Grader
from eduardo.classroom.launch import running_classroom
from eduardo.config import ClassroomSettings, check_model, load_settings
from eduardo.console import run_main
from eduardo.errors import EndpointError, EndpointUnavailable
from eduardo.llm import close_shared_clients, shared_client
from eduardo.progress import TaskProgress
from eduardo.settings import Count, EndpointSettings, GraderSettings, Settings
from eduardo.student import TestTaker
from eduardo.transfer_generation.assemble import Models
from eduardo.transfer_generation.journal import Journal, open_journal
from eduardo.transfer_generation.near_copies import NearCopies
from eduardo.transfer_generation.output import print_summary, write_set
from eduardo.transfer_generation.prices import Prices
from eduardo.transfer_generation.rewriter import Rewriter
from eduardo.transfer_generation.run import OpenRow, run_rows
from eduardo.transfer_generation.settings import GenerationSettings
from eduardo.transfer_generation.source import SourceSet, SourceSettings, read_source
from eduardo.transfer_generation.tally import Tally
from eduardo.transfer_generation.work import Tools, work_on

_logger = logging.getLogger(__name__)

CONFIG_NAME = "create_transfer_dataset"
_FLAGS = {  # flag → key of the configuration
    "file": "source.file",
    "data_dir": "source.data_dir",
    "hf_dataset": "source.hf_dataset",
    "problem_column": "source.problem_column",
    "answer_column": "source.answer_column",
    "num_problems": "source.num_problems",
    "out_dir": "out_dir",
}
_EPILOG = """\
examples:
  # problems of the embedded classroom, rewritten and solved by its simulated models
  python -m eduardo.classroom starter --out-dir data/problems --num-train 60 --num-test 20
  python -m eduardo.create_transfer_dataset --data-dir data/problems --out-dir data/my_pairs
  python -m eduardo.process_dataset --data-dir data/my_pairs --out-dir data/mine

  # a local file, a rewriter behind an API (its key in OPENAI_API_KEY) and a student served by vLLM
  python -m eduardo.create_transfer_dataset --file problems.jsonl --out-dir data/my_pairs \\
      classroom=vllm rewriter=openai rewriter.model=some-model prices.rewriter_completion=8

  # GSM8K from the Hub
  python -m eduardo.create_transfer_dataset --hf-dataset openai/gsm8k source.hf_config=main \\
      --out-dir data/gsm8k_pairs classroom=vllm

Every other argument overrides a key of configs/create_transfer_dataset.yaml. Run the same command again to continue:
finished rows are kept, and rows that an endpoint failed on are tried again.
"""


class TransferDatasetSettings(Settings):
    source: SourceSettings
    classroom: ClassroomSettings
    rewriter: EndpointSettings
    grader: GraderSettings
    generation: GenerationSettings
    prices: Prices
    out_dir: Annotated[str, Field(min_length=1)]
    max_rows_at_once: Count
    max_open_in_a_row: Count
    write_with_open_rows: bool

    @property
    def rewriter_is_judge(self) -> bool:
        return self.rewriter.base_url == self.classroom.judge.base_url


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.create_transfer_dataset",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--file", metavar="FILE", help=".jsonl, .json, .jsonl.gz, .json.gz or .parquet")
    parser.add_argument("--data-dir", metavar="FOLDER", help="a train and a test file of these kinds")
    parser.add_argument("--hf-dataset", metavar="NAME", help="data set of the Hugging Face Hub")
    parser.add_argument("--problem-column", metavar="NAME", help="default: problem, or else question")
    parser.add_argument("--answer-column", metavar="NAME", help="default: answer")
    parser.add_argument("--num-problems", type=int, metavar="N", help="only the first N of each split")
    parser.add_argument("--out-dir", metavar="FOLDER", help="where the set and its journal lie")
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help=f"settings of configs/{CONFIG_NAME}.yaml"
    )
    arguments = parser.parse_intermixed_args(argv)
    flags = {key: value for name, key in _FLAGS.items() if (value := getattr(arguments, name)) is not None}
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    settings = load_settings(
        TransferDatasetSettings,
        arguments.overrides,
        config_name=CONFIG_NAME,
        allow_missing=True,
        flags=flags,
    )
    create_transfer_dataset(settings, Console(highlight=False))
    return 0


def create_transfer_dataset(settings: TransferDatasetSettings, console: Console) -> None:
    """Finish all rows and write the set to `settings.out_dir`.

    Raises UserError for bad input and EndpointUnavailable when rows stay open.
    """
    check_model(settings.rewriter, config_key="rewriter")
    check_model(settings.classroom.student, config_key="classroom.student")
    out_dir = Path(settings.out_dir)
    sources = read_source(settings.source, seed=settings.generation.seed)
    with open_journal(out_dir, made_with(settings, sources)) as journal:
        still_open: list[OpenRow] = []
        if any(source.id not in journal.rows for source in sources.chosen):
            try:
                still_open = _generate(settings, sources, journal)
            except EndpointError as error:
                if not (settings.write_with_open_rows and journal.rows):
                    raise
                _logger.warning("%s", error)
        num_open = sum(source.id not in journal.rows for source in sources.chosen)
        if num_open and not settings.write_with_open_rows:
            raise EndpointUnavailable(_open_message(num_open, len(sources.chosen), still_open))
        models = Models(rewriter=settings.rewriter.model, student=settings.classroom.student.model)
        figures = write_set(
            out_dir,
            sources,
            journal.rows,
            models=models,
            generation=settings.generation,
            prices=settings.prices,
            solution_as_notes=settings.source.solution_as_notes,
            about=made_with(settings, sources),
        )
    print_summary(console, figures, settings.prices, out_dir)


def made_with(settings: TransferDatasetSettings, sources: SourceSet) -> dict[str, object]:
    """All that a row depends on, apart from where the models are served."""
    return {
        "source": sources.provenance,
        "rewriter": settings.rewriter.model,
        "rewriter_extra_body": settings.rewriter.request_fields,
        "student": settings.classroom.student.model,
        "student_extra_body": settings.classroom.student.request_fields,
        "generation": settings.generation.model_dump(mode="json"),
    }


def _generate(settings: TransferDatasetSettings, sources: SourceSet, journal: Journal) -> list[OpenRow]:
    with running_classroom(
        settings.classroom,
        log_dir=Path(settings.out_dir),
        roles=["student", "judge"] if settings.rewriter_is_judge else ["student"],
    ) as classroom:
        rewriter = at_classroom(settings, classroom)
        return asyncio.run(_work(settings, rewriter, classroom.student, sources, journal))


def at_classroom(settings: TransferDatasetSettings, running: ClassroomSettings) -> EndpointSettings:
    """A rewriter at the address of the classroom's judge or student moves with it to where that now answers."""
    rewriter, planned = settings.rewriter, settings.classroom
    for before, now in ((planned.judge, running.judge), (planned.student, running.student)):
        if rewriter.base_url == before.base_url != now.base_url:
            key = {name: getattr(now, name) for name in ("base_url", "api_key_env", "api_key_file")}
            return rewriter.model_copy(update=key)
    return rewriter


async def _work(
    settings: TransferDatasetSettings,
    rewriter: EndpointSettings,
    student: EndpointSettings,
    sources: SourceSet,
    journal: Journal,
) -> list[OpenRow]:
    generation = settings.generation
    known = NearCopies(
        generation.near_copies.similarity, ((one.id, one.problem.text) for one in sources.problems)
    )
    try:
        await shared_client(student).check(config_key="classroom.student")
        await shared_client(rewriter).check(config_key="rewriter")
        with Grader(settings.grader) as grader, TaskProgress() as progress:
            tools = Tools(
                settings=generation,
                rewriter=Rewriter(shared_client(rewriter), generation.rewrite),
                solver=TestTaker(shared_client(rewriter)),
                student=TestTaker(shared_client(student)),
                grader=grader,
                sources=known,
            )
            tally = Tally(progress, journal.rows, [one.id for one in sources.chosen], settings.prices)
            return await run_rows(
                sources.chosen,
                lambda source: work_on(source, tools),
                journal,
                max_at_once=settings.max_rows_at_once,
                max_open_in_a_row=settings.max_open_in_a_row,
                on_row=tally.add,
            )
    finally:
        await close_shared_clients()


def _open_message(num_open: int, num_chosen: int, still_open: Sequence[OpenRow]) -> str:
    why = f" (first: {still_open[0].fault})" if still_open else ""
    return (
        f"{num_open} of {num_chosen} problems are still open, because an endpoint failed{why}; "
        "what is finished is kept: run it again, or add write_with_open_rows=true to write the set without them"
    )


if __name__ == "__main__":
    sys.exit(run_main(main))
