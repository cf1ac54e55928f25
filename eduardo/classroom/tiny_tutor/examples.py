"""Dialogues to imitate: scripted tutors, good and bad, with the simulated student on training templates only."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated

from pydantic import Field
from transformers import PreTrainedTokenizerFast

from eduardo import views
from eduardo.chat_template import ChatTemplate
from eduardo.classroom import problems
from eduardo.classroom.in_process import in_process_student
from eduardo.classroom.probes import PROBES, Probe
from eduardo.dialogue import run_dialogue
from eduardo.errors import UserError
from eduardo.ledger import TokenLedger
from eduardo.seeds import derive_seed
from eduardo.settings import Count, RecipeSettings, Settings
from eduardo.types import ItemKind, Problem, Speaker, TestItem, Transcript, TransferPair

PROMPT_STYLE = "compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A finished dialogue of a scripted tutor, with the pair that it is about."""

    probe: str
    pair: TransferPair
    transcript: Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Token ids of a whole dialogue, prompt first; `is_target` is True on what the tutor wrote."""

    ids: list[int]
    is_target: list[bool]


class DrillSettings(Settings):
    num_drills: Count
    length: Annotated[int, Field(ge=16)]


def to_transfer_pair(pair: problems.SimPair) -> TransferPair:
    """A generated pair without measured solve rates, with the worked solution as the tutor's notes."""
    source, variant = (
        TestItem(problem=Problem(text=p.text, answer=p.answer), baseline=None, kind=kind)
        for p, kind in ((pair.source, ItemKind.SOURCE), (pair.variant, ItemKind.TRANSFER))
    )
    return TransferPair(
        id=pair.template.id, source=source, variant=variant, notes=problems.notes(pair.source)
    )


def hold_lessons(
    num_lessons: int,
    mix: Mapping[str, float],
    *,
    recipe: RecipeSettings,
    seed: int,
    on_progress: Callable[[int], None],
) -> list[Lesson]:
    """`num_lessons` dialogues, tutors drawn by `mix` (name → weight), templates in turn. Same seed, same lessons."""
    unknown = sorted(mix.keys() - PROBES.keys())
    if unknown:
        raise UserError(f"mix: no scripted tutor is called {unknown[0]!r}; choose from {', '.join(PROBES)}")
    return asyncio.run(_hold(num_lessons, mix, recipe, seed, on_progress))


async def _hold(
    num_lessons: int,
    mix: Mapping[str, float],
    recipe: RecipeSettings,
    seed: int,
    on_progress: Callable[[int], None],
) -> list[Lesson]:
    student = in_process_student(recipe)
    templates = problems.templates("train")
    lessons = []
    for index in range(num_lessons):
        rng = random.Random(derive_seed(seed, "lesson", index))
        pair = to_transfer_pair(problems.generate_pair(rng, templates[index % len(templates)]))
        name = rng.choices(list(mix), list(mix.values()))[0]
        tutor = Probe(PROBES[name], end_tag=recipe.dialogue.end_tag, seed=rng.getrandbits(31))
        problem = pair.source.problem
        transcript = await run_dialogue(
            problem,
            opener=views.opener(problem),
            tutor=tutor,
            student=student,
            settings=recipe.dialogue,
            seed=rng.getrandbits(31),
        )
        lessons.append(Lesson(probe=name, pair=pair, transcript=transcript))
        on_progress(index + 1)
    return lessons


def disguised(lesson: Lesson, rng: random.Random) -> Lesson:
    """The lesson with each quantity's name exchanged for two random words, everywhere.

    A tutor that met only the few names of the training templates would learn them by heart instead of learning
    to copy whatever its notes say.
    """
    names = re.findall(r"step \d+: ([a-z ]+?) =", lesson.pair.notes or "")
    words = iter(rng.sample(_story_words(), 2 * len(names)))
    masks = {name: f"{next(words)} {next(words)}" for name in names}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")

    def mask(text: str) -> str:
        return pattern.sub(lambda found: masks[found[1]], text)

    pair, transcript = lesson.pair, lesson.transcript
    problem = replace(pair.source.problem, text=mask(pair.source.problem.text))
    masked_pair = replace(pair, source=replace(pair.source, problem=problem), notes=mask(pair.notes or ""))
    turns = tuple(replace(turn, text=mask(turn.text), raw=mask(turn.raw)) for turn in transcript.turns)
    return replace(lesson, pair=masked_pair, transcript=replace(transcript, turns=turns))


@cache
def _story_words() -> tuple[str, ...]:
    stories = " ".join(story.text for t in problems.templates("train") for story in t.stories)
    return tuple(sorted(set(re.findall(r"\b[a-z]{3,}\b", stories))))


def copying_drills(settings: DrillSettings, vocab_size: int, rng: random.Random) -> list[Example]:
    """Random tokens, then the same again from a random place on: the second half can be copied, nothing else.

    Half of them draw from few tokens, so that one token before is not enough to find the place.
    """
    half = settings.length // 2
    drills = []
    for _ in range(settings.num_drills):
        num_kinds = rng.choice((12, 30, 100, vocab_size))
        kinds = rng.sample(range(vocab_size), min(num_kinds, vocab_size))
        ids = rng.choices(kinds, k=half)
        start = rng.randrange(half // 2)
        # The first repeated tokens are a guess, because nothing has shown yet where the copy starts.
        drills.append(
            Example(ids=ids + ids[start:] + ids[:start], is_target=[False] * (half + 3) + [True] * (half - 3))
        )
    return drills


def as_text(lesson: Lesson, *, end_tag: str) -> str:
    """All that a tokenizer should learn to spell: prompt and turns with the names of their roles, raw."""
    prompt = views.tutor_prompt(lesson.pair, PROMPT_STYLE, end_tag=end_tag)
    role = {Speaker.TUTOR: "assistant", Speaker.STUDENT: "user"}
    turns = [f"{role[turn.speaker]}\n{turn.raw or turn.text}" for turn in lesson.transcript.turns[1:]]
    return "\n".join([*(f"{message['role']}\n{message['content']}" for message in prompt), *turns])


def encode(
    lesson: Lesson, template: ChatTemplate, tokenizer: PreTrainedTokenizerFast, *, end_tag: str
) -> Example:
    """The dialogue as training would have recorded it had the policy written the tutor's turns."""
    prompt = views.tutor_prompt(lesson.pair, PROMPT_STYLE, end_tag=end_tag)
    ledger = TokenLedger(template, prompt, max_response_tokens=10**6)
    assert tokenizer.eos_token_id is not None
    for turn in lesson.transcript.turns[1:]:
        if turn.speaker is Speaker.STUDENT:
            ledger.add_user_turn(turn.text)
            continue
        ids = [*tokenizer.encode(turn.raw or turn.text, add_special_tokens=False), tokenizer.eos_token_id]
        ledger.add_sampled(ids, [0.0] * len(ids))
    is_target = [False] * len(ledger.prompt_ids) + [bool(bit) for bit in ledger.response_mask]
    return Example(ids=ledger.ids, is_target=is_target)
