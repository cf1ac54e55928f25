"""The whole command against simulated endpoints over HTTP: from problems to a set that training reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eduardo.classroom import process
from eduardo.classroom.problems import generate_problem, templates
from eduardo.config import load_settings
from eduardo.console import run_main
from eduardo.create_transfer_dataset import CONFIG_NAME, TransferDatasetSettings, at_classroom, main
from eduardo.dataset.columns import OPTIONAL_COLUMNS, REQUIRED_COLUMNS
from eduardo.process_dataset import main as process_dataset
from eduardo.resources import configs_dir
from eduardo.transfer_generation.journal import JOURNAL

GSM8K = Path(__file__).parent / "data" / "gsm8k" / "sample.jsonl"
SET = ("train.jsonl", "test.jsonl", "rejects.jsonl", "report.md", "report.json")
PICTURES = ("acceptance.png", "gaps.png", "solve_rates.png")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with process.start() as classroom:
        yield classroom.base_url


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty problems of the classroom's own kinds, in the form of GSM8K, and one that nobody knows."""
    import random

    rng = random.Random(7)
    path = tmp_path_factory.mktemp("source") / "problems.jsonl"
    rows = []
    for template in (*templates("train")[:14], *templates("test")[:6]):
        for story in template.stories[:2]:
            problem = generate_problem(rng, template, story)
            solution = "\n".join(map(str, problem.steps))
            rows.append(
                {
                    "question": problem.text,
                    "answer": f"{solution}\n#### {problem.answer}",
                    "topic": template.topic,
                }
            )
    rows.append({"question": "Who wrote 4 of these 12 plays?", "answer": "#### 4", "topic": "letters"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def arguments(problems: Path, out_dir: Path, url: str, *more: str) -> list[str]:
    """A server of its own is not started: student and rewriter are at `url`."""
    own = ["classroom.server.kind=none", f"classroom.student.base_url={url}", "source.test_share=0.25"]
    return ["--file", str(problems), "--out-dir", str(out_dir), *own, *more]


@pytest.fixture(scope="module")
def finished(problems: Path, server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out_dir = tmp_path_factory.mktemp("pairs")
    assert main(arguments(problems, out_dir, server)) == 0
    return out_dir


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def all_rows(folder: Path) -> list[dict[str, Any]]:
    return [
        row
        for name in ("train.jsonl", "test.jsonl")
        if (folder / name).exists()
        for row in rows(folder, name)
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SET + PICTURES}


def test_the_set_has_the_published_columns_and_where_they_come_from(finished: Path) -> None:
    assert (len(rows(finished, "train.jsonl")), len(rows(finished, "test.jsonl"))) == (31, 10)
    expected = {*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS} - {"notes", "group"}
    for row in all_rows(finished):
        assert expected <= row.keys() and row["topic"]
        assert (row["rewriter_model"], row["student_model"]) == ("simulated-rewriter", "simulated-student")
        assert len(row["source_id"]) == 16 and row["pre_solve_rate_n_scored"] == 16
        assert row["rewriter_prompt_tokens"] > 0 and row["student_completion_tokens"] > 0


def test_variants_are_new_problems_with_right_answers_and_the_unknown_problem_has_none(
    finished: Path,
) -> None:
    from eduardo.classroom.problems import recognise

    without = [row for row in all_rows(finished) if row["transfer_problem"] is None]
    [unknown] = [row for row in without if row["topic"] == "letters"]
    assert len(without) <= 4 and unknown["transfer_rejected_because"] == "rewriter refused"
    assert unknown["transfer_answer"] is None and unknown["pre_solve_rate_transfer_problem"] is None
    for row in all_rows(finished):
        if row["transfer_problem"] is not None:
            variant = recognise(row["transfer_problem"])
            assert variant is not None and variant.answer == row["transfer_answer"]
            assert row["transfer_kept"] == "closest" or row["pre_solve_rate_transfer_problem"] <= 0.75


def test_every_refusal_is_listed_with_its_reason_and_counted_in_the_report(finished: Path) -> None:
    rejects = rows(finished, "rejects.jsonl")
    report = json.loads((finished / "report.json").read_text())
    assert rejects and all(reject["reason"] and reject["source_id"] for reject in rejects)
    assert {reject["reason"] for reject in rejects} >= {
        "rewriter refused",
        "answer not reproduced by a blind solve",
    }
    kept_closest = report["num_variants"]["closest"]
    assert sum(report["reasons"].values()) == len(rejects) + kept_closest
    assert report["num_finished"] == 41 and report["rounds"]["1"]["accepted"] > 20
    markdown = (finished / "report.md").read_text("utf-8")
    assert "near-copies caught" in markdown and all(f"({name})" in markdown for name in PICTURES)
    assert all((finished / name).read_bytes().startswith(b"\x89PNG") for name in PICTURES)


def test_the_set_is_what_process_dataset_and_datasets_read(finished: Path, tmp_path: Path) -> None:
    import datasets
    import pyarrow.parquet as pq

    out_dir = tmp_path / "parquet"
    assert process_dataset(["--data-dir", str(finished), "--out-dir", str(out_dir), "--num-test", "4"]) == 0
    assert pq.read_metadata(out_dir / "train.parquet").num_rows > 0
    loaded = datasets.load_dataset(str(finished), cache_dir=str(tmp_path / "cache"))
    assert {split: part.num_rows for split, part in loaded.items()} == {"train": 31, "test": 10}


def test_a_finished_set_is_written_again_without_asking_anybody(finished: Path, problems: Path) -> None:
    before = contents(finished)
    assert main(arguments(problems, finished, "http://127.0.0.1:9/v1")) == 0
    assert contents(finished) == before


def test_work_in_parts_gives_the_same_set(
    finished: Path, problems: Path, server: str, tmp_path: Path
) -> None:
    assert main(arguments(problems, tmp_path, server, "--num-problems", "5", "max_rows_at_once=1")) == 0
    assert len(all_rows(tmp_path)) == 10
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-40])  # as a kill leaves it
    assert main(arguments(problems, tmp_path, server)) == 0
    assert contents(tmp_path) == contents(finished)


@pytest.mark.timeout(300)
def test_faulty_endpoints_lose_nothing(
    finished: Path, problems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = ("drop", "http_500", "garbage", "empty", "half_body")
    options = [word for kind in kinds for word in ("--fault", f"{kind}=0.02")]
    never_again = ["classroom.student.max_retries=0", "rewriter.max_retries=0"]
    statuses = []
    with process.start(options=options) as classroom:
        while len(statuses) < 60 and (not statuses or statuses[-1] != 0):
            statuses.append(run_main(main, arguments(problems, tmp_path, classroom.base_url, *never_again)))
            assert (tmp_path / "train.jsonl").exists() == (statuses[-1] == 0)
    assert statuses[-1] == 0 and len(statuses) > 1 and set(statuses) == {0, 1}
    assert "of 41 problems are still open" in capsys.readouterr().err
    assert contents(tmp_path) == contents(finished)


def test_a_set_can_be_written_without_its_open_rows(
    finished: Path, problems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (finished / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"".join(whole[:21]))
    dead = arguments(problems, tmp_path, "http://127.0.0.1:9/v1", "classroom.student.connect_timeout_s=0.5")
    assert run_main(main, dead) == 1 and not (tmp_path / "train.jsonl").exists()
    assert run_main(main, [*dead, "write_with_open_rows=true"]) == 0
    assert "21 problems are still open" in capsys.readouterr().out
    known = {row["source_id"]: row for row in all_rows(finished)}
    assert len(all_rows(tmp_path)) == 20
    assert all(known[row["source_id"]] == row for row in all_rows(tmp_path))


def test_problems_of_no_template_are_refused_one_by_one_and_keep_their_rows(
    server: str, tmp_path: Path
) -> None:
    assert main(arguments(GSM8K, tmp_path, server)) == 0
    found = all_rows(tmp_path)
    assert len(found) == 60 and all(row["transfer_problem"] is None for row in found)
    assert all(row["pre_solve_rate"] == 0.0 and row["pre_solve_rate_n_scored"] == 16 for row in found)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["rounds"] == {"1": {"rewriter refused": 60}} and report["num_with_variant"] == 0


def test_another_recipe_needs_another_folder(
    finished: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = arguments(problems, finished, "http://127.0.0.1:9/v1", "generation.seed=7")
    assert run_main(main, changed) == 2
    assert "made with another generation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "name one source"),
        (["--file", str(GSM8K), "generation.blind_solve.num_samples=2"], "num_samples must be odd"),
        (
            ["--file", str(GSM8K), "generation.rewrite.temprature=1"],
            "did you mean generation.rewrite.temperature",
        ),
        (["--file", str(GSM8K), "rewriter=openai"], "rewriter.model has no value"),
        (["--file", str(GSM8K), "rewriter=nobody"], "there are openai"),
        (["--file", str(GSM8K), "source.test_share=1.5"], "source.test_share=1.5"),
    ],
)
def test_bad_input_is_one_line(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(main, ["--out-dir", str(tmp_path / "out"), *more]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("choice", sorted(path.stem for path in (configs_dir() / "rewriter").glob("*.yaml")))
def test_the_rewriter_follows_the_classroom(choice: str) -> None:
    settings = load_settings(
        TransferDatasetSettings, [f"classroom={choice}"], config_name=CONFIG_NAME, allow_missing=True
    )
    judge, rewriter = settings.classroom.judge, settings.rewriter
    assert (rewriter.base_url, rewriter.api_key_env) == (judge.base_url, judge.api_key_env)
    assert rewriter.model == ("simulated-rewriter" if choice == "simulated" else judge.model)


@pytest.mark.parametrize(("moved", "env", "file"), [(False, "MY_KEY", None), (True, None, "/run/key")])
def test_a_rewriter_keeps_its_own_key_unless_the_server_it_shares_is_started_elsewhere(
    moved: bool, env: str | None, file: str | None
) -> None:
    settings = load_settings(
        TransferDatasetSettings,
        ["classroom=openai", "rewriter.api_key_env=MY_KEY", "classroom.judge.api_key_env=JUDGE_KEY"],
        config_name=CONFIG_NAME,
        allow_missing=True,
    )
    elsewhere = {"base_url": "http://127.0.0.1:1/v1", "api_key_env": None, "api_key_file": "/run/key"}
    judge = settings.classroom.judge.model_copy(update=elsewhere if moved else {})
    rewriter = at_classroom(settings, settings.classroom.model_copy(update={"judge": judge}))
    assert (rewriter.base_url, rewriter.api_key_env, rewriter.api_key_file) == (judge.base_url, env, file)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_that_is_killed_goes_on_where_it_was(
    finished: Path, problems: Path, server: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "eduardo.create_transfer_dataset"]
    command += arguments(problems, tmp_path, server, "max_rows_at_once=2")
    journal = tmp_path / JOURNAL
    for num_lines in (3, 12, 25):
        run = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])})
        deadline_s = time.monotonic() + 180
        while not journal.exists() or journal.read_bytes().count(b"\n") < num_lines:
            assert run.poll() is None and time.monotonic() < deadline_s
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    assert not (tmp_path / "train.jsonl").exists()
    num_kept = journal.read_bytes().count(b"\n")
    assert main(arguments(problems, tmp_path, server)) == 0
    assert journal.read_bytes().count(b"\n") == 42 and num_kept >= 25
    assert contents(tmp_path) == contents(finished)
