"""Warm start for real: verl's SFT trainer on the shipped sample of Education Dialogue, on CPU cores."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from tiny_model import save_model

from eduardo.classroom.tiny_tutor.tokenizer import train_tokenizer
from eduardo.verl_adapter.journal import read_journal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

SAMPLE = Path(__file__).parents[1] / "data" / "education_dialogue"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm")
    command = [sys.executable, "-m", "eduardo.process_dataset", "--dataset", "education_dialogue"]
    command += ["--data-dir", str(SAMPLE), "--num-test", "2", "--tutor-prompt", "compact", "--format", "sft"]
    subprocess.run([*command, "--out-dir", str(folder / "data")], check=True, timeout=300)
    rows = pq.read_table(folder / "data" / "sft_train.parquet").to_pylist()
    texts = (message["content"] for row in rows for message in row["messages"])
    save_model(folder / "model", train_tokenizer(texts, vocab_size=600))
    return folder


def warm_start(folder, *overrides):
    command = [
        sys.executable,
        "-m",
        "eduardo.sft",
        f"data_dir={folder / 'data'}",
        f"run.dir={folder / 'run'}",
    ]
    command += [f"actor_rollout_ref.model.path={folder / 'model'}", "sft.optim.lr=3e-3"]
    command += ["sft.trainer.test_freq=5", "sft.trainer.save_freq=5", *overrides]
    done = subprocess.run(command, capture_output=True, text=True, timeout=700, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def first(workplace):
    return warm_start(workplace, "sft.trainer.total_epochs=3")


@pytest.fixture(scope="module")
def continued(workplace, first):
    return warm_start(workplace, "sft.trainer.total_epochs=4")


def test_the_loss_falls_and_is_on_record(workplace, first):
    lines = read_journal(workplace / "run" / "metrics.jsonl")
    losses = [line["train/loss"] for line in lines if "train/loss" in line]
    assert len(losses) == 15  # three epochs of ten dialogues, two a step
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])
    validations = [line["val/loss"] for line in lines if "val/loss" in line]
    assert validations[-1] < validations[0]
    manifest = json.loads((workplace / "run" / "manifest.json").read_text())
    assert manifest["packages"]["verl"] is not None
    assert len(manifest["data"]) == 2


def test_the_same_command_continues_where_it_ended(workplace, continued):
    lines = read_journal(workplace / "run" / "metrics.jsonl")
    assert sorted({int(line["step"]) for line in lines}) == list(range(1, 21))
    manifest = json.loads((workplace / "run" / "manifest.json").read_text())
    assert len(manifest["earlier_starts"]) == 1


def test_the_model_folder_loads_and_is_the_trained_one(workplace, continued):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    before = AutoModelForCausalLM.from_pretrained(workplace / "model").state_dict()
    model = AutoModelForCausalLM.from_pretrained(workplace / "run" / "model")
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.isfinite(tensor).all() for tensor in after.values())
    assert max(float((after[name] - before[name]).abs().max()) for name in before) > 1e-3
    tokenizer = AutoTokenizer.from_pretrained(workplace / "run" / "model")
    assert tokenizer.chat_template


def test_verls_own_data_set_would_train_on_more_than_a_policy_samples(workplace):
    """Why the sequences are ours: beside the tutor's turns verl's also puts the loss on the break behind each."""
    code = (
        "import sys; from pathlib import Path\n"
        "from omegaconf import OmegaConf\n"
        "from transformers import AutoTokenizer\n"
        "from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset\n"
        "from eduardo.verl_adapter.sft_dataset import TutorDialogues\n"
        "file, model = sys.argv[1:]\n"
        "tokenizer = AutoTokenizer.from_pretrained(model)\n"
        "config = {'pad_mode': 'no_padding', 'max_length': 8000, 'messages_key': 'messages',\n"
        "          'apply_chat_template_kwargs': {}}\n"
        "verls = MultiTurnSFTDataset([file], tokenizer, OmegaConf.create(config))[0]\n"
        "ours = TutorDialogues([file], tokenizer, config)[0]\n"
        "size = len(ours['input_ids'])\n"
        "assert verls['input_ids'][:size].tolist() == ours['input_ids'].tolist()\n"
        "extra = verls['loss_mask'][:size] - ours['loss_mask']\n"
        "words = {tokenizer.decode([i]) for i in verls['input_ids'][:size][extra.bool()].tolist()}\n"
        "assert words == {'\\n'}, words\n"
    )
    command = [
        sys.executable,
        "-c",
        code,
        str(workplace / "data" / "sft_train.parquet"),
        str(workplace / "model"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
