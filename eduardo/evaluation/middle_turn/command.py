"""`python -m eduardo.evaluate middle_turn`: answers in place of a human teacher, scored beside the teacher's own."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from rich.console import Console

import eduardo
from eduardo.config import load_settings
from eduardo.errors import UserError
from eduardo.evaluation.jsonl import append_lines, read_lines
from eduardo.evaluation.manifest import claim_folder, tutor_facts
from eduardo.evaluation.middle_turn import summary
from eduardo.evaluation.middle_turn.answers import Answer, answer_all, human_answers
from eduardo.evaluation.middle_turn.moments import Moment
from eduardo.evaluation.middle_turn.ratings import rate_all
from eduardo.evaluation.middle_turn.report import middle_turn_part
from eduardo.evaluation.middle_turn.reward_model import RewardModel, score_all, system_prompt
from eduardo.evaluation.middle_turn.settings import MiddleTurnSettings
from eduardo.evaluation.middle_turn.sources import read_moments
from eduardo.evaluation.middle_turn.summary import ANSWERS, HUMAN, RATINGS, SCORES, AuthorRecords
from eduardo.evaluation.publish import publish
from eduardo.evaluation.tutors import TutorKind, TutorSpec, check_names, check_tutor, running_tutor
from eduardo.files import file_sha256
from eduardo.judge import RubricJudge
from eduardo.llm import close_shared_clients, shared_client
from eduardo.progress import TaskProgress

PART = "middle_turn"
_EPILOG = """\
examples:
  # a checkpoint and an API model on MathDial from the Hub, with the published reward model
  python -m eduardo.evaluate middle_turn --tutor ours=runs/demo --tutor api=https://host/v1#some-model serving=gpu

  # a local file, a local reward model, and a rubric judge
  python -m eduardo.evaluate middle_turn --tutor api=http://host:8000/v1#tutor data.source=mathdial.jsonl \\
      reward_model.path=models/reward rubric=endpoint rubric.judge.base_url=http://host:8001/v1 rubric.judge.model=judge

  # Eedi: a folder with anchored-dialogues.jsonl and dq-question-metadata.jsonl, or the Hub id
  python -m eduardo.evaluate middle_turn --tutor ours=models/ours data.format=eedi \\
      data.source=Eedi/Question-Anchored-Tutoring-Dialogues-2k data.split=train

