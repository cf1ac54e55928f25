"""Suites of others: a checkout's script really runs as a process against a real server; result files are collected."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eduardo import evaluate
from eduardo.classroom import process
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.evaluation.external.tutormoments import read_runs
from eduardo.evaluation.parts import read_parts

# A stand-in with the command line, the layout and the result files of the suite, and none of its code.
MAIN = """
import argparse, json, pathlib, sys, urllib.request
parser = argparse.ArgumentParser()
for name in ("--tasks", "--provider", "--model_args", "--output"):
    parser.add_argument(name, required=True)
arguments = parser.parse_args()
assert arguments.provider == "completion_api"
values = dict(pair.split("=") for pair in arguments.model_args.split(","))
task = pathlib.Path("configs", arguments.tasks).read_text().removeprefix("name: ").strip()
if task == "broken":
    sys.exit("this task always fails")
with urllib.request.urlopen(values["base_url"] + "/models") as reply:
    served = [model["id"] for model in json.load(reply)["data"]]
assert values["model"] in served
out = pathlib.Path(arguments.output)
out.mkdir(parents=True, exist_ok=True)
with (out / f"results-{values['model']}.yaml").open("a") as file:
    file.write(f"{task}:\\n  accuracy: 0.25\\n  nested:\\n    f1: 0.5\\n")
if "scaffolding" in task:
    (out / f"generations-{values['model']}-{task}.json").write_text("[]")
print("ran", task)
"""
SCORER = """
import json, pathlib, sys
folder = pathlib.Path("scaffolding_scores")
folder.mkdir(exist_ok=True)
name = sys.argv[sys.argv.index("--data_path") + 1]
scores = {"win_rate": 0.75, "score": -0.5, "total_samples": 8}
(folder / f"{name}_results.json").write_text(json.dumps(scores))
raise SystemExit("and then it fails, with its scores written")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "mathtutorbench"
    for path, text in {"main.py": MAIN, "reward_model/compute_scaffolding_score.py": SCORER}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "configs").mkdir()
    for task in ("mistake_location", "scaffolding_generation"):
        (folder / "configs" / f"{task}.yaml").write_text(f"name: {task}\\n".replace("\\n", "\n"))
    return folder


def command(checkout: Path, out: Path, *more: str, url: str = "http://127.0.0.1:9/v1") -> list[str]:
    tutor = f"sim={url}#simulated-student"
    settings = [f"out_dir={out}", f"mathtutorbench.python={sys.executable}"]
    return ["external", "--tutor", tutor, "--mathtutorbench", str(checkout), *settings, *more]


