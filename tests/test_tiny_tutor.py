"""The tiny tutor: a lossless tokenizer, token-exact dialogues, lessons on training templates, a cached warm start."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from eduardo import views
from eduardo.chat_template import ChatTemplate
from eduardo.classroom import problems
from eduardo.classroom.tiny_tutor import examples as making
from eduardo.classroom.tiny_tutor.examples import DrillSettings, Lesson
from eduardo.classroom.tiny_tutor.imitation import imitate
from eduardo.classroom.tiny_tutor.model import build_model
from eduardo.classroom.tiny_tutor.tokenizer import train_tokenizer
from eduardo.classroom.tiny_tutor.warm_start import (
    WarmStartSettings,
    shipped_recipe,
    warm_start,
)
from eduardo.errors import UserError
from eduardo.protocol import ThinkingMode
from eduardo.resources import configs_dir
from eduardo.settings import read_yaml
from eduardo.types import EndReason, Speaker

SHIPPED = read_yaml(configs_dir() / "warm_start.yaml", WarmStartSettings)
RECIPE = shipped_recipe()
END_TAG = RECIPE.dialogue.end_tag


@pytest.fixture(scope="module")
def lessons() -> list[Lesson]:
    torch.set_num_threads(1)
    return making.hold_lessons(40, SHIPPED.lessons.mix, recipe=RECIPE, seed=3, on_progress=lambda done: None)


@pytest.fixture(scope="module")
def tokenizer(lessons: list[Lesson]) -> PreTrainedTokenizerFast:
    texts = (making.as_text(lesson, end_tag=END_TAG) for lesson in lessons)
    return train_tokenizer(texts, vocab_size=SHIPPED.vocab_size)


@pytest.fixture(scope="module")
def template(tokenizer: PreTrainedTokenizerFast) -> ChatTemplate:
    return ChatTemplate(tokenizer)


def tutor_texts(lesson: Lesson) -> list[str]:
    return [turn.raw or turn.text for turn in lesson.transcript.tutor_turns]


# -- tokenizer --------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(text=st.text())
def test_any_text_survives_the_tokenizer(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_every_digit_is_a_token(tokenizer: PreTrainedTokenizerFast) -> None:
    assert [tokenizer.decode([i]) for i in tokenizer.encode("= 4071.")] == ["=", " 4", "0", "7", "1", "."]


def test_control_tokens_are_special_and_thinking_tags_are_text(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = tokenizer.encode("<think>a</think>b<|im_end|>")
    assert len(ids) == 5 and ids[-1] == tokenizer.eos_token_id != tokenizer.pad_token_id
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<think>a</think>b"


def test_the_end_tag_is_one_ordinary_token(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = tokenizer.encode(f"bye. {END_TAG}")
    assert ids[-1] not in tokenizer.added_tokens_decoder
    assert tokenizer.decode(ids[-1:], skip_special_tokens=True) == f" {END_TAG}"


def test_the_template_opens_thinking_and_keeps_history(template: ChatTemplate) -> None:
    assert template.thinking_mode is ThinkingMode.PREFILLED
    assert not template.report.rewrites_history


def test_a_recorded_dialogue_has_the_ids_of_the_rendered_one(
    lessons: list[Lesson], template: ChatTemplate, tokenizer: PreTrainedTokenizerFast
) -> None:
    for lesson in lessons[:10]:
        chat = views.tutor_prompt(lesson.pair, making.PROMPT_STYLE, end_tag=END_TAG)
        for turn in lesson.transcript.turns[1:]:
            role = "assistant" if turn.speaker is Speaker.TUTOR else "user"
            chat.append({"role": role, "content": turn.raw or turn.text})
        rendered = tokenizer.apply_chat_template(chat, tokenize=False)
        example = making.encode(lesson, template, tokenizer, end_tag=END_TAG)
        ends_on_tutor = lesson.transcript.turns[-1].speaker is Speaker.TUTOR
        assert ends_on_tutor and tokenizer.decode(example.ids) == rendered.rstrip("\n")
        assert example.ids == tokenizer.encode(rendered.rstrip("\n"), add_special_tokens=False)


def test_a_turn_without_thinking_is_shown_with_an_empty_one(tokenizer: PreTrainedTokenizerFast) -> None:
    chat = [{"role": "assistant", "content": "hi"}, {"role": "assistant", "content": "why</think>hi"}]
    rendered = str(tokenizer.apply_chat_template(chat, tokenize=False))
    assert "<think></think>hi" in rendered and "<think>why</think>hi" in rendered


# -- lessons ----------------------------------------------------------------------------------------------------


def test_lessons_are_about_training_templates_and_end_properly(lessons: list[Lesson]) -> None:
    allowed = {t.id for t in problems.templates("train")}
    assert {lesson.pair.id for lesson in lessons} <= allowed
    assert {lesson.transcript.end_reason for lesson in lessons} <= {
        EndReason.TUTOR_ENDED,
        EndReason.TURN_LIMIT,
    }
    assert len({lesson.probe for lesson in lessons}) > 5


def test_the_same_seed_gives_the_same_lessons(lessons: list[Lesson]) -> None:
    again = making.hold_lessons(5, SHIPPED.lessons.mix, recipe=RECIPE, seed=3, on_progress=lambda done: None)
    assert again == lessons[:5]


def test_targets_are_exactly_what_the_tutor_wrote(
    lessons: list[Lesson], template: ChatTemplate, tokenizer: PreTrainedTokenizerFast
) -> None:
    for lesson in lessons[:10]:
        example = making.encode(lesson, template, tokenizer, end_tag=END_TAG)
        written = [i for i, is_target in zip(example.ids, example.is_target, strict=True) if is_target]
        assert tokenizer.decode(written) == "".join(f"{text}<|im_end|>" for text in tutor_texts(lesson))


def test_a_disguise_renames_quantities_everywhere_alike(lessons: list[Lesson]) -> None:
    lesson = next(lesson for lesson in lessons if lesson.probe == "teller")
    names = [line.split(":")[1].split("=")[0].strip() for line in str(lesson.pair.notes).splitlines()]
    masked = making.disguised(lesson, random.Random(1))
    masks = [line.split(":")[1].split("=")[0].strip() for line in str(masked.pair.notes).splitlines()]
    everything = making.as_text(masked, end_tag=END_TAG)
    assert not any(name in everything for name in names)
    for name, mask, turn in zip(names, masks, tutor_texts(masked), strict=False):
        assert mask in turn and name not in turn


def test_an_unknown_tutor_in_the_mix_is_named() -> None:
    with pytest.raises(UserError, match="'guru'"):
        making.hold_lessons(1, {"guru": 1.0}, recipe=RECIPE, seed=1, on_progress=lambda done: None)


def test_drills_can_be_copied() -> None:
    drill = making.copying_drills(DrillSettings(num_drills=1, length=40), 500, random.Random(2))[0]
    first, second = drill.ids[:20], drill.ids[20:]
    assert any(second == first[k:] + first[:k] for k in range(20))
    assert drill.is_target == [False] * 23 + [True] * 17


# -- network ----------------------------------------------------------------------------------------------------


def test_first_layer_heads_look_back(tokenizer: PreTrainedTokenizerFast) -> None:
    model = build_model(SHIPPED.shape, tokenizer, seed=1)
    model.set_attn_implementation("eager")
    ids = torch.tensor([tokenizer.encode("one 2 three 4 five 6 seven 8 nine")])
    with torch.no_grad():
        weights = model(input_ids=ids, output_attentions=True).attentions[0][0]
    for head in range(SHIPPED.shape.num_heads):
        assert weights[head].diagonal(-head - 1).mean() > 0.5


def test_imitation_learns(
    lessons: list[Lesson], template: ChatTemplate, tokenizer: PreTrainedTokenizerFast
) -> None:
    model = build_model(SHIPPED.shape, tokenizer, seed=1)
    examples = [making.encode(lesson, template, tokenizer, end_tag=END_TAG) for lesson in lessons]
    losses: list[float] = []
    training = SHIPPED.imitation.model_copy(update={"num_steps": 12, "examples_per_step": 8})
    imitate(model, examples, training, seed=1, on_progress=lambda step, loss: losses.append(loss))
    assert len(losses) == 12 and losses[-1] < 0.8 * losses[0]


# -- warm start -------------------------------------------------------------------------------------------------


def small(**lessons: object) -> WarmStartSettings:
    brief = {"num_steps": 2, "examples_per_step": 4}
    return SHIPPED.model_copy(
        update={
            "lessons": SHIPPED.lessons.model_copy(update={"num_lessons": 12, **lessons}),
            "drills": DrillSettings(num_drills=8, length=24),
            "drill_training": SHIPPED.drill_training.model_copy(update=brief),
            "imitation": SHIPPED.imitation.model_copy(update=brief),
        }
    )


def run(folder: Path, chosen: WarmStartSettings) -> tuple[bool, Sequence[str]]:
    stages: dict[str, None] = {}
    is_new = warm_start(folder, chosen, RECIPE, lambda stage, done, total, loss: stages.setdefault(stage))
    return is_new, list(stages)


def test_a_warm_start_is_an_ordinary_model_folder_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "tiny"
    assert run(folder, small()) == (True, ["lessons", "copying drills", "imitation"])
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.generation_config.eos_token_id == model.config.eos_token_id == tokenizer.eos_token_id
    assert model.config.vocab_size == len(tokenizer) and model.dtype == torch.float32
    assert ChatTemplate(tokenizer).thinking_mode is ThinkingMode.PREFILLED
    assert [tokenizer.decode([i]) for i in tokenizer.encode("= 41.")] == [
        "=",
        " 4",
        "1",
        ".",
    ]  # its own, not Llama's
    assert run(folder, small()) == (False, [])
    assert run(folder, small(num_lessons=13))[0]
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


def test_the_same_settings_give_the_same_weights(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(tmp_path / name, small())
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UserError, match="not a warm start of ours"):
        run(tmp_path, small())
    assert (tmp_path / "precious.txt").exists()
