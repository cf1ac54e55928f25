"""From nothing to a tutor that can teach well and badly: lessons, tokenizer, copying drills, imitation."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import eduardo
from eduardo.chat_template import ChatTemplate
from eduardo.classroom.tiny_tutor.examples import (
    DrillSettings,
    Lesson,
    as_text,
    copying_drills,
    disguised,
    encode,
    hold_lessons,
)
from eduardo.classroom.tiny_tutor.imitation import ImitationSettings, imitate
from eduardo.classroom.tiny_tutor.model import ModelShape, build_model, save_tutor
from eduardo.classroom.tiny_tutor.tokenizer import train_tokenizer
from eduardo.errors import UserError
from eduardo.files import file_sha256
from eduardo.resources import configs_dir
from eduardo.settings import Count, RecipeSettings, Settings, Share, read_yaml

STAMP = "warm_start.json"  # written last: a folder that holds it is complete
# What the lessons and their training depend on, beside the settings.
_SOURCES = (
    "classroom/in_process.py",
    "classroom/language.py",
    "classroom/lesson.py",
    "classroom/probes.py",
    "classroom/problem_templates.py",
    "classroom/problems.py",
    "classroom/sim_student.py",
    "classroom/student_chat.py",
    "classroom/tells.py",
    "classroom/templates/*.yaml",
    "classroom/tiny_tutor/*.py",
    "prompts/greeting.txt",
    "prompts/opener.txt",
    "prompts/student_system.txt",
    "prompts/tutor_system_compact.txt",
)

Progress = Callable[[str, int, int, float | None], None]
"""(stage, done, total, loss)"""


class LessonSettings(Settings):
    num_lessons: Count
    disguised_share: Share
    mix: Annotated[dict[str, float], Field(min_length=1)]


class WarmStartSettings(Settings):
    seed: int
    vocab_size: Annotated[int, Field(ge=300)]
    shape: ModelShape
    lessons: LessonSettings
    drills: DrillSettings
    drill_training: ImitationSettings
    imitation: ImitationSettings


def shipped_recipe() -> RecipeSettings:
    return read_yaml(configs_dir() / "recipe" / "embedded.yaml", RecipeSettings)


def warm_start(
    out_dir: Path, settings: WarmStartSettings, recipe: RecipeSettings, on_progress: Progress
) -> bool:
    """Write the tutor's folder. False when it is there already, made from the same settings and sources.

    Raises UserError when `out_dir` holds something that is no warm start.
    """
    fingerprint = _fingerprint(settings, recipe)
    if out_dir.exists() and any(out_dir.iterdir()):
        stamp = _read_stamp(out_dir)
        if stamp is None:
            raise UserError(f"{out_dir} is not empty and not a warm start of ours: name another --out-dir")
        if stamp.get("fingerprint") == fingerprint:
            return False
    lessons = hold_lessons(
        settings.lessons.num_lessons,
        settings.lessons.mix,
        recipe=recipe,
        seed=settings.seed,
        on_progress=lambda done: on_progress("lessons", done, settings.lessons.num_lessons, None),
    )
    model, tokenizer = _train(lessons, settings, recipe.dialogue.end_tag, on_progress)
    stamp = {"fingerprint": fingerprint, "version": eduardo.__version__, "settings": settings.model_dump()}
    save_tutor(out_dir, model, tokenizer, extra={STAMP: json.dumps(stamp, indent=2) + "\n"})
    return True


def _train(
    lessons: list[Lesson], settings: WarmStartSettings, end_tag: str, on_progress: Progress
) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    rng = random.Random(settings.seed)
    share = settings.lessons.disguised_share
    seen = [disguised(lesson, rng) if rng.random() < share else lesson for lesson in lessons]
    tokenizer = train_tokenizer(
        (as_text(lesson, end_tag=end_tag) for lesson in seen), vocab_size=settings.vocab_size
    )
    template = ChatTemplate(tokenizer)
    model = build_model(settings.shape, tokenizer, seed=settings.seed)
    stages = (
        ("copying drills", copying_drills(settings.drills, len(tokenizer), rng), settings.drill_training),
        (
            "imitation",
            [encode(lesson, template, tokenizer, end_tag=end_tag) for lesson in seen],
            settings.imitation,
        ),
    )
    for stage, examples, training in stages:
        report = partial(_report, on_progress, stage, training.num_steps)
        imitate(model, examples, training, seed=settings.seed, on_progress=report)
    return model, tokenizer


def _report(on_progress: Progress, stage: str, total: int, done: int, loss: float) -> None:
    on_progress(stage, done, total, loss)


def _fingerprint(settings: WarmStartSettings, recipe: RecipeSettings) -> str:
    """Changes with the settings and with every source file that shapes a lesson."""
    root = Path(eduardo.__file__).parent
    files = sorted(path for pattern in _SOURCES for path in root.glob(pattern))
    sources = {str(path.relative_to(root)): file_sha256(path) for path in files}
    sources["sim"] = file_sha256(configs_dir() / "sim" / "default.yaml")
    content = [settings.model_dump(), recipe.dialogue.model_dump(), sources]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_stamp(folder: Path) -> dict[str, object] | None:
    try:
        stamp: dict[str, object] = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp
