"""Both stages for one tutor after the other, with the services that each of them needs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

from eduardo.answers import Grader
from eduardo.config import ClassroomSettings
from eduardo.evaluation import controls
from eduardo.evaluation.environment.scoring import score
from eduardo.evaluation.environment.tasks import Hold, Task, taught_by
from eduardo.evaluation.resumable import ROLLOUTS, SCORED, existing, key_of, roll_out
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.tutors import (
    Control,
    TutorFactory,
    TutorKind,
    TutorSpec,
    check_tutor,
    running_tutor,
)
from eduardo.judge import Judge
from eduardo.llm import close_shared_clients, shared_client
from eduardo.progress import TaskProgress
from eduardo.student import Student


class Stages:
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
        held = {key_of(dialogue) for dialogue in existing(file)}
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
                return await roll_out(
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
                return await score(
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
