"""The two stages of the environment test, with the simulated student and judge: what is done stays done.

A run that is killed anywhere leaves files from which the next one ends up with the same dialogues and scores.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sample_runs import GRADER, RECIPE, factory, sample_pairs

from eduardo import process_dataset, views
from eduardo.answers import Grader
from eduardo.classroom.in_process import in_process_judge, in_process_student
from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.evaluation.controls import disclosed, untaught
from eduardo.evaluation.environment.scoring import score
from eduardo.evaluation.environment.tasks import Task, taught_by
from eduardo.evaluation.resumable import roll_out
from eduardo.llm import Completion
from eduardo.records import read_dialogues
from eduardo.types import EndReason, FinishReason, ItemKind, Speaker

COMMON = {"seed": 1, "max_at_once": 4, "progress": lambda: None}
ROLLOUTS, SCORED = "rollouts.jsonl", "scored.jsonl"


@pytest.fixture(scope="module")
def grader():
    with Grader(GRADER) as running:
        yield running


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [
        Task(pair=pair, prompt=views.tutor_prompt(pair, "compact", end_tag=RECIPE.dialogue.end_tag), sample=s)
        for pair in sample_pairs(4)
        for s in range(2)
    ]


class Stages:
    """Both stages in one folder, with what each of them was asked to do."""

    def __init__(self, folder: Path, tasks: list[Task], grader: Grader, judge=None, hold=None) -> None:
        self.folder, self.tasks, self.grader = folder, tasks, grader
        self.student = in_process_student(RECIPE)
        self.judge = judge or in_process_judge(RECIPE)
        self.hold = hold or taught_by(factory("guide"), self.student, RECIPE)
        self.held: list[tuple[str, int]] = []

    async def _hold(self, task: Task, *, seed: int):
        self.held.append(task.key)
        return await self.hold(task, seed=seed)

    async def roll_out(self):
        return await roll_out(self.tasks, self._hold, file=self.folder / ROLLOUTS, **COMMON)

    async def score(self):
        return await score(
            self.tasks,
            self.student,
            self.judge,
            self.grader,
            recipe=RECIPE,
            rollouts=self.folder / ROLLOUTS,
            file=self.folder / SCORED,
            **COMMON,
        )

    def records(self, name: str) -> dict[tuple[str, int, str], object]:
        return {
            (d.pair_id, d.labels["sample"], str(d.labels.get("post_test"))): d
            for d in read_dialogues(self.folder / name)
        }


@pytest.fixture
async def whole(tmp_path: Path, tasks, grader) -> Stages:
    """An evaluation that nothing disturbed."""
    stages = Stages(tmp_path / "whole", tasks, grader)
    stages.folder.mkdir()
    assert not await stages.roll_out()
    assert not await stages.score()
    return stages


class TestResuming:
    async def test_a_finished_evaluation_is_not_done_again(self, whole: Stages) -> None:
        before = (whole.folder / SCORED).read_bytes()
        num_held = len(whole.held)
        await whole.roll_out()
        await whole.score()
        assert len(whole.held) == num_held == len(whole.tasks)
        assert (whole.folder / SCORED).read_bytes() == before

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.61, 0.99])
    async def test_files_cut_anywhere_are_completed_to_the_same_records(
        self, whole: Stages, tmp_path: Path, share: float
    ) -> None:
        again = Stages(tmp_path / "cut", whole.tasks, whole.grader)
        again.folder.mkdir()
        for name in (ROLLOUTS, SCORED):
            content = (whole.folder / name).read_bytes()
            (again.folder / name).write_bytes(content[: int(len(content) * share)])
        await again.roll_out()
        await again.score()
        assert 0 < len(again.held) <= len(again.tasks)
        for name in (ROLLOUTS, SCORED):
            assert again.records(name) == whole.records(name)

    async def test_more_samples_add_to_what_is_there(self, whole: Stages) -> None:
        more = [replace(task, sample=2) for task in whole.tasks if task.sample == 0]
        whole.tasks = [*whole.tasks, *more]
        num_held = len(whole.held)
        await whole.roll_out()
        assert len(whole.held) == num_held + len(more)

    async def test_samples_of_one_problem_are_different_dialogues(self, whole: Stages) -> None:
        records = whole.records(ROLLOUTS)
        pairs = {key[0] for key in records}
        assert any(
            records[pair, 0, "None"].transcript != records[pair, 1, "None"].transcript for pair in pairs
        )


class TestVoids:
    async def test_a_failed_dialogue_is_not_written_and_tried_again(
        self, tmp_path: Path, tasks, grader
    ) -> None:
        student = in_process_student(RECIPE)
        good, broken = taught_by(factory("guide"), student, RECIPE), {tasks[0].key}

        async def hold(task: Task, *, seed: int):
            if task.key in broken:
                raise EndpointUnavailable("the tutor is gone")
            return await good(task, seed=seed)

        stages = Stages(tmp_path, tasks, grader, hold=hold)
        assert await stages.roll_out() == {"the tutor is gone": 1}
        assert len(stages.records(ROLLOUTS)) == len(tasks) - 1
        broken.clear()
        assert not await stages.roll_out()
        assert len(stages.records(ROLLOUTS)) == len(tasks)

    async def test_a_dialogue_that_ended_in_a_failure_says_why(self, tmp_path: Path, tasks, grader) -> None:
        async def hold(task: Task, *, seed: int):
            return (await untaught()(task, seed=seed)).ended(EndReason.STUDENT_FAILED, "no answer in 600 s")

        stages = Stages(tmp_path, tasks, grader, hold=hold)
        assert await stages.roll_out() == {"student_failed: no answer in 600 s": len(tasks)}

    async def test_a_silent_judge_leaves_no_score_behind(self, whole: Stages, tmp_path: Path) -> None:
        class Silent:
            async def judge(self, transcript, *, seed):
                raise EndpointUnavailable("judge is gone")

        stages = Stages(tmp_path / "silent", whole.tasks, whole.grader, judge=Silent())
        stages.folder.mkdir()
        (stages.folder / ROLLOUTS).write_bytes((whole.folder / ROLLOUTS).read_bytes())
        [(reason, number)] = (await stages.score()).items()
        assert "judge: too few valid votes" in reason
        assert number == len(whole.tasks)
        assert not stages.records(SCORED)
        stages.judge = in_process_judge(RECIPE)
        assert not await stages.score()
        assert stages.records(SCORED) == whole.records(SCORED)

    async def test_a_refusal_for_good_ends_the_evaluation_with_its_own_message(
        self, tmp_path: Path, tasks, grader
    ) -> None:
        async def hold(task: Task, *, seed: int):
            raise EndpointRejected("unknown model")

        with pytest.raises(EndpointRejected, match="unknown model"):
            await Stages(tmp_path, tasks, grader, hold=hold).roll_out()


class TestControls:
    async def test_without_tutoring_nothing_is_learned_and_with_the_solution_nearly_all(
        self, tmp_path: Path, tasks, grader
    ) -> None:
        student = in_process_student(RECIPE)
        gains = {}
        for name, hold in (("floor", untaught()), ("ceiling", disclosed(student, grader, RECIPE))):
            stages = Stages(tmp_path / name, tasks, grader, hold=hold)
            stages.folder.mkdir()
            await stages.roll_out()
            await stages.score()
            transfer = [d for key, d in stages.records(SCORED).items() if key[2] == ItemKind.TRANSFER]
            gains[name] = sum(d.post_test.num_right for d in transfer) / (16 * len(transfer))
        assert gains["ceiling"] > 0.9 > 0.5 > gains["floor"]

    async def test_the_solution_stands_in_the_students_own_turn(self, tasks, grader) -> None:
        pair = replace(tasks[0].pair, notes="step 1: total = 2 + 3 = 5")
        hold = disclosed(in_process_student(RECIPE), grader, RECIPE)
        transcript = await hold(replace(tasks[0], pair=pair), seed=1)
        speakers = [turn.speaker for turn in transcript.turns]
        assert speakers == [Speaker.STUDENT, Speaker.TUTOR, *[Speaker.STUDENT, Speaker.TUTOR] * 2]
        assert transcript.turns[2].text == pair.notes
        assert not any(pair.notes in turn.text for turn in transcript.tutor_turns)

    @pytest.mark.parametrize(
        ("attempts", "expected"),
        [
            (["I get \\boxed{1}.", "7 + 35 = 42. \\boxed{42}"], "7 + 35 = 42. \\boxed{42}"),
            (["no idea"], "The answer is \\boxed{42}."),
        ],
        ids=["its first right attempt", "the bare answer"],
    )
    async def test_without_a_worked_solution_the_student_writes_its_own(
        self, tasks, grader, attempts, expected
    ) -> None:
        class Told:
            asked = ""

            async def attempt(self, messages, **_):
                self.asked = messages[-1]["content"]
                return tuple(Completion(text=t, finish=FinishReason.STOP, num_tokens=9) for t in attempts)

            async def reply(self, transcript, *, seed):
                return replace(transcript.turns[0], text="Because it fits.")

        task = tasks[0]
        source = replace(task.pair.source, problem=replace(task.pair.source.problem, answer="42"))
        student = Told()
        hold = disclosed(student, grader, RECIPE)
        transcript = await hold(replace(task, pair=replace(task.pair, source=source, notes=None)), seed=1)
        assert transcript.turns[2].text == expected
        assert "42" in student.asked


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_evaluations_end_as_an_undisturbed_one(tmp_path: Path) -> None:
    """SIGKILL at two moments, then once to the end: the same records as in one go."""
    data = tmp_path / "data"
    assert process_dataset.main(["--out-dir", str(data), "--tutor-prompt", "compact"]) == 0

    def command(out: Path) -> list[str]:
        options = ["--tutor", "guide", "--control", "disclosed", f"data_file={data / 'test.parquet'}"]
        test = [sys.executable, "-m", "eduardo.evaluate", "environment", *options]
        return [*test, "max_dialogues_at_once=2", "num_problems=20", f"out_dir={out}"]

    subprocess.run(command(tmp_path / "whole"), check=True, capture_output=True)
    out = tmp_path / "killed"
    for file, num_lines in ((out / "guide" / ROLLOUTS, 5), (out / "guide" / SCORED, 7)):
        running = subprocess.Popen(
            command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while running.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < num_lines):
            time.sleep(0.01)
        assert running.poll() is None, "it ended before it could be killed"
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    subprocess.run(command(out), check=True, capture_output=True)

    def records(folder: Path, name: str) -> dict[object, object]:
        return {
            (tutor, d.pair_id, d.labels.get("post_test")): d
            for tutor in ("guide", "disclosed")
            for d in read_dialogues(folder / tutor / name)
        }

    assert records(out, SCORED) == records(tmp_path / "whole", SCORED)
    assert records(out, ROLLOUTS) == records(tmp_path / "whole", ROLLOUTS)
