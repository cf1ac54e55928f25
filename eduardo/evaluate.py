"""`python -m eduardo.evaluate environment`: held-out evaluation of one or several tutors."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from omegaconf import OmegaConf
from pydantic import ValidationError
from rich.console import Console

from eduardo.answers import Grader
from eduardo.classroom.launch import running_classroom
from eduardo.config import ClassroomSettings, compose
from eduardo.console import run_main
from eduardo.dataset import from_row
from eduardo.errors import UserError
from eduardo.evaluation import environment, report
from eduardo.evaluation.environment import Task
from eduardo.evaluation.html_report import REPORT, write_report
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.side_by_side import most_telling, side_by_side
from eduardo.evaluation.summary import Summary, summarize, to_rows
from eduardo.evaluation.tutors import TutorFactory, TutorSpec, parse_tutor, running_tutor
from eduardo.judge import Judge
from eduardo.llm import close_shared_clients, shared_client
from eduardo.merge import merge
from eduardo.progress import TaskProgress
from eduardo.records import read_dialogues
from eduardo.student import Student
from eduardo.types import ScoredDialogue

_EPILOG = """\
examples:
  # a checkpoint before and after training, in the embedded classroom
  python -m eduardo.evaluate environment --tutor before=models/tiny --tutor after=runs/demo

  # a model behind an API, two scripted probes and the control without tutoring
  python -m eduardo.evaluate environment --tutor api=https://host/v1#some-model \\
      --tutor guide=probe:guide --tutor teller=probe:teller --tutor untaught=none num_samples=2

  # real student and judge, caps loosened as in the published evaluation
  python -m eduardo.evaluate environment --tutor ours=checkpoints/ours recipe=paper classroom=vllm serving=gpu \\
      data_file=data/published/test.parquet recipe.dialogue.tutor_turn_tokens=4192 \\
      recipe.dialogue.response_tokens=16384

