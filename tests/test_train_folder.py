"""The run folder says what a run was started with, over all its starts."""

import json

import pytest
from omegaconf import OmegaConf

from eduardo.errors import UserError
from eduardo.train.curves import draw_curves
from eduardo.train.run_folder import RunFolder


class Settings:
    def __init__(self, resume="auto"):
        self.run = type("Run", (), {"resume": resume, "seed": 42})()


@pytest.fixture
def config(tmp_path):
    data = tmp_path / "train.parquet"
    data.write_bytes(b"rows")
    return OmegaConf.create(
        {
            "data": {"train_files": [str(data)], "val_files": []},
            "actor_rollout_ref": {"model": {"path": "models/tiny"}},
        }
    )


def test_a_started_run_has_its_configuration_and_manifest(tmp_path, config):
    folder = RunFolder(tmp_path / "run")
    folder.prepare(config, Settings())
    manifest = json.loads((folder.path / "manifest.json").read_text())
    assert OmegaConf.load(folder.config) == config
    assert manifest["seed"] == 42
    assert len(next(iter(manifest["data"].values()))) == 64
    assert manifest["earlier_starts"] == []


def test_a_resumed_run_remembers_its_earlier_starts(tmp_path, config):
    folder = RunFolder(tmp_path / "run")
    for _ in range(3):
        folder.prepare(config, Settings())
    assert len(json.loads((folder.path / "manifest.json").read_text())["earlier_starts"]) == 2


def test_the_end_of_an_earlier_start_is_not_mistaken_for_this_ones(tmp_path, config):
    folder = RunFolder(tmp_path / "run")
    folder.prepare(config, Settings())
    folder.status.write_text("{}")
    folder.prepare(config, Settings())
    assert not folder.status.exists()


def test_a_fresh_start_never_lands_in_a_folder_with_a_run(tmp_path, config):
    folder = RunFolder(tmp_path / "run")
    folder.prepare(config, Settings("never"))
    folder.metrics.write_text("")
    with pytest.raises(UserError, match="already holds a run"):
        folder.prepare(config, Settings("never"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path, config):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"run\.dir: cannot write to .*file"):
        RunFolder(tmp_path / "file" / "run").prepare(config, Settings())


def test_curves_are_drawn_with_gaps_and_without_steps_not_at_all(tmp_path):
    draw_curves([], tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()
    rows = [{"step": 0, "val/reward_total": 0.1}, {"step": 1, "dialogue/reward_total": 0.2}, {"step": 2}]
    draw_curves(rows, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
