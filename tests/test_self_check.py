"""What only verl and the tokenizer can tell, told by a process of its own."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf
from preflight_subject import changed, composed, gpu_subject

from eduardo.classroom.tiny_tutor.tokenizer import train_tokenizer
from eduardo.preflight.findings import Status
from eduardo.preflight.own_process import CONFIGURATION, OwnProcess
from eduardo.verl_adapter import self_check

pytest.importorskip("verl")


@pytest.fixture
def model_config(tmp_path):
    tokenizer = train_tokenizer(["What is 3 + 4? Think of apples."] * 3, vocab_size=300)
    tokenizer.save_pretrained(tmp_path)
    return OmegaConf.create(
        {
            "actor_rollout_ref": {
                "model": {"path": str(tmp_path), "tokenizer_path": None, "trust_remote_code": False}
            },
            "data": {"apply_chat_template_kwargs": {}, "train_files": ["nowhere"], "val_files": ["nowhere"]},
            "recipe": {"dialogue": {"prompt_tokens": 100}},
        }
    )


def template_entry(config, *, offline=False):
    return self_check._tokenizer_entries(config, offline=offline)[0]


def prompts_entry(config, limit):
    config.recipe.dialogue.prompt_tokens = limit
    return self_check._tokenizer_entries(config, offline=False)[1]


def test_prompts_that_are_too_long_are_told_in_one_message(model_config, tmp_path):
    def row(number):
        content = "What is 3 + 4? " * (number + 1)
        return {"prompt": [{"role": "user", "content": content}], "extra_info": {"id": f"p{number}"}}

    pq.write_table(pa.Table.from_pylist([row(number) for number in range(9)]), tmp_path / "train.parquet")
    pq.write_table(pa.Table.from_pylist([row(9)]), tmp_path / "val.parquet")
    model_config.data.train_files = [str(tmp_path / "train.parquet")]
    model_config.data.val_files = [str(tmp_path / "val.parquet")]
    entry = prompts_entry(model_config, 100_000)
    assert (entry["status"], entry["text"]) == ("pass", "10 prompts of at most 100000 tokens")
    entry = prompts_entry(model_config, 1)
    assert entry["status"] == "fail"
    assert "10 of 10 prompts have more tokens than recipe.dialogue.prompt_tokens=1 allows" in entry["text"]
    assert "the longest in rows p9 with" in entry["text"]


def test_prompts_of_data_that_is_not_there_are_skipped(model_config):
    assert prompts_entry(model_config, 1)["status"] == "skipped"


def test_a_tokenizer_that_can_be_trained_on_passes_with_what_its_template_does(model_config):
    entry = template_entry(model_config)
    assert (entry["status"], entry["text"]) == ("pass", "thinking prefilled, turns end with <|im_end|>")


def test_a_template_without_end_of_turn_fails(model_config, tmp_path):
    (tmp_path / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}>{% endif %}"
    )
    entry = template_entry(model_config)
    assert entry["status"] == "fail"
    assert "does not end an assistant turn" in entry["text"]


def test_a_tokenizer_that_is_not_here_is_skipped_in_a_dry_run_only(model_config, tmp_path):
    model_config.actor_rollout_ref.model.path = str(tmp_path / "nowhere")
    assert template_entry(model_config, offline=True)["status"] == "skipped"
    assert template_entry(model_config)["status"] == "fail"


def test_a_process_that_cannot_start_is_a_failure_with_its_last_words(tmp_path):
    subject = gpu_subject(tmp_path)
    run = changed(subject.settings.run, env={"PYTHONHOME": str(tmp_path)})
    with OwnProcess(gpu_subject(tmp_path, run=run)) as process:
        (finding,) = process.findings()
    assert (finding.check, finding.status) == (CONFIGURATION, Status.FAIL)
    assert "verl cannot be imported" in finding.text


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_verl_refuses_fails_with_its_reason(tmp_path):
    config, _ = composed("recipe=paper", "model=qwen3_5_4b", "hardware=slurm_2x4")
    config = config.copy()
    config.actor_rollout_ref.actor.loss_agg_mode = "median"
    OmegaConf.save(config, tmp_path / "config.yaml")
    self_check.main(str(tmp_path / "config.yaml"), str(tmp_path / "result.json"), offline=True)
    refused, template = json.loads((tmp_path / "result.json").read_text())
    assert refused["status"] == "fail"
    assert "verl refuses the configuration" in refused["text"]
    assert "Invalid loss_agg_mode: median" in refused["text"]
    assert template["status"] == "skipped"
