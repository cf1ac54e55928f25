"""Data files and model are checked in seconds; a complaint names the file and what to do."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf
from preflight_subject import changed, gpu_subject

from eduardo.dataset import to_row, write_rows
from eduardo.errors import UserError
from eduardo.preflight.data import check_leak, check_training_data, check_validation_data
from eduardo.preflight.findings import CannotCheck, Status, Subject
from eduardo.preflight.model import check_model
from eduardo.types import ItemKind, Problem, SolveRate, TestItem, TransferPair


def rows(count, split="train", first=0):
    for index in range(first, first + count):
        source = TestItem(
            problem=Problem(text=f"What is {index} + 3?", answer=str(index + 3)),
            baseline=SolveRate(value=0.25, num_graded=16),
            kind=ItemKind.SOURCE,
        )
        pair = TransferPair(id=f"p{index}", source=source, variant=None)
        yield to_row(pair, split=split, index=index, prompt_style="default", end_tag="<end>")


@pytest.fixture
def run(tmp_path):
    """A configuration with two good files and a good model folder; `run.check()` checks it."""
    write_rows(tmp_path / "train.parquet", rows(4))
    write_rows(tmp_path / "val.parquet", rows(2, "val", first=4))
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"max_position_embeddings": 2048}))
    (model / "tokenizer.json").write_text("{}")
    return OmegaConf.create(
        {
            "data": {
                "train_files": [str(tmp_path / "train.parquet")],
                "val_files": [str(tmp_path / "val.parquet")],
                "train_batch_size": 4,
            },
            "environment": {"shares": {"near_transfer": 1.0}},
            "actor_rollout_ref": {"model": {"path": str(model)}, "rollout": {"max_model_len": 2048}},
        }
    )


class Preflight:
    wording_overlap = 0.8


class Knobs:
    preflight = Preflight


def check_inputs(config, *, dry_run=False):
    subject = Subject(config, Knobs, dry_run)
    for check in (check_training_data, check_validation_data, check_model):
        check(subject)


def complaint(config):
    with pytest.raises(UserError) as caught:
        check_inputs(config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_good_inputs_pass(run):
    check_inputs(run)


def test_a_dry_run_does_without_the_files(run):
    run.data.train_files = ["nowhere.parquet"]
    with pytest.raises(CannotCheck, match=r"nowhere.parquet is not on this machine"):
        check_inputs(run, dry_run=True)


def test_a_file_of_another_split_is_refused(run, tmp_path):
    write_rows(tmp_path / "train.parquet", rows(4, "test"))
    assert "holds rows of split test; name a file of split train" in complaint(run)


def test_a_problem_on_both_sides_is_a_leak(run, tmp_path):
    write_rows(tmp_path / "val.parquet", rows(2, "val", first=3))
    with pytest.raises(UserError, match=r"1 of 2 problems are trained on as well, such as p3"):
        check_leak(Subject(run, Knobs, dry_run=False))


def test_a_problem_with_other_numbers_is_a_warning(run):
    finding = check_leak(Subject(run, Knobs, dry_run=False))
    assert finding.status is Status.WARN
    assert "2 of 2 validation problems read like a training problem" in finding.text


def test_a_test_file_beside_the_training_data_is_looked_at_too(run, tmp_path):
    write_rows(tmp_path / "test.parquet", rows(2, "test", first=3))
    with pytest.raises(UserError, match=r"test.parquet: 1 of 2 problems are trained on as well, such as p3"):
        check_leak(Subject(run, Knobs, dry_run=False))
    write_rows(tmp_path / "test.parquet", rows(3, "test", first=10))
    finding = check_leak(Subject(run, Knobs, dry_run=False))
    assert finding.status is Status.WARN
    assert "3 of 3 test problems read like a training problem" in finding.text


def test_a_foreign_file_named_test_does_not_stop_a_training(run, tmp_path):
    (tmp_path / "test.parquet").write_text("problem,answer\n")
    assert "test problems" not in check_leak(Subject(run, Knobs, dry_run=False)).text


def test_a_problem_in_another_notation_is_a_warning(run, tmp_path):
    for name, text in (("train", "compute $3!$"), ("val", "Compute $3!$")):
        row = next(rows(1, name, first=8 if name == "val" else 9))
        row["extra_info"]["problem"] = text
        write_rows(tmp_path / f"{name}.parquet", [row])
    assert "1 of 1 validation problems" in check_leak(Subject(run, Knobs, dry_run=False)).text


def test_other_problems_are_no_leak(run, tmp_path):
    text = "A rope of 40 m is cut into pieces of 5 m each and one of them is lost: how many pieces are left over?"
    row = next(rows(1, "val", first=9))
    row["extra_info"]["problem"] = text
    write_rows(tmp_path / "val.parquet", [row])
    assert check_leak(Subject(run, Knobs, dry_run=False)).status is Status.PASS


def test_rows_of_another_environment_are_named_with_the_choice_that_trains_on_them(run):
    run.environment.shares = {"education_dialogue": 1.0}
    text = complaint(run)
    assert "rows of near_transfer" in text
    assert "environment=near_transfer or environment=mixed" in text


def test_an_environment_without_enough_rows_for_a_step_is_named(run):
    run.environment.shares = {"near_transfer": 0.5, "education_dialogue": 0.5}
    assert "0 rows of education_dialogue, a step takes 2" in complaint(run)


def test_a_missing_file_is_named_with_the_command_that_writes_it(run):
    run.data.train_files = ["nowhere.parquet"]
    assert "data.train_files: nowhere.parquet does not exist" in complaint(run)
    assert "eduardo.process_dataset" in complaint(run)


def test_a_file_of_another_format_is_refused(run, tmp_path):
    path = tmp_path / "val.parquet"
    path.write_text("problem,answer\n")
    assert f"{path} is not a Parquet file" in complaint(run)


def test_missing_columns_are_named_inner_ones_too(run, tmp_path):
    table = pq.read_table(tmp_path / "train.parquet")
    info = table["extra_info"].combine_chunks()
    kept = [field.name for field in info.type if field.name != "transfer_answer"]
    poorer = pa.StructArray.from_arrays([info.field(name) for name in kept], names=kept)
    table = table.set_column(table.schema.get_field_index("extra_info"), "extra_info", poorer).drop(
        ["ability"]
    )
    pq.write_table(table, tmp_path / "train.parquet")
    assert "lacks ability, extra_info.transfer_answer" in complaint(run)


def test_a_file_without_rows_is_refused(run, tmp_path):
    write_rows(tmp_path / "val.parquet", [])
    assert "val.parquet has no rows" in complaint(run)


def test_fewer_rows_than_a_batch_are_refused(run):
    run.data.train_batch_size = 5
    assert "4 rows, fewer than data.train_batch_size=5" in complaint(run)


def test_a_folder_without_a_model_is_refused(run, tmp_path):
    run.actor_rollout_ref.model.path = str(tmp_path)
    assert "holds no model (no config.json)" in complaint(run)


def test_a_model_without_a_tokenizer_is_refused(run, tmp_path):
    (tmp_path / "model" / "tokenizer.json").unlink()
    assert "holds no tokenizer" in complaint(run)


def test_a_model_that_is_too_short_for_the_dialogues_is_refused(run):
    run.actor_rollout_ref.rollout.max_model_len = 4096
    assert "takes 2048 tokens" in complaint(run)


def of_model(subject, path, **planning):
    config = OmegaConf.merge(subject.config, {"actor_rollout_ref": {"model": {"path": path}}})
    sections = subject.settings.model_copy(
        update={"planning": changed(subject.settings.planning, **planning)}
    )
    return type(subject)(config, sections, subject.dry_run)


def test_a_model_of_the_hub_is_looked_for_in_the_cache_and_never_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    finding = check_model(of_model(gpu_subject(tmp_path), "nobody/such-a-model"))
    assert finding.status is Status.WARN
    assert "hf download nobody/such-a-model" in finding.todo


def test_the_length_of_a_model_with_a_vision_tower_is_its_decoders(tmp_path):
    figures = {"text_config": {"max_position_embeddings": 4096}, "vision_config": {}}
    subject = of_model(gpu_subject(tmp_path, dry_run=True), "nobody/such-a-model", architecture=figures)
    with pytest.raises(UserError, match=r"takes 4096 tokens, but .* add up to 10240"):
        check_model(subject)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(figures))
    (tmp_path / "model" / "tokenizer.json").touch()
    with pytest.raises(UserError, match="takes 4096 tokens"):
        check_model(of_model(gpu_subject(tmp_path), str(tmp_path / "model")))
