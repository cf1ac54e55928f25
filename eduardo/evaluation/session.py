"""The environment test from settings to report: every tutor's dialogues, then their scores, then the figures."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import eduardo
from eduardo.answers import Grader
from eduardo.classroom.launch import running_classroom
from eduardo.config import ClassroomSettings
from eduardo.dataset import from_row
from eduardo.errors import UserError
from eduardo.evaluation import controls, environment, report
from eduardo.evaluation.comparison import compare
from eduardo.evaluation.environment import Hold, Task, key_of, taught_by
from eduardo.evaluation.html_report import REPORT, write_report
from eduardo.evaluation.markdown import to_markdown
from eduardo.evaluation.report import Evaluation
from eduardo.evaluation.rows import to_rows
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.side_by_side import most_telling, side_by_side
from eduardo.evaluation.summary import Summary, summarize
from eduardo.evaluation.tutors import (
    Control,
    TutorFactory,
    TutorKind,
    TutorSpec,
    check_tutor,
    running_tutor,
)
from eduardo.files import write_whole
from eduardo.judge import Judge
from eduardo.llm import close_shared_clients, shared_client
from eduardo.personas import PLAIN
from eduardo.progress import TaskProgress
from eduardo.records import read_dialogues
from eduardo.student import Student
from eduardo.types import ScoredDialogue

ROLLOUTS, SCORED = "rollouts.jsonl", "scored.jsonl"


def evaluate(specs: Sequence[TutorSpec], settings: EvaluationSettings, console: Console) -> list[Summary]:
    """Measure all tutors, write the report and show it; everything is kept under `settings.out_dir`."""
    tasks = read_tasks(settings)
    summaries = measure(specs, tasks, settings, console)
    out_dir = Path(settings.out_dir)
    evaluation = write_reports(summaries, about(tasks, settings), out_dir)
    _show(
        evaluation, {spec.name: read_scored(out_dir / spec.name, tasks) for spec in specs}, console, out_dir
    )
    return summaries


def measure(
    specs: Sequence[TutorSpec],
    tasks: Sequence[Task],
    settings: EvaluationSettings,
    console: Console,
    *,
    persona: str = PLAIN,
) -> list[Summary]:
    """Roll out and score all tutors with a student in that persona.

    What the files of `settings.out_dir` hold already is not done again. A served tutor is taken down before its
    dialogues are scored.
    """
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    out_dir = Path(settings.out_dir)
    for spec in specs:
        claim_folder(out_dir / spec.name, _facts(spec, settings, persona))
    with (
        running_classroom(settings.classroom, log_dir=out_dir) as classroom,
        TaskProgress(console) as progress,
    ):
        stages = _Stages(tasks, classroom, settings, progress, persona)
        for spec in specs:
            voids = stages.roll_out(spec, out_dir / spec.name) + stages.score(spec, out_dir / spec.name)
            for reason, number in voids.most_common():
                console.print(f"[bold]{spec.name}[/]: {number} dialogues not measured: {reason}")
    return [
        summarize(
            spec.name,
            to_rows(read_scored(out_dir / spec.name, tasks), settings),
            len(tasks),
            settings,
            control=Control(spec.target) if spec.kind is TutorKind.CONTROL else None,
        )
        for spec in specs
    ]


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


def read_scored(folder: Path, tasks: Sequence[Task]) -> list[ScoredDialogue]:
    """The scored dialogues of these tasks; a folder may hold more, from an evaluation of more samples."""
    planned = {task.key for task in tasks}
    return [dialogue for dialogue in read_dialogues(folder / SCORED) if key_of(dialogue) in planned]


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
    write_whole(manifest, json.dumps(facts, indent=1).encode())


def write_reports(
    summaries: Sequence[Summary], about: Mapping[str, str | int | float], out_dir: Path
) -> Evaluation:
    """report.md, report.json, dialogues.csv and report.html."""
    evaluation = report.to_evaluation(summaries, compare(summaries), about)
    write_whole(out_dir / report.REPORT_JSON, report.to_json(evaluation))
    write_whole(out_dir / "report.md", to_markdown(evaluation).encode())
    write_whole(out_dir / "dialogues.csv", report.to_csv(summaries).encode())
    write_report(out_dir)
    return evaluation


def about(tasks: Sequence[Task], settings: EvaluationSettings) -> dict[str, str | int | float]:
    """What a methods section has to say."""
    recipe = settings.recipe
    return {
        "eduardo": eduardo.__version__,
        "data_file": Path(settings.data_file).name,
        "data_sha256": _sha256(settings.data_file),
        "problems": len({task.pair.id for task in tasks}),
        "dialogues_per_problem": settings.num_samples,
        "student": settings.classroom.student.model,
        "judge": settings.classroom.judge.model,
        "tutor_turns_at_most": recipe.dialogue.max_tutor_turns,
        "tokens_per_tutor_turn_at_most": recipe.dialogue.tutor_turn_tokens,
        "tokens_per_dialogue_at_most": recipe.dialogue.response_tokens,
        "post_test_attempts": recipe.post_test.attempts,
        "tutor_turns_hidden_in_the_post_test": "yes" if recipe.post_test.mask_tutor else "no",
        "tutor_temperature": settings.temperature,
        "tutor_top_p": settings.top_p,
        "seed": settings.seed,
    }


def _facts(spec: TutorSpec, settings: EvaluationSettings, persona: str) -> dict[str, object]:
    """All that a dialogue or its score depends on, apart from how many there are and how fast."""
    chosen = settings.model_dump(include={"recipe", "data_file", "temperature", "top_p", "seed"}, mode="json")
    models = {"student": settings.classroom.student.model, "judge": settings.classroom.judge.model}
    tutor = f"{spec.target}#{spec.model}"
    acting = {} if persona == PLAIN else {"persona": persona}
    return {"tutor": tutor, **models, **acting, **chosen, "data_sha256": _sha256(settings.data_file)}


def _sha256(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


class _Stages:
    """The two stages of one tutor, for the same tasks and classroom. Both return why dialogues were void."""

    def __init__(
        self,
        tasks: Sequence[Task],
        classroom: ClassroomSettings,
        settings: EvaluationSettings,
        progress: TaskProgress,
        persona: str,
    ) -> None:
        self._tasks, self._classroom, self._settings = tasks, classroom, settings
        self._progress, self._persona = progress, persona

    def roll_out(self, spec: TutorSpec, folder: Path) -> Counter[str]:
        file = folder / ROLLOUTS
        held = {key_of(d) for d in read_dialogues(file)} if file.exists() else set()
        if held.issuperset(task.key for task in self._tasks):
            return Counter()
        is_control = spec.kind is TutorKind.CONTROL
        tutor = nullcontext(None) if is_control else running_tutor(spec, self._settings, folder)
        with tutor as make_tutor:
            return asyncio.run(self._roll_out(spec, make_tutor, file))

    def score(self, spec: TutorSpec, folder: Path) -> Counter[str]:
        return asyncio.run(self._score(spec, folder))

    async def _roll_out(self, spec: TutorSpec, make_tutor: TutorFactory | None, file: Path) -> Counter[str]:
        settings = self._settings
        try:
            student = await self._student()
            await check_tutor(spec, settings)
            with Grader(settings.grader) as grader:
                return await environment.roll_out(
                    self._tasks,
                    self._hold(spec, make_tutor, student, grader),
                    seed=settings.seed,
                    file=file,
                    max_at_once=settings.max_dialogues_at_once,
                    progress=self._bar(f"{spec.name}: dialogues"),
                )
        finally:
            await close_shared_clients()

    def _hold(
        self, spec: TutorSpec, make_tutor: TutorFactory | None, student: Student, grader: Grader
    ) -> Hold:
        if make_tutor is not None:
            return taught_by(make_tutor, student, self._settings.recipe)
        if spec.target == Control.UNTAUGHT:
            return controls.untaught()
        return controls.disclosed(student, grader, self._settings.recipe)

    async def _score(self, spec: TutorSpec, folder: Path) -> Counter[str]:
        settings = self._settings
        judge = Judge(shared_client(self._classroom.judge), settings.recipe.judge)
        try:
            await shared_client(self._classroom.judge).check(config_key="classroom.judge")
            student = await self._student()
            with Grader(settings.grader) as grader:
                return await environment.score(
                    self._tasks,
                    student,
                    judge,
                    grader,
                    recipe=settings.recipe,
                    seed=settings.seed,
                    rollouts=folder / ROLLOUTS,
                    file=folder / SCORED,
                    max_at_once=settings.max_dialogues_at_once,
                    progress=self._bar(f"{spec.name}: scores"),
                )
        finally:
            await close_shared_clients()

    async def _student(self) -> Student:
        await shared_client(self._classroom.student).check(config_key="classroom.student")
        return Student(shared_client(self._classroom.student), self._settings.recipe, persona=self._persona)

    def _bar(self, name: str) -> Callable[[], None]:
        bar = self._progress.add_task(name, total=len(self._tasks))
        return lambda: self._progress.advance(bar)


def _show(
    evaluation: Evaluation,
    dialogues: dict[str, list[ScoredDialogue]],
    console: Console,
    out_dir: Path,
) -> None:
    if len(dialogues) >= 2:
        first, second = list(dialogues)[:2]
        key = most_telling(dialogues[first], dialogues[second])
        if key is not None:
            console.print(side_by_side(key, {name: dialogues[name] for name in (first, second)}))
    console.print(report.figures_table(evaluation))
    for tutor in evaluation.tutors:
        if tutor.invalid_because:
            console.print(f"[bold red]INVALID[/] {tutor.tutor}: {'; '.join(tutor.invalid_because)}")
    console.print(f"report: {out_dir / REPORT}, and report.md, report.json and dialogues.csv beside it")
