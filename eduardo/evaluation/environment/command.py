"""`python -m eduardo.evaluate environment`: every tutor's dialogues, then their scores, then the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

import eduardo
from eduardo.classroom.launch import running_classroom
from eduardo.evaluation import report
from eduardo.evaluation.comparison import compare
from eduardo.evaluation.environment.stages import Stages
from eduardo.evaluation.environment.tasks import Task, read_tasks
from eduardo.evaluation.html_report import REPORT, write_report
from eduardo.evaluation.manifest import claim_folder, classroom_facts, tutor_facts
from eduardo.evaluation.markdown import to_markdown
from eduardo.evaluation.report import Evaluation
from eduardo.evaluation.resumable import SCORED, key_of
from eduardo.evaluation.rows import to_rows
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.side_by_side import most_telling, side_by_side
from eduardo.evaluation.summary import Summary, summarize
from eduardo.evaluation.tutors import (
    Control,
    TutorKind,
    TutorSpec,
)
from eduardo.files import file_sha256, write_whole
from eduardo.personas import PLAIN
from eduardo.progress import TaskProgress
from eduardo.records import read_dialogues
from eduardo.types import ScoredDialogue


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
    out_dir = Path(settings.out_dir)
    for spec in specs:
        claim_folder(out_dir / spec.name, conditions(spec, settings, persona))
    with (
        running_classroom(settings.classroom, log_dir=out_dir) as classroom,
        TaskProgress(console) as progress,
    ):
        stages = Stages(tasks, classroom, settings, progress, persona)
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


def read_scored(folder: Path, tasks: Sequence[Task]) -> list[ScoredDialogue]:
    """The scored dialogues of these tasks; a folder may hold more, from an evaluation of more samples."""
    planned = {task.key for task in tasks}
    return [dialogue for dialogue in read_dialogues(folder / SCORED) if key_of(dialogue) in planned]


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
        "data_sha256": file_sha256(Path(settings.data_file)),
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


def conditions(spec: TutorSpec, settings: EvaluationSettings, persona: str) -> dict[str, object]:
    """All that a dialogue or its score depends on, apart from how many there are and how fast."""
    return {
        **tutor_facts(spec, settings),
        **classroom_facts(settings.classroom),
        **settings.model_dump(include={"recipe", "data_file", "seed"}, mode="json"),
        "persona": persona,
        "max_answer_chars": settings.grader.max_answer_chars,
        "data_sha256": file_sha256(Path(settings.data_file)),
    }


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