def test_all_tasks_run_against_the_served_tutor_and_their_numbers_are_in_the_report(
    checkout: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with process.start() as server:
        assert evaluate.main(command(checkout, out, url=server.base_url)) == 0
        assert (
            evaluate.main(command(checkout, out, url=server.base_url)) == 0
        )  # nothing is run twice: one block of results
    results = {(r["task"], r["metric"]): r["estimate"] for r in numbers(out)}
    assert results["mistake_location", "mistake_location.accuracy"]["value"] == 0.25
    assert results["scaffolding_generation", "scaffolding_generation.nested.f1"]["value"] == 0.5
    win_rate = results["scaffolding_generation", "reward model: win_rate"]
    assert (win_rate["value"], win_rate["num_values"]) == (0.75, 8)
    assert 0.3 < win_rate["low"] < 0.75 < win_rate["high"] < 0.95
    assert len(results) == 6
    written = (
        out / "sim" / "mathtutorbench" / "mistake_location" / "results-simulated-student.yaml"
    ).read_text()
    assert written.count("accuracy") == 1
    assert "MathTutorBench" in (out / "report.html").read_text()


def numbers(out: Path) -> list[dict[str, Any]]:
    [part] = read_parts(out)
    return part.data["mathtutorbench"]["sim"]  # type: ignore[index,no-any-return]


def test_a_task_that_fails_is_named_with_its_log_and_the_others_still_count(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "configs" / "a_broken_one.yaml").write_text("name: broken\n")
    out = tmp_path / "out"
    with process.start() as server:
        assert run_main(evaluate.main, command(checkout, out, url=server.base_url)) == 1
    assert "1 tasks failed: sim, a_broken_one.yaml: it failed with status 1; see" in capsys.readouterr().err
    assert "always fails" in (out / "sim" / "mathtutorbench" / "a_broken_one" / "run.log").read_text()
    assert len(numbers(out)) == 6
    assert "**Failed**" in (out / "external.md").read_text()


def test_a_task_that_takes_too_long_is_ended(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "main.py").write_text("import time; time.sleep(600)")
    more = ["mathtutorbench.task_timeout_s=0.5", "mathtutorbench.tasks=[mistake_location.yaml]"]
    assert run_main(evaluate.main, command(checkout, tmp_path / "out", *more)) == 1
    assert "it took longer than mathtutorbench.task_timeout_s=0.5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        (
            "main.py",
            "no checkout of MathTutorBench as it is known here, it has no main.py; clone https://github.com",
        ),
        ("reward_model/compute_scaffolding_score.py", "it has no reward_model/compute_scaffolding_score.py"),
    ],
)
def test_a_folder_with_another_layout_is_refused(
    checkout: Path, tmp_path: Path, missing: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / missing).unlink()
    assert run_main(evaluate.main, command(checkout, tmp_path / "out")) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("mathtutorbench.tasks=[nothing.yaml]", "holds no nothing.yaml; there are mistake_location.yaml"),
        ("mathtutorbench.python=/no/such/python", "cannot be started (No such file or directory)"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    checkout: Path, tmp_path: Path, setting: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(evaluate.main, command(checkout, tmp_path / "out", setting)) == 2
    assert complaint in capsys.readouterr().err


def test_a_model_name_that_their_arguments_cannot_hold_is_refused(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["external", "--tutor", "t=http://host/v1#a,b", "--mathtutorbench", str(checkout)]
    assert run_main(evaluate.main, [*arguments, f"out_dir={tmp_path / 'out'}"]) == 2
    assert "model=a,b" in capsys.readouterr().err


def test_nothing_to_do_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(evaluate.main, ["external"]) == 2
    assert "--mathtutorbench CHECKOUT or --tutormoments RESULTS" in capsys.readouterr().err


def write_run(folder: Path, summary: dict[str, Any], config: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(summary))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


MEASURED = {
    "n_scenarios": 20,
    "overscaffold": {"n_yes": 5, "n_total": 20, "rate": 0.25, "available": True},
    "scaffold_calibrated": {"n_clean_yes": 6, "n_overscaffold": 1, "n_total": 10, "score": 0.6},
    "rigor_calibrated": {"n_clean_yes": 0, "n_total": 10, "score": None},
}


def test_summaries_of_tutormoments_are_collected_with_intervals_from_their_counts(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {**MEASURED, "tutor_model": "ours", "mode": "plain"})
    mean = {**MEASURED, "rigor_calibrated": {"n_clean_yes": 1.5, "n_total": 10, "score": 0.15}}
    write_run(tmp_path / "b", {"trials": 3, "mean": mean, "spread": {}}, {"tutor_model": "theirs"})
    one, several = read_runs(tmp_path)
    assert (one.tutor, one.mode, several.tutor, several.num_trials) == ("ours", "plain", "theirs", 3)
    scaffolding, avoids = one.metrics["appropriate scaffolding"], one.metrics["avoids over-scaffolding"]
    assert scaffolding is not None and (scaffolding.value, scaffolding.num_values) == (0.6, 10)
    assert avoids is not None and avoids.value == 0.75 and avoids.low is not None and avoids.low < 0.75
    assert one.metrics["appropriate rigor"] is None  # they measured none: no number
    rigor = several.metrics["appropriate rigor"]
    assert rigor is not None and (rigor.value, rigor.low) == (0.15, None)


def test_their_results_are_added_to_a_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "results" / "a", {**MEASURED, "tutor_model": "ours", "mode": "plain"})
    out = tmp_path / "out"
    assert evaluate.main(["external", "--tutormoments", str(run.parent), f"out_dir={out}"]) == 0
    assert "TutorMoments" in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("summary", "complaint"),
    [(None, "no summary.json in it"), ({"n_scenarios": 3}, "no scaffold_calibrated; another version"),
     ([], "not an object")],
)  # fmt: skip
def test_results_that_cannot_be_read_are_named(tmp_path: Path, summary: Any, complaint: str) -> None:
    if summary is not None:
        write_run(tmp_path / "a", summary)
    with pytest.raises(UserError, match=complaint):
        read_runs(tmp_path)
