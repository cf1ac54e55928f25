"""One training dialogue from prompt ids to reward, given a way to sample tokens. Knows nothing of verl or torch."""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from eduardo.answers import Grader
from eduardo.chat_template import ChatTemplate
from eduardo.dialogue import Tutor, run_dialogue
from eduardo.education_dialogue.conversation import Conversation
from eduardo.education_dialogue.lesson import LessonStudent, hold_lesson
from eduardo.education_dialogue.preference import PreferenceJudge
from eduardo.education_dialogue.scoring import score_lesson
from eduardo.errors import EndpointError
from eduardo.judge import Judge, Rubric, RubricJudge, mean_score
from eduardo.ledger import TokenLedger
from eduardo.llm import shared_client
from eduardo.personas import draw_persona
from eduardo.records import DialogueWriter, flat_metrics
from eduardo.scoring import Labels, score_dialogue
from eduardo.seeds import derive_seed
from eduardo.settings import EndpointSettings, GraderSettings, RecipeSettings, RubricSettings
from eduardo.student import Student
from eduardo.tutor import Generate, TokenTutor
from eduardo.types import Message, ScoredDialogue, Transcript, TransferPair
from eduardo.verl_adapter.dialogue_files import part_file
from eduardo.verl_adapter.metrics import ENVIRONMENT, REWARD
from eduardo.verl_adapter.tasks import Task, environment_index
from eduardo.verl_adapter.traffic import Traffic
from eduardo.views import opener


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSettings:
    recipe: RecipeSettings
    grader: GraderSettings
    student: EndpointSettings
    judge: EndpointSettings
    seed: int
    run_dir: Path
    personas: Mapping[str, float] | None = None  # of the student: name → weight
    rubric: RubricSettings | None = None  # rates validation dialogues

    @classmethod
    def from_config(cls, config: DictConfig) -> EpisodeSettings:
        """From the resolved and validated run configuration."""
        plain: Any = OmegaConf.to_container(config, resolve=True)
        return cls(
            recipe=RecipeSettings(**plain["recipe"]),
            grader=GraderSettings(**plain["grader"]),
            student=EndpointSettings(**plain["classroom"]["student"]),
            judge=EndpointSettings(**plain["classroom"]["judge"]),
            seed=plain["run"]["seed"],
            run_dir=Path(plain["run"]["dir"]),
            personas=plain["classroom"]["personas"],
            rubric=RubricSettings(**plain["rubric"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which dialogue of which step. Its seed, and with it all chance in the dialogue, follows from this.

    Validation keeps its seeds over steps, so that two validations differ by the policy alone.
    """

    task: Task
    prompt: list[Message]  # system and opener, as in the parquet row
    split: str  # train | val
    step: int
    index: int  # among the dialogues about this task in this step

    def seed(self, run_seed: int) -> int:
        return derive_seed(run_seed, self.split, self._step, self.task.id, self.index)

    def group_seed(self, run_seed: int) -> int:
        """The same for all dialogues about this task in this step."""
        return derive_seed(run_seed, "group", self.split, self._step, self.task.id)

    @property
    def _step(self) -> int:
        return self.step if self.split == "train" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What the policy learns from one dialogue. A void one has an all-zero mask and a reward that is no number."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]  # 1 on tokens that the policy sampled
    rollout_logprobs: list[float]
    reward: float
    numbers: dict[str, float | None]  # the same keys for every dialogue
    num_turns: int


class Classroom:
    """Student, judge, grader and records of one worker process, shared by all its dialogues."""

    def __init__(self, settings: EpisodeSettings, template: ChatTemplate) -> None:
        self._settings = settings
        self._template = template
        to_student, to_judge = shared_client(settings.student), shared_client(settings.judge)
        self._student = Student(to_student, settings.recipe)
        self._judge = Judge(to_judge, settings.recipe.judge)
        self._preference_judge = PreferenceJudge(to_judge, settings.recipe)
        self._traffic = Traffic(student=to_student, judge=to_judge)
        self._rubric_judge = _rubric_judge(settings.rubric)
        self._grader = Grader(settings.grader)
        self._writers: dict[tuple[str, int], DialogueWriter] = {}

    @property
    def stop_ids(self) -> tuple[int, ...]:
        return self._template.stop_ids

    async def run(self, sample: Sample, generate: Generate) -> Experience:
        """Hold, score and record one dialogue. The record is on disk before its reward leaves this function."""
        limits, seed = self._settings.recipe.dialogue, sample.seed(self._settings.seed)
        ledger = TokenLedger(self._template, sample.prompt, max_response_tokens=limits.response_tokens)
        tutor = TokenTutor(self._template, ledger, generate, turn_tokens=limits.tutor_turn_tokens)
        labels: Labels = {"split": sample.split, "step": sample.step, "sample": sample.index, "seed": seed}
        ratings: dict[str, float | None] = {}
        if isinstance(sample.task, Conversation):
            scored = await self._give_lesson(sample.task, tutor, seed=seed, labels=labels)
        else:
            scored, ratings = await self._tutor_problem(sample.task, sample, tutor, seed=seed, labels=labels)
        ledger.check()
        await asyncio.to_thread(self._writer(sample).write, scored)
        further = {**self._no_ratings(), **ratings, **self._traffic.take()}
        return _experience(ledger, scored, {**further, ENVIRONMENT: environment_index(sample.task)})

    async def _give_lesson(
        self, conversation: Conversation, tutor: Tutor, *, seed: int, labels: Labels
    ) -> ScoredDialogue:
        recipe = self._settings.recipe
        transcript = await hold_lesson(
            conversation.background,
            tutor=tutor,
            student=LessonStudent(
                shared_client(self._settings.student), recipe.dialogue, conversation.background
            ),
            settings=recipe.dialogue,
            seed=seed,
        )
        return await score_lesson(
            conversation, transcript, judge=self._preference_judge, recipe=recipe, seed=seed, labels=labels
        )

    async def _tutor_problem(
        self, pair: TransferPair, sample: Sample, tutor: Tutor, *, seed: int, labels: Labels
    ) -> tuple[ScoredDialogue, dict[str, float | None]]:
        recipe, persona = self._settings.recipe, self._persona(sample)
        transcript = await run_dialogue(
            pair.source.problem,
            opener=opener(pair.source.problem),
            tutor=tutor,
            student=self._student if persona is None else self._acting(persona),
            settings=recipe.dialogue,
            seed=seed,
        )
        ratings = await self._rate(sample, transcript, seed=seed)
        scored = await score_dialogue(
            pair,
            transcript,
            student=self._student,
            judge=self._judge,
            grader=self._grader,
            recipe=recipe,
            seed=seed,
            labels={**labels, **({} if persona is None else {"persona": persona}), **ratings},
        )
        return scored, ratings

    async def _rate(self, sample: Sample, transcript: Transcript, *, seed: int) -> dict[str, float | None]:
        """`rubric_NAME` → score of a validation dialogue, None where there is none. No key without a rubric judge."""
        judge = self._rubric_judge
        if judge is None:
            return {}
        end = transcript.end_reason
        if sample.split != "val" or end is None or end.is_failure:
            return self._no_ratings()

        async def rated(rubric: Rubric) -> float | None:
            try:
                ratings = await judge.rate(
                    transcript, rubric, last_turn_only=False, seed=derive_seed(seed, rubric)
                )
            except EndpointError:  # a diagnostic that is missing or refused; the dialogue itself is measured
                return None
            return mean_score(ratings)

        scores = await asyncio.gather(*map(rated, Rubric))
        return {f"rubric_{rubric}": score for rubric, score in zip(Rubric, scores, strict=True)}

    def _no_ratings(self) -> dict[str, float | None]:
        return {} if self._rubric_judge is None else {f"rubric_{rubric}": None for rubric in Rubric}

    def _persona(self, sample: Sample) -> str | None:
        """One for all dialogues that are compared with each other; None where none is asked for."""
        weights = self._settings.personas
        return None if weights is None else draw_persona(weights, seed=sample.group_seed(self._settings.seed))

    def _acting(self, persona: str) -> Student:
        return Student(shared_client(self._settings.student), self._settings.recipe, persona=persona)

    def _writer(self, sample: Sample) -> DialogueWriter:
        key = (sample.split, sample.step)
        if key not in self._writers:
            for writer in self._writers.values():
                writer.close()
            path = part_file(self._settings.run_dir, *key, worker=f"{socket.gethostname()}-{os.getpid()}")
            self._writers = {key: DialogueWriter(path)}
        return self._writers[key]


def _rubric_judge(settings: RubricSettings | None) -> RubricJudge | None:
    if settings is None or settings.judge is None:
        return None
    return RubricJudge(shared_client(settings.judge), settings)


def _experience(
    ledger: TokenLedger, scored: ScoredDialogue, further: Mapping[str, float | None]
) -> Experience:
    # verl needs at least one response token; a dialogue that failed before its first one is void anyway.
    response_ids = ledger.response_ids or ledger.prompt_ids[-1:]
    numbers = {**flat_metrics(scored), **further}
    numbers[REWARD] = numbers.pop("reward")  # verl keeps a column of its own under the shorter name
    return Experience(
        prompt_ids=ledger.prompt_ids,
        response_ids=response_ids,
        response_mask=[0] * len(response_ids) if scored.is_void else ledger.response_mask,
        rollout_logprobs=ledger.response_logprobs or [0.0],
        reward=math.nan if scored.reward is None else scored.reward.total,
        numbers=numbers,
        num_turns=len(scored.transcript.turns),
    )
