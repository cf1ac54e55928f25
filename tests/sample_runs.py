"""Run and evaluation folders with really scored dialogues: real loop, judge, post-test, grader and reward.

Student and judge are the simulated ones, asked in this process; tutors are the scripted probes.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

import yaml

from eduardo import views
from eduardo.answers import Grader
from eduardo.classroom.in_process import in_process_judge, in_process_student
from eduardo.classroom.probes import PROBES, Probe
from eduardo.classroom.problems import SimPair, generate_pair, notes, templates
from eduardo.dialogue import run_dialogue
from eduardo.evaluation import report
from eduardo.evaluation.comparison import compare
from eduardo.evaluation.controls import untaught
from eduardo.evaluation.environment.scoring import score
from eduardo.evaluation.environment.tasks import Task, taught_by
from eduardo.evaluation.resumable import roll_out
from eduardo.evaluation.rows import to_rows
from eduardo.evaluation.settings import evaluation_settings
from eduardo.evaluation.summary import summarize
from eduardo.evaluation.tutors import TutorFactory
from eduardo.records import DialogueWriter, flat_metrics, read_dialogues
from eduardo.scoring import score_dialogue
from eduardo.seeds import derive_seed
from eduardo.settings import GraderSettings, RecipeSettings
from eduardo.types import ItemKind, Problem, ScoredDialogue, SolveRate, TestItem, TransferPair
from eduardo.verl_adapter.dialogue_files import step_file
from eduardo.verl_adapter.metrics import REWARD, step_metrics

CONFIGS = Path(__file__).parents[1] / "configs"
RECIPE = RecipeSettings.model_validate(yaml.safe_load((CONFIGS / "recipe" / "embedded.yaml").read_text()))
GRADER = GraderSettings.model_validate(yaml.safe_load((CONFIGS / "grader" / "default.yaml").read_text()))


def sample_pairs(num_pairs: int) -> list[TransferPair]:
    """Near-transfer pairs of the classroom, with round cold solve rates: nothing here depends on measuring them."""
    chosen = (templates("train") * num_pairs)[:num_pairs]
    return [_pair(generate_pair(random.Random(i), template), i) for i, template in enumerate(chosen)]


def _pair(sim: SimPair, index: int) -> TransferPair:
    source, variant = (
        TestItem(
            problem=Problem(text=problem.text, answer=problem.answer),
            baseline=SolveRate(value=0.25, num_graded=16),
            kind=kind,
        )
        for problem, kind in ((sim.source, ItemKind.SOURCE), (sim.variant, ItemKind.TRANSFER))
    )
    pair_id = f"{sim.template.id}-{index}"
    return TransferPair(id=pair_id, source=source, variant=variant, notes=notes(sim.source))


async def scored(
    pair: TransferPair,
    probe: str,
    grader: Grader,
    labels: dict[str, str | int],
    recipe: RecipeSettings = RECIPE,
) -> ScoredDialogue:
    """One dialogue of a probe, held and scored as in training."""
    seed = derive_seed(probe, pair.id, *labels.values())
    student = in_process_student(recipe)
    transcript = await run_dialogue(
        pair.source.problem,
        opener=views.opener(pair.source.problem),
        tutor=Probe(PROBES[probe], end_tag=recipe.dialogue.end_tag, seed=seed),
        student=student,
        settings=recipe.dialogue,
        seed=seed,
    )
    return await score_dialogue(
        pair,
        transcript,
        student=student,
        judge=in_process_judge(recipe),
        grader=grader,
        recipe=recipe,
        seed=seed,
        labels={**labels, "seed": seed},
    )


def write_run(
    folder: Path, probes_by_step: Sequence[Sequence[str]], num_pairs: int = 2
) -> list[ScoredDialogue]:
    """A training run: at step i+1 every problem meets every probe of `probes_by_step[i]` once."""
    pairs, made = sample_pairs(num_pairs), []
    with Grader(GRADER) as grader:
        for step, probes in enumerate(probes_by_step, start=1):
            dialogues = asyncio.run(_step(pairs, probes, step, grader))
            write_dialogues(step_file(folder, "train", step), dialogues)
            _append_metrics(folder, step, dialogues)
            made += dialogues
    return made


def write_dialogues(path: Path, dialogues: Sequence[ScoredDialogue]) -> None:
    with DialogueWriter(path) as writer:
        for dialogue in dialogues:
            writer.write(dialogue)


def write_evaluation(folder: Path, tutors: Sequence[str], num_pairs: int = 4) -> None:
    """An evaluation of probes and, by the name `none`, of the control without tutoring; with its report files."""
    settings = evaluation_settings([])
    recipe = settings.recipe
    tasks = [
        Task(pair=pair, prompt=views.tutor_prompt(pair, "compact", end_tag=recipe.dialogue.end_tag), sample=0)
        for pair in sample_pairs(num_pairs)
    ]
    summaries = []
    with Grader(GRADER) as grader:
        for name in tutors:
            asyncio.run(_evaluate(tasks, name, folder / name, grader))
            rows = to_rows(list(read_dialogues(folder / name / "scored.jsonl")), settings)
            summaries.append(summarize(name, rows, len(tasks), settings))
    evaluation = report.to_evaluation(summaries, compare(summaries), {"seed": 1})
    (folder / "report.json").write_bytes(report.to_json(evaluation))


async def _evaluate(tasks: Sequence[Task], name: str, folder: Path, grader: Grader) -> None:
    student, judge = in_process_student(RECIPE), in_process_judge(RECIPE)
    hold = untaught() if name == "none" else taught_by(factory(name), student, RECIPE)
    stage = {"seed": 1, "max_at_once": 8, "progress": lambda: None}
    rollouts, scores = folder / "rollouts.jsonl", folder / "scored.jsonl"
    await roll_out(tasks, hold, file=rollouts, **stage)
    await score(tasks, student, judge, grader, recipe=RECIPE, rollouts=rollouts, file=scores, **stage)


def factory(name: str) -> TutorFactory:
    def make(prompt: list[views.Message], *, seed: int) -> Probe:
        return Probe(PROBES[name], end_tag=RECIPE.dialogue.end_tag, seed=seed)

    return make


async def _step(
    pairs: Sequence[TransferPair], probes: Sequence[str], step: int, grader: Grader
) -> list[ScoredDialogue]:
    return [
        await scored(pair, probe, grader, {"split": "train", "step": step, "sample": sample})
        for pair in pairs
        for sample, probe in enumerate(probes)
    ]


def _append_metrics(folder: Path, step: int, dialogues: Sequence[ScoredDialogue]) -> None:
    numbers = [flat_metrics(dialogue) for dialogue in dialogues]
    for one in numbers:
        one[REWARD] = one.pop("reward")  # as in the journal of a real run
    line = {"step": step, **step_metrics(numbers, num_expected=len(numbers), prefix="dialogue")}
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
