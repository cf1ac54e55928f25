"""`python -m eduardo.evaluate education_dialogue`: lessons of tutors against the data set's own conversations."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rich.console import Console

from eduardo.classroom.launch import running_classroom
from eduardo.classroom.preferences.teachers import TEACHERS, Teacher
from eduardo.config import ClassroomSettings, load_settings
from eduardo.dialogue import Tutor
from eduardo.education_dialogue.preference import PreferenceJudge
from eduardo.errors import UserError
from eduardo.evaluation.lessons.settings import LessonTestSettings
from eduardo.evaluation.lessons.stages import LessonTask, hold_lessons, read_lesson_tasks, score_lessons
from eduardo.evaluation.lessons.summary import lesson_part
from eduardo.evaluation.manifest import claim_folder, classroom_facts, tutor_facts
from eduardo.evaluation.publish import publish
from eduardo.evaluation.resumable import ROLLOUTS, SCORED, existing, key_of
from eduardo.evaluation.tutors import (
    TutorFactory,
    TutorKind,
    TutorSpec,
    check_names,
    check_tutor,
    running_tutor,
)
from eduardo.files import file_sha256
from eduardo.llm import close_shared_clients, shared_client
from eduardo.progress import TaskProgress
from eduardo.types import Message

PART = "education_dialogue"
_EPILOG = f"""\
examples:
  # a checkpoint before and after training, in the embedded classroom
  python -m eduardo.evaluate education_dialogue --tutor before=models/tiny --tutor after=runs/lessons

  # two scripted teachers; there are {", ".join(sorted(TEACHERS))}
  python -m eduardo.evaluate education_dialogue --tutor adapter --tutor lecturer num_samples=4

  # real student and judge
  python -m eduardo.evaluate education_dialogue --tutor ours=runs/lessons recipe=paper classroom=vllm serving=gpu

A tutor is NAME=TARGET as for `python -m eduardo.evaluate environment`, or the name of a scripted teacher. Every later
tutor is compared with the first one. Every other argument overrides a key of configs/education_dialogue.yaml. Lessons
and scores that are in out_dir are kept: run it again to continue.
"""


def main(argv: Sequence[str], read_tutor: Callable[[str], TutorSpec]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.evaluate education_dialogue",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--tutor", action="append", required=True, metavar="NAME=TARGET", help="may be repeated"
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/education_dialogue.yaml"
    )
    arguments = parser.parse_intermixed_args(argv)
    specs = [_read(text, read_tutor) for text in arguments.tutor]
    check_names(specs)
    run(
        specs,
        load_settings(
            LessonTestSettings, arguments.overrides, config_name="education_dialogue", allow_missing=False
        ),
        Console(),
    )
    return 0


def run(specs: Sequence[TutorSpec], settings: LessonTestSettings, console: Console) -> None:
    """Hold, compare and report; everything is kept under `settings.out_dir`."""
    tasks, out_dir = read_lesson_tasks(settings), Path(settings.out_dir)
    facts = _facts(settings)
    for spec in specs:
        claim_folder(out_dir / spec.name, {**tutor_facts(spec, settings), **facts})
    with (
        running_classroom(settings.classroom, log_dir=out_dir) as classroom,
        TaskProgress(console) as progress,
    ):
        for spec in specs:
            voids = _measure(spec, tasks, classroom, settings, progress)
            for reason, number in voids.most_common():
                console.print(f"[bold]{spec.name}[/]: {number} lessons not measured: {reason}")
    planned = {task.key for task in tasks}
    lessons = {
        spec.name: [d for d in existing(out_dir / spec.name / SCORED) if key_of(d) in planned]
        for spec in specs
    }
    part = lesson_part(lessons, num_planned=len(tasks), max_void_share=settings.max_void_share, about=facts)
    publish(out_dir, PART, part, console)


def _read(text: str, read_tutor: Callable[[str], TutorSpec]) -> TutorSpec:
    name, _, target = text.partition("=")
    teacher = target.removeprefix("probe:") if target else name
    if teacher in TEACHERS:
        return TutorSpec(name=name, kind=TutorKind.PROBE, target=teacher)
    spec = read_tutor(text)
    if spec.kind is TutorKind.PROBE:
        raise UserError(
            f"--tutor {text}: it knows problems, no lessons; scripted teachers are {', '.join(sorted(TEACHERS))}"
        )
    return spec


def _facts(settings: LessonTestSettings) -> dict[str, object]:
    """All that a lesson or its score depends on, beside the tutor."""
    chosen = settings.model_dump(include={"recipe", "data_file", "temperature", "top_p", "seed"}, mode="json")
    digest = file_sha256(Path(settings.data_file))
    return {**classroom_facts(settings.classroom), **chosen, "data_sha256": digest}


def _measure(
    spec: TutorSpec,
    tasks: Sequence[LessonTask],
    classroom: ClassroomSettings,
    settings: LessonTestSettings,
    progress: TaskProgress,
) -> Counter[str]:
    folder = Path(settings.out_dir) / spec.name

    def bar(stage: str) -> Callable[[], None]:
        task = progress.add_task(f"{spec.name}: {stage}", total=len(tasks))
        return lambda: progress.advance(task)

    async def hold(make_tutor: TutorFactory) -> Counter[str]:
        try:
            student = shared_client(classroom.student)
            await student.check(config_key="classroom.student")
            await check_tutor(spec, settings)
            return await hold_lessons(
                tasks, make_tutor, student, settings, file=folder / ROLLOUTS, progress=bar("lessons")
            )
        finally:
            await close_shared_clients()

    async def score() -> Counter[str]:
        try:
            client = shared_client(classroom.judge)
            await client.check(config_key="classroom.judge")
            judge = PreferenceJudge(client, settings.recipe)
            files = {"rollouts": folder / ROLLOUTS, "file": folder / SCORED}
            return await score_lessons(tasks, judge, settings, **files, progress=bar("comparisons"))
        finally:
            await close_shared_clients()

    voids: Counter[str] = Counter()
    if not {key_of(d) for d in existing(folder / ROLLOUTS)}.issuperset(task.key for task in tasks):
        with _running(spec, settings, folder) as make_tutor:
            voids += asyncio.run(hold(make_tutor))
    return voids + asyncio.run(score())


def _running(
    spec: TutorSpec, settings: LessonTestSettings, folder: Path
) -> AbstractContextManager[TutorFactory]:
    return (
        _teaching(spec, settings) if spec.kind is TutorKind.PROBE else running_tutor(spec, settings, folder)
    )


@contextmanager
def _teaching(spec: TutorSpec, settings: LessonTestSettings) -> Iterator[TutorFactory]:
    def make(prompt: list[Message], *, seed: int) -> Tutor:
        return Teacher(TEACHERS[spec.target], end_tag=settings.recipe.dialogue.end_tag)

    yield make