Every other argument overrides a key of configs/middle_turn.yaml. Answers, scores and ratings that are in out_dir are
kept: run it again to continue, or with a reward model or rubric judge that was not there before.
"""


def main(argv: Sequence[str], read_tutor: Callable[[str], TutorSpec]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.evaluate middle_turn",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--tutor", action="append", required=True, metavar="NAME=TARGET", help="may be repeated"
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/middle_turn.yaml"
    )
    arguments = parser.parse_intermixed_args(argv)
    specs = [read_tutor(text) for text in arguments.tutor]
    _check(specs)
    run(
        specs,
        load_settings(
            MiddleTurnSettings, arguments.overrides, config_name="middle_turn", allow_missing=False
        ),
        Console(),
    )
    return 0


def run(specs: Sequence[TutorSpec], settings: MiddleTurnSettings, console: Console) -> None:
    """Answer, score and report; everything is kept under `settings.out_dir`."""
    moments, left_out = read_moments(settings.data)
    out_dir = Path(settings.out_dir)
    stages = _Stages(moments, settings, out_dir)
    with TaskProgress() as progress:
        stages.copy_human_answers()
        for spec in specs:
            stages.answer(spec, progress)
        names = [HUMAN, *(spec.name for spec in specs)]
        stages.score(names, progress)
        stages.rate(names, progress)
    human, *tutors = (AuthorRecords(name, out_dir / name, moments) for name in names)
    part = middle_turn_part(
        [summary.figures_of(author, human) for author in (human, *tutors)],
        summary.compare(tutors, human),
        about=_about(settings, len(moments)),
        left_out=left_out,
        unanswered=stages.unanswered,
    )
    publish(out_dir, PART, part, console)


def _check(specs: Sequence[TutorSpec]) -> None:
    check_names(specs, reserved=[HUMAN])
    for spec in specs:
        if spec.kind not in (TutorKind.CHECKPOINT, TutorKind.ENDPOINT):
            raise UserError(
                f"--tutor {spec.name}: a {spec.kind.value} knows only the embedded classroom's problems; "
                "name a model folder or URL#MODEL"
            )


class _Stages:
    """Each stage goes on where its files end, and notes beside them what they were made with."""

    def __init__(self, moments: Sequence[Moment], settings: MiddleTurnSettings, out_dir: Path) -> None:
        self._moments, self._settings, self._out_dir = moments, settings, out_dir
        self._data = _data_facts(settings)
        self.unanswered: Counter[str] = Counter()

    def copy_human_answers(self) -> None:
        folder = self._out_dir / HUMAN
        claim_folder(folder, self._data)
        done = {answer.id for answer in read_lines(folder / ANSWERS, Answer)}
        with append_lines(folder / ANSWERS, Answer) as writer:
            for answer in human_answers(self._moments):
                if answer.id not in done:
                    writer.write(msgspec.json.encode(answer))

    def answer(self, spec: TutorSpec, progress: TaskProgress) -> None:
        settings, folder = self._settings, self._out_dir / spec.name
        chosen = settings.model_dump(include={"tutor_prompt", "tutor_sees_solution", "seed"})
        caps = settings.recipe.dialogue.model_dump(
            include={"tutor_turn_tokens", "response_tokens", "end_tag"}
        )
        claim_folder(folder, {**tutor_facts(spec, settings), **chosen, **caps, **self._data})
        if self._answered(spec.name).keys() >= {moment.id for moment in self._moments}:
            return
        bar = progress.add_task(f"{spec.name}: answers", total=self._num_missing(folder / ANSWERS))

        async def all_answers() -> Counter[str]:
            try:
                await check_tutor(spec, settings)
                return await answer_all(
                    self._moments,
                    make_tutor,
                    file=folder / ANSWERS,
                    prompt_style=settings.tutor_prompt,
                    sees_solution=settings.tutor_sees_solution,
                    settings=settings.recipe.dialogue,
                    seed=settings.seed,
                    max_at_once=settings.max_at_once,
                    progress=lambda: progress.advance(bar),
                )
            finally:
                await close_shared_clients()

        with running_tutor(spec, settings, folder) as make_tutor:
            self.unanswered += asyncio.run(all_answers())

    def score(self, names: Sequence[str], progress: TaskProgress) -> None:
        if self._settings.reward_model.path is None:
            return
        chosen = self._settings.reward_model
        facts = {
            **chosen.model_dump(exclude={"batch_size", "system_prompt_file"}),
            "system_prompt": system_prompt(chosen.system_prompt_file),
        }
        for name in names:
            claim_folder((self._out_dir / name / SCORES).parent, facts)
        model = RewardModel(chosen)
        for name in names:
            bar = progress.add_task(
                f"{name}: reward model", total=self._num_missing(self._out_dir / name / SCORES)
            )
            score_all(
                self._moments,
                self._answered(name),
                model,
                file=self._out_dir / name / SCORES,
                progress=lambda number, bar=bar: progress.advance(bar, number),  # type: ignore[misc]
            )

    def rate(self, names: Sequence[str], progress: TaskProgress) -> None:
        rubric = self._settings.rubric
        if rubric.judge is None:
            return
        facts = {
            "rubric_judge": rubric.judge.model,
            "rubric_judge_extra_body": rubric.judge.request_fields,
            "seed": self._settings.seed,
            **rubric.model_dump(exclude={"judge"}),
        }
        for name in names:
            claim_folder((self._out_dir / name / RATINGS).parent, facts)
        asyncio.run(self._rate(names, progress))

    async def _rate(self, names: Sequence[str], progress: TaskProgress) -> None:
        rubric = self._settings.rubric
        assert rubric.judge is not None
        try:
            await shared_client(rubric.judge).check(config_key="rubric.judge")
            judge = RubricJudge(shared_client(rubric.judge), rubric)
            for name in names:
                file = self._out_dir / name / RATINGS
                bar = progress.add_task(f"{name}: ratings", total=self._num_missing(file))
                self.unanswered += await rate_all(
                    self._moments,
                    self._answered(name),
                    judge,
                    file=file,
                    seed=self._settings.seed,
                    max_at_once=self._settings.max_at_once,
                    progress=lambda bar=bar: progress.advance(bar),  # type: ignore[misc]
                )
        finally:
            await close_shared_clients()

    def _answered(self, name: str) -> dict[str, Answer]:
        return {answer.id: answer for answer in read_lines(self._out_dir / name / ANSWERS, Answer)}

    def _num_missing(self, file: Path) -> int:
        lines = file.read_bytes().count(b"\n") if file.is_file() else 0
        return max(0, len(self._moments) - lines)


def _data_facts(settings: MiddleTurnSettings) -> dict[str, object]:
    """What pins the moments, apart from how many are used."""
    source = Path(settings.data.source)
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    digests = {file.name: file_sha256(file) for file in files if file.is_file()}
    return {**settings.data.model_dump(exclude={"num_moments"}, mode="json"), "data_sha256": digests}


def _about(settings: MiddleTurnSettings, num_moments: int) -> dict[str, str | int | float]:
    """What a methods section has to say."""
    data, reward_model, judge = settings.data, settings.reward_model, settings.rubric.judge
    return {
        "eduardo": eduardo.__version__,
        "data": data.source,
        "data_revision": data.revision or "not pinned",
        "moments": num_moments,
        "turns_per_dialogue": "all that answer the student" if data.every_turn else "the middle one",
        "tutor_prompt": settings.tutor_prompt,
        "tutor_sees_solution": "yes" if settings.tutor_sees_solution else "no",
        "tokens_per_tutor_turn_at_most": settings.recipe.dialogue.tutor_turn_tokens,
        "tutor_temperature": settings.temperature,
        "tutor_top_p": settings.top_p,
        "reward_model": reward_model.path or "none",
        "reward_model_prompt": reward_model.system_prompt_file or "ours",
        "rubric_judge": "none" if judge is None else judge.model,
        "seed": settings.seed,
    }
