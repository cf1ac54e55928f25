"""A warm start refuses bad input in seconds, and its configuration follows the groups of `train`."""

import json

import pytest

from eduardo.config import compose
from eduardo.dataset.rows import RowWriter
from eduardo.education_dialogue.rows import SFT_SCHEMA
from eduardo.errors import UserError
from eduardo.sft.inputs import check_inputs, num_steps, resolve
from eduardo.sft.journal import LossJournal
from eduardo.train.run_folder import RunFolder
from eduardo.verl_adapter.journal import read_journal

MESSAGES = [
    {"role": "user", "content": "Hello!"},
    {"role": "assistant", "content": "What do you know?"},
]


def write(path, count):
    with RowWriter(path, SFT_SCHEMA) as writer:
        for number in range(count):
            writer.write({"id": str(number), "topic": "Rome", "messages": MESSAGES})


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "sft_train.parquet", 5)
    write(tmp_path / "sft_val.parquet", 2)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps({"max_position_embeddings": 2048}))
    return tmp_path


def resolved(folder, *overrides):
    given = [f"data_dir={folder}", f"actor_rollout_ref.model.path={folder / 'model'}", *overrides]
    return resolve(compose(given, config_name="sft"), folder)


def complaint(folder, *overrides):
    config, _ = resolved(folder, *overrides)
    with pytest.raises(UserError) as caught:
        check_inputs(config.sft)
    return str(caught.value)


def test_model_and_hardware_are_those_of_train(folder):
    config, run = resolved(folder, "hardware=one_gpu", "run.dir=runs/warm")
    assert config.sft.model.path == str(folder / "model")
    assert config.sft.trainer.device == "cuda"
    assert config.sft.engine.optimizer_offload is True
    assert config.sft.model.use_remove_padding is True
    assert run.dir == str(folder / "runs" / "warm")
    config, run = resolved(folder)
    assert config.sft.engine.dtype == "float32"
    assert config.sft.trainer.device == "cpu"
    assert run.env["VERL_PLATFORM"] == "cpu"


def test_good_inputs_pass(folder):
    config, _ = resolved(folder, "sft.trainer.total_epochs=3")
    assert num_steps(config.sft, check_inputs(config.sft)) == 6


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("sft.data.train_batch_size=8",), "hold 5 dialogues, fewer than sft.data.train_batch_size=8"),
        (("sft.data.train_batch_size=4",), "sft.data.val_files hold 2 dialogues"),
        (("sft.data.train_files=[nowhere.parquet]",), "nowhere.parquet does not exist; write it with"),
        (("sft.data.max_length=4096",), "takes 2048 tokens, sft.data.max_length=4096 is more"),
        (("trainer.nnodes=2",), "set trainer.nnodes=1"),
        (("actor_rollout_ref.model.path=models/none",), "holds no model"),
    ],
)
def test_what_can_not_work_is_named_with_what_to_do(folder, overrides, expected):
    text = complaint(folder, *overrides)
    assert expected in text
    assert "\n" not in text


def test_validation_can_be_left_out(folder):
    config, _ = resolved(folder, "sft.data.val_files=null", "sft.data.train_batch_size=5")
    assert check_inputs(config.sft) == 5


def test_the_journal_is_that_of_every_run_and_forgets_what_is_done_again(tmp_path):
    folder = RunFolder(tmp_path)
    folder.metrics.write_text('{"step": 1, "train/loss": 3.0}\n{"step": 2, "train/loss": 2.5}\n')
    folder.checkpoints.mkdir()
    (folder.checkpoints / "latest_checkpointed_iteration.txt").write_text("1")
    journal = LossJournal(folder)
    source = tmp_path / LossJournal.SOURCE
    source.write_text(
        '{"step": 2, "data": {"train/loss": 2.0, "mfu": null, "lr": NaN, "note": "x"}}\n{"step": 3, "da'
    )
    assert list(journal.new_lines()) == [{"step": 2.0, "train/loss": 2.0}]
    source.write_text(source.read_text() + 'ta": {"val/loss": 1.5}}\n')
    assert [line["val/loss"] for line in journal.new_lines()] == [1.5]
    assert [line["step"] for line in read_journal(folder.metrics)] == [1, 2, 3]
