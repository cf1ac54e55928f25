"""`eduardo evaluate`: its settings, what it refuses, and a whole evaluation of a scripted tutor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eduardo import evaluate, process_dataset
from eduardo.console import run_main
from eduardo.errors import EndpointUnavailable, UserError
from eduardo.evaluation.settings import evaluation_settings
from eduardo.evaluation.tutors import TutorKind, TutorSpec, check_tutor, parse_tutor
from eduardo.llm import close_shared_clients


def test_every_key_of_the_configuration_can_be_set_on_the_command_line() -> None:
    settings = evaluation_settings(["data_file=some/test.parquet", "num_samples=2", "out_dir=runs/x"])
    assert (settings.data_file, settings.num_samples, settings.out_dir) == ("some/test.parquet", 2, "runs/x")


def test_a_key_without_a_value_is_named() -> None:
    with pytest.raises(UserError, match=r"classroom\.judge\.model has no value"):
        evaluation_settings(["classroom=openai", "classroom.student.model=some-model"])


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


def test_the_name_of_a_probe_is_a_tutor_and_of_nothing_else() -> None:
    assert parse_tutor("guide") == TutorSpec(name="guide", kind=TutorKind.PROBE, target="guide")
    assert parse_tutor("mine=probe:guide").name == "mine"
    with pytest.raises(UserError, match="or a probe: chatter"):
        parse_tutor("guidance")


@pytest.mark.parametrize(
    ("tutors", "message"),
    [
        ([], "nobody to evaluate"),
        (
            ["--tutor", "guide", "--tutor", "guide=probe:teller"],
            "two tutors have the same name: guide, guide",
        ),
        (["--control", "untaught", "--tutor", "untaught=probe:guide"], "two tutors have the same name"),
    ],
)
def test_who_is_evaluated_must_be_clear(
    tutors: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(evaluate.main, ["environment", *tutors]) == 2
    assert message in capsys.readouterr().err


async def test_an_endpoint_that_is_not_there_is_named_before_the_first_dialogue() -> None:
    settings = evaluation_settings(["tutor_endpoint.connect_timeout_s=0.2"])
    tutor = parse_tutor("api=http://127.0.0.1:9/v1#some-model")
    with pytest.raises(EndpointUnavailable, match="--tutor api"):
        await check_tutor(tutor, settings)
    await close_shared_clients()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_guiding_is_measured_as_better_than_telling_from_data_to_report(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "evaluation"
    assert process_dataset.main(["--out-dir", str(data), "--tutor-prompt", "compact"]) == 0
    arguments = ["environment", "--tutor", "teller=probe:teller", "--tutor", "guide", "--control", "untaught"]
    settings = [f"data_file={data / 'test.parquet'}", "num_problems=10", f"out_dir={out}"]
    assert evaluate.main([*arguments, *settings]) == 0
    teller, guide, untaught = json.loads((out / "report.json").read_bytes())["tutors"]
    assert (teller["num_measured"], guide["num_measured"]) == (10, 10)
    assert guide["figures"]["gain_transfer"]["low"] > teller["figures"]["gain_transfer"]["high"]
    assert guide["figures"]["gain_of_means"]["low"] > untaught["figures"]["gain_of_means"]["high"]
    assert untaught["control"] == "untaught"
    assert teller["figures"]["leak_rate"]["value"] == 1.0
    assert {path.name for path in out.iterdir()} >= {"report.md", "report.html", "dialogues.csv"}
