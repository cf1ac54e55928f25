"""`python -m eduardo.evaluate students`: the environment test over a pool of students."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from eduardo.classroom.launch import running_classroom
from eduardo.errors import UserError
from eduardo.evaluation.environment.command import about, measure, write_reports
from eduardo.evaluation.environment.tasks import Task, read_tasks
from eduardo.evaluation.manifest import claim_folder
from eduardo.evaluation.publish import publish
from eduardo.evaluation.settings import EvaluationSettings, evaluation_settings
from eduardo.evaluation.students.baselines import with_own_baselines
from eduardo.evaluation.students.matrix import students_part
from eduardo.evaluation.students.pool import StudentSpec, read_students
from eduardo.evaluation.summary import Summary
from eduardo.evaluation.tutors import Control, TutorSpec, check_names, control_spec
from eduardo.files import file_sha256
from eduardo.progress import TaskProgress

PART = "students"
_EPILOG = """\
examples:
  # two tutors with every persona of the embedded classroom's student
  python -m eduardo.evaluate students --tutor before=models/tiny --tutor after=runs/demo

  # chosen personas and another model, one dialogue on each of 100 problems
  python -m eduardo.evaluate students --tutor ours=runs/ours classroom=vllm serving=gpu recipe=paper \\
      --student plain --student terse --student answer_fishing --student small=http://host:8005/v1#small-model \\
      --student small_eager=http://host:8005/v1#small-model+eager \\
      data_file=data/published/test.parquet num_problems=100

A tutor is named as in `evaluate environment`. A student is a persona of the classroom's student, NAME=URL#MODEL, or
NAME=URL#MODEL+PERSONA; without --student, all personas. Another model's cold solve rates are measured first; its key
and deadlines are those of classroom.student. Every other argument overrides a key of configs/evaluate.yaml. Each
student gets a folder with the full report of its dialogues; run it again to continue where it stopped.
"""


def main(argv: Sequence[str], read_tutor: Callable[[str], TutorSpec]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.evaluate students",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tutor", action="append", default=[], metavar="NAME=TARGET", help="may be repeated")
    parser.add_argument(
        "--control", action="append", default=[], choices=list(Control), help="as in environment"
    )
    parser.add_argument("--student", action="append", default=[], metavar="STUDENT", help="may be repeated")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/evaluate.yaml")
    arguments = parser.parse_intermixed_args(argv)
    specs = [*map(read_tutor, arguments.tutor), *map(control_spec, arguments.control)]
    if not specs:
        raise UserError("nobody to evaluate: name a --tutor NAME=TARGET or a --control")
    check_names(specs)
    students = read_students(arguments.student)
    run(specs, students, evaluation_settings(arguments.overrides), Console())
    return 0


def run(
    specs: Sequence[TutorSpec],
    students: Sequence[StudentSpec],
    settings: EvaluationSettings,
    console: Console,
) -> dict[str, list[Summary]]:
    """Measure every tutor with every student; reports are kept under `settings.out_dir`."""
    tasks = read_tasks(settings)
    out_dir = Path(settings.out_dir)
    pool: dict[str, list[Summary]] = {}
    with running_classroom(settings.classroom, log_dir=out_dir) as classroom:
        server = classroom.server.model_copy(update={"kind": "none"})  # it runs; `model_path` is noted still
        running = settings.model_copy(update={"classroom": classroom.model_copy(update={"server": server})})
        for number, student in enumerate(students, start=1):
            console.print(f"student {number} of {len(students)}: [bold]{student.name}[/]")
            pool[student.name] = _with_student(specs, student, tasks, running, console)
    publish(out_dir, PART, students_part(pool, about(tasks, settings)), console)
    return pool


def _with_student(
    specs: Sequence[TutorSpec],
    student: StudentSpec,
    tasks: Sequence[Task],
    settings: EvaluationSettings,
    console: Console,
) -> list[Summary]:
    folder = Path(settings.out_dir) / student.name
    endpoint = student.endpoint(settings.classroom.student)
    classroom = settings.classroom.model_copy(update={"student": endpoint})
    own = settings.model_copy(update={"classroom": classroom, "out_dir": str(folder)})
    if student.is_other_model:
        tasks = _rated_by_itself(student, tasks, own, console)
    summaries = measure(specs, tasks, own, console, persona=student.persona)
    write_reports(summaries, {**about(tasks, own), "persona": student.persona}, folder)
    return summaries


def _rated_by_itself(
    student: StudentSpec, tasks: Sequence[Task], settings: EvaluationSettings, console: Console
) -> list[Task]:
    num_problems = len({task.pair.id for task in tasks})
    folder = Path(settings.out_dir) / "baselines"
    test = settings.recipe.post_test.model_dump(
        include={"attempts", "min_graded", "temperature", "max_tokens"}
    )
    endpoint = settings.classroom.student
    facts = {
        "student": endpoint.model,
        "student_extra_body": endpoint.request_fields,
        "seed": settings.seed,
        "max_answer_chars": settings.grader.max_answer_chars,
        "data_sha256": file_sha256(Path(settings.data_file)),
    }
    claim_folder(folder, {**facts, **test})
    with TaskProgress(console) as progress:
        bar = progress.add_task(f"{student.name}: cold solve rates", total=2 * num_problems)
        rated = with_own_baselines(
            tasks,
            endpoint,
            settings,
            file=folder / "baselines.jsonl",
            progress=lambda: progress.advance(bar),
        )
    if not rated:
        raise UserError(f"--student {student.name}: its cold solve rate could be measured on no problem")
    num_left_out = num_problems - len({task.pair.id for task in rated})
    if num_left_out:
        console.print(
            f"[bold]{student.name}[/]: {num_left_out} problems left out, their rates were not measured"
        )
    return rated
