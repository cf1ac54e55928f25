"""A merged tutor is an ordinary model folder whose chats are rendered as its training rendered them."""

import pytest
import torch
import yaml
from template_families import TEMPLATES, build_tokenizer
from tiny_model import write_tiny_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from eduardo.chat_template import ChatTemplate
from eduardo.errors import UserError
from eduardo.evaluation.tutors import load_template
from eduardo.merge import merge
from eduardo.protocol import ThinkingMode
from eduardo.verl_adapter import checkpoints

CHAT = [{"role": "system", "content": "You help."}, {"role": "user", "content": "What is 2 + 3?"}]
THINKING_OFF = {"enable_thinking": False}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """`run(kwargs)` is a run whose only checkpoint was trained with these template arguments."""
    tokenizer = build_tokenizer(TEMPLATES["optional"])

    def write(template_kwargs):
        folder = tmp_path / "run"
        actor = folder / "checkpoints" / "global_step_3" / "actor"
        write_tiny_model(actor / "huggingface")
        weights = AutoModelForCausalLM.from_pretrained(actor / "huggingface").state_dict()
        torch.save(weights, actor / "model_world_size_1_rank_0.pt")
        tokenizer.save_pretrained(actor / "huggingface")
        config = {"data": {"apply_chat_template_kwargs": template_kwargs}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        return folder

    monkeypatch.setattr(
        checkpoints, "fault_of", lambda path: None
    )  # of optimizer and data, which are not needed
    return write


def prompts(template):
    return (
        template.encode_prompt(CHAT),
        template.encode_user_turn("5?", after_id=None),
        template.encode_reply("Why?"),
    )


def test_evaluation_renders_a_tutor_as_its_training_did(run):
    trained = ChatTemplate(build_tokenizer(TEMPLATES["optional"]), template_kwargs=THINKING_OFF)
    untold = ChatTemplate(build_tokenizer(TEMPLATES["optional"]))
    assert prompts(trained) != prompts(untold)
    evaluated = load_template(str(merge(run(THINKING_OFF))))
    assert prompts(evaluated) == prompts(trained)
    assert evaluated.report == trained.report


def test_a_server_that_renders_the_chat_itself_does_so_too_and_a_request_can_still_say_otherwise(run):
    tokenizer = AutoTokenizer.from_pretrained(merge(run(THINKING_OFF)))
    original = build_tokenizer(TEMPLATES["optional"])
    ask = {"tokenize": False, "add_generation_prompt": True}
    assert tokenizer.apply_chat_template(CHAT, **ask) == original.apply_chat_template(
        CHAT, **ask, **THINKING_OFF
    )
    other = {"enable_thinking": True}
    assert tokenizer.apply_chat_template(CHAT, **ask, **other) == original.apply_chat_template(
        CHAT, **ask, **other
    )


def test_an_evaluation_can_tell_a_template_otherwise(run):
    folder = str(merge(run(THINKING_OFF)))
    told = load_template(folder, {"enable_thinking": True})
    assert told.thinking_mode is ThinkingMode.OPTIONAL
    assert prompts(told) == prompts(ChatTemplate(build_tokenizer(TEMPLATES["optional"])))


def test_a_template_that_was_told_nothing_is_kept_as_it_is(run):
    tokenizer = AutoTokenizer.from_pretrained(merge(run({})))
    assert tokenizer.chat_template == TEMPLATES["optional"]


def test_merging_again_changes_nothing_and_mends_a_folder_without_the_defaults(run):
    folder = run(THINKING_OFF)
    target = merge(folder)
    once = AutoTokenizer.from_pretrained(target).chat_template
    assert AutoTokenizer.from_pretrained(merge(folder)).chat_template == once
    build_tokenizer(TEMPLATES["optional"]).save_pretrained(target)
    assert AutoTokenizer.from_pretrained(merge(folder)).chat_template == once


def test_a_run_that_does_not_tell_is_refused(run):
    folder = run({})
    (folder / "config.yaml").write_text("{}")
    with pytest.raises(UserError, match=r"config\.yaml does not tell how the tutor's chats were rendered"):
        merge(folder)
