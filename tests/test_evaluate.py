"""`eduardo evaluate`: its settings, what it refuses, and a whole evaluation of a scripted tutor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eduardo import evaluate, process_dataset
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.evaluation import session


def test_every_key_of_the_configuration_can_be_set_on_the_command_line() -> None:
    settings = evaluate.load_settings(["data_file=some/test.parquet", "num_samples=2", "out_dir=runs/x"])
    assert (settings.data_file, settings.num_samples, settings.out_dir) == ("some/test.parquet", 2, "runs/x")


def test_a_missing_data_file_is_one_clear_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = [
        "environment",
        "--tutor",
        "g=probe:guide",
        "data_file=nowhere.parquet",
        f"out_dir={tmp_path}",
    ]
    assert run_main(evaluate.main, arguments) == 2
    assert "data_file=nowhere.parquet: no such file" in capsys.readouterr().err


def test_a_folder_of_other_dialogues_is_not_continued(tmp_path: Path) -> None:
    session.claim_folder(tmp_path / "t", {"seed": 1, "tutor": "a"})
    session.claim_folder(tmp_path / "t", {"seed": 1, "tutor": "a"})
    with pytest.raises(UserError, match="another seed"):
        session.claim_folder(tmp_path / "t", {"seed": 2, "tutor": "a"})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_guiding_is_measured_as_better_than_telling_from_data_to_report(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "evaluation"
    assert process_dataset.main(["--out-dir", str(data), "--tutor-prompt", "compact"]) == 0
    arguments = ["environment", "--tutor", "teller=probe:teller", "--tutor", "guide=probe:guide"]
    settings = [f"data_file={data / 'test.parquet'}", "num_problems=10", f"out_dir={out}"]
    assert evaluate.main([*arguments, *settings]) == 0
    teller, guide = json.loads((out / "report.json").read_bytes())["tutors"]
    assert (teller["num_measured"], guide["num_measured"]) == (10, 10)
    assert guide["figures"]["gain_transfer"]["low"] > teller["figures"]["gain_transfer"]["high"]
    assert teller["figures"]["leak_rate"]["value"] == 1.0
    assert {path.name for path in out.iterdir()} >= {"report.md", "report.html", "dialogues.csv"}