A tutor is NAME=TARGET: a model folder or a run folder (its newest checkpoint), served by vLLM; URL#MODEL; probe:NAME;
or none.
Every other argument overrides a key of configs/evaluate.yaml. Run it again to continue where it stopped:
dialogues and scores that are in out_dir are kept.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.evaluate",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "test", choices=["environment"], help="dialogues with the student, then the post-test"
    )
    parser.add_argument(
        "--tutor", action="append", required=True, metavar="NAME=TARGET", help="may be repeated"
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/evaluate.yaml")
    arguments = parser.parse_intermixed_args(argv)
    specs = [parse_tutor(_with_merged_checkpoint(text)) for text in arguments.tutor]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise UserError(f"two tutors have the same name: {', '.join(names)}")
    settings = load_settings(arguments.overrides)
    evaluate(specs, settings, Console())
    return 0


def load_settings(overrides: Sequence[str]) -> EvaluationSettings:
    """configs/evaluate.yaml with overrides. Raises UserError with the key that is wrong."""
    config: Any = OmegaConf.to_container(compose(overrides, config_name="evaluate"), resolve=True)
    try:
        return EvaluationSettings.model_validate(config)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(
            f"{'.'.join(map(str, first['loc']))}: {first['msg']} (got {first['input']!r})"
        ) from None


def evaluate(specs: Sequence[TutorSpec], settings: EvaluationSettings, console: Console) -> list[Summary]:
    """Roll out, score and report all tutors; everything is kept under `settings.out_dir`."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    tasks = read_tasks(settings)
    out_dir = Path(settings.out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    dialogues: dict[str, list[ScoredDialogue]] = {}
    with running_classroom(settings.classroom, log_dir=out_dir) as classroom:
        for spec in specs:
            folder = out_dir / spec.name
            claim_folder(folder, _facts(spec, settings))
            with running_tutor(spec, settings, folder) as make_tutor, TaskProgress(console) as progress:
                asyncio.run(_run_stages(spec.name, tasks, make_tutor, classroom, settings, folder, progress))
            dialogues[spec.name] = list(read_dialogues(folder / "scored.jsonl"))
    summaries = [
        summarize(name, to_rows(scored, settings), len(tasks), settings) for name, scored in dialogues.items()
    ]
    _write_report(summaries, out_dir)
    _show(summaries, dialogues, console, out_dir)
    return summaries


def read_tasks(settings: EvaluationSettings) -> list[Task]:
    """One task per problem and sample. Raises UserError when the file cannot be used."""
    path = Path(settings.data_file)
    if not path.is_file():
        raise UserError(f"data_file={path}: no such file; `python -m eduardo.process_dataset` writes it")
    try:
        rows = pq.read_table(path).to_pylist()
        pairs = [(from_row(row), list(row["prompt"])) for row in rows[: settings.num_problems]]
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"data_file={path}: not a parquet file of near-transfer rows ({error}); "
            "write it with `python -m eduardo.process_dataset`"
        ) from error
    usable = [
        (pair, prompt)
        for pair, prompt in pairs
        if pair.variant and pair.variant.baseline and pair.source.baseline
    ]
    if not usable:
        raise UserError(f"data_file={path}: no row has a variant and both cold solve rates")
    return [
        Task(pair=pair, prompt=prompt, sample=sample)
        for pair, prompt in usable
        for sample in range(settings.num_samples)
    ]


def claim_folder(folder: Path, facts: Mapping[str, object]) -> None:
    """Note what the folder's dialogues were made with. Raises UserError when it holds those of something else."""
    manifest = folder / "manifest.json"
    if manifest.is_file():
        earlier = json.loads(manifest.read_text())
        changed = sorted(key for key in facts if earlier.get(key) != facts[key])
        if changed:
            raise UserError(
                f"{folder} holds dialogues made with another {', '.join(changed)}: choose another out_dir or remove it"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps(facts, indent=1))


def _facts(spec: TutorSpec, settings: EvaluationSettings) -> dict[str, object]:
    """All that a dialogue or its score depends on, apart from how many there are and how fast."""
    chosen = settings.model_dump(include={"recipe", "data_file", "temperature", "top_p", "seed"}, mode="json")
    models = {"student": settings.classroom.student.model, "judge": settings.classroom.judge.model}
    data_sha256 = hashlib.sha256(Path(settings.data_file).read_bytes()).hexdigest()
    return {"tutor": f"{spec.target}#{spec.model}", **models, **chosen, "data_sha256": data_sha256}


def _with_merged_checkpoint(text: str) -> str:
    """`NAME=RUN` with the run's newest checkpoint merged; any other tutor as it is."""
    name, _, target = text.partition("=")
    is_run = (Path(target) / "checkpoints").is_dir()
    return f"{name}={merge(Path(target))}" if is_run else text


async def _run_stages(
    name: str,
    tasks: Sequence[Task],
    make_tutor: TutorFactory | None,
    classroom: ClassroomSettings,
    settings: EvaluationSettings,
    folder: Path,
    progress: TaskProgress,
) -> None:
    student = Student(shared_client(classroom.student), settings.recipe)
    judge = Judge(shared_client(classroom.judge), settings.recipe.judge)
    rollouts, scored = folder / "rollouts.jsonl", folder / "scored.jsonl"
    try:
        await shared_client(classroom.student).check(config_key="classroom.student")
        await shared_client(classroom.judge).check(config_key="classroom.judge")
        rolling = progress.add_task(f"{name}: dialogues", total=len(tasks))
        await environment.roll_out(
            tasks,
            make_tutor,
            student,
            recipe=settings.recipe,
            seed=settings.seed,
            file=rollouts,
            max_at_once=settings.max_dialogues_at_once,
            progress=lambda: progress.advance(rolling),
        )
        scoring = progress.add_task(f"{name}: scores", total=len(tasks))
        with Grader(settings.grader) as grader:
            await environment.score(
                tasks,
                student,
                judge,
                grader,
                recipe=settings.recipe,
                seed=settings.seed,
                rollouts=rollouts,
                file=scored,
                max_at_once=settings.max_dialogues_at_once,
                progress=lambda: progress.advance(scoring),
            )
    finally:
        await close_shared_clients()


def _write_report(summaries: Sequence[Summary], out_dir: Path) -> None:
    comparisons = report.compare(summaries)
    (out_dir / "report.md").write_text(report.to_markdown(summaries, comparisons))
    (out_dir / "report.json").write_bytes(report.to_json(summaries, comparisons))
    (out_dir / "dialogues.csv").write_text(report.to_csv(summaries))
    write_report(out_dir)


def _show(
    summaries: Sequence[Summary],
    dialogues: dict[str, list[ScoredDialogue]],
    console: Console,
    out_dir: Path,
) -> None:
    if len(dialogues) >= 2:
        first, second = list(dialogues)[:2]
        key = most_telling(dialogues[first], dialogues[second])
        if key is not None:
            console.print(side_by_side(key, {name: dialogues[name] for name in (first, second)}))
    console.print(report.figures_table(summaries))
    for summary in summaries:
        if summary.invalid_because:
            console.print(f"[bold red]INVALID[/] {summary.tutor}: {'; '.join(summary.invalid_because)}")
    console.print(f"report: {out_dir / REPORT}, and report.md, report.json and dialogues.csv beside it")


if __name__ == "__main__":
    raise SystemExit(run_main(main))
