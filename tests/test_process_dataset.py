"""The command as people use it: problems in, Parquet files that verl reads out, one line when it cannot."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from eduardo.classroom import problems
from eduardo.console import run_main
from eduardo.dataset import SCHEMA, from_row
from eduardo.errors import UserError
from eduardo.process_dataset import main


def generated(split: str, num_rows: int) -> list[dict[str, Any]]:
    """Rows in the published columns. Rates are spread over the band, since nothing measures them here."""
    templates = problems.templates(split)  # type: ignore[arg-type]
    rows = []
    for index in range(num_rows):
        template = templates[index % len(templates)]
        pair = problems.generate_pair(random.Random(f"{split}{index}"), template)
        rows.append(
            {
                "problem": pair.source.text,
                "answer": pair.source.answer,
                "transfer_problem": pair.variant.text,
                "transfer_answer": pair.variant.answer,
                "pre_solve_rate": (index % 9 + 1) / 16,
                "pre_solve_rate_transfer_problem": (index % 7 + 1) / 16,
                "pre_solve_rate_n_scored": 16,
                "pre_solve_rate_transfer_n_scored": 16,
                "llama8b_solve_rate": 0.3,
            }
        )
    return rows


TRAIN = generated("train", 60)
TEST = generated("test", 11)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "pairs"
    write(folder, TRAIN, TEST)
    return folder


def write(folder: Path, train: list[Any], test: list[Any]) -> None:
    folder.mkdir(exist_ok=True)
    for name, rows in (("train", train), ("test", test)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(data_dir: Path, out_dir: Path, *flags: str) -> int:
    return main(["--data-dir", str(data_dir), "--out-dir", str(out_dir), "--num-test", "8", *flags])


def read(out_dir: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out_dir / f"{name}.parquet").to_pylist()
    return rows


def test_three_files_come_out_that_hold_the_pairs(data_dir, tmp_path):
    out = tmp_path / "out"
    assert run(data_dir, out) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "manifest.json",
        "rejects.jsonl",
        "test.parquet",
        "train.parquet",
        "val.parquet",
    ]
    train, val, test = (read(out, name) for name in ("train", "val", "test"))
    assert (len(train) + len(val), len(val), len(test)) == (60, 8, 11)
    assert pq.read_schema(out / "train.parquet").equals(SCHEMA)
    assert {row["extra_info"]["split"] for row in val} == {"val"}
    assert [row["extra_info"]["index"] for row in test] == list(range(11))
    assert {from_row(row).source.problem.text for row in train + val} == {row["problem"] for row in TRAIN}
    assert json.loads(train[0]["extra_info"]["extras"]) == {"llama8b_solve_rate": 0.3}
    assert "<end_of_conversation>" in train[0]["prompt"][0]["content"]


def test_val_templates_are_not_trained_on(data_dir, tmp_path):
    run(data_dir, tmp_path / "out")
    train, val = (
        {problems.recognise(row["extra_info"]["problem"]).template.id for row in read(tmp_path / "out", name)}
        for name in ("train", "val")
    )
    assert train.isdisjoint(val)


def test_the_same_input_and_seed_give_the_same_bytes_wherever_they_are_written(data_dir, tmp_path):
    for name in ("a", "b"):
        run(data_dir, tmp_path / name)
    run(data_dir, tmp_path / "c", "--seed", "7")
    contents = [
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())}
        for name in ("a", "b", "c")
    ]
    assert contents[0] == contents[1]
    assert contents[0]["val.parquet"] != contents[2]["val.parquet"]


def test_faulty_rows_are_left_out_counted_and_listed(tmp_path, capsys):
    bad = [
        TRAIN[0] | {"answer": ""},
        TRAIN[1] | {"pre_solve_rate": float("nan")},
        TRAIN[2] | {"transfer_answer": r"\frac{1}{"},
        TRAIN[3] | {"pre_solve_rate": 0.9},
        TRAIN[4] | {"transfer_problem": None, "transfer_answer": ""},
        *TRAIN[5:],
        TRAIN[10],
        TRAIN[11] | {"answer": "123456"},
    ]
    write(tmp_path / "pairs", bad, TEST)
    assert run(tmp_path / "pairs", tmp_path / "out") == 0
    rejects = [json.loads(line) for line in (tmp_path / "out" / "rejects.jsonl").read_text().splitlines()]
    assert [(r["line"], r["rule"]) for r in rejects] == [
        (1, "answer missing"),
        (2, "rate not in [0, 1]"),
        (3, "answer not gradable"),
        (4, "rate outside the band"),
        (5, "no variant"),
        (12, "conflicting answers"),
        (61, "duplicate"),
        (62, "conflicting answers"),
    ]
    printed = capsys.readouterr().out
    assert "left out: train.jsonl line 3: transfer_answer" in printed
    assert "conflicting answers" in printed
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["num_dropped"]["train"]["conflicting answers"] == 2
    assert manifest["num_read"] == {"train": 62, "test": 11}


def test_two_ways_to_write_one_answer_are_no_conflict(tmp_path):
    twice = [*TRAIN, TRAIN[0] | {"answer": f"{TRAIN[0]['answer']}.0"}]
    write(tmp_path / "pairs", twice, TEST)
    run(tmp_path / "pairs", tmp_path / "out")
    (reject,) = (tmp_path / "out" / "rejects.jsonl").read_text().splitlines()
    assert json.loads(reject)["rule"] == "duplicate"


def test_strict_stops_at_faulty_rows_and_writes_nothing(tmp_path):
    write(tmp_path / "pairs", [TRAIN[0] | {"answer": None}, *TRAIN[1:]], TEST)
    with pytest.raises(UserError, match=r"--strict: 1 faulty rows: train\.jsonl line 1: answer is missing"):
        run(tmp_path / "pairs", tmp_path / "out", "--strict")
    assert not (tmp_path / "out").exists()


def test_strict_does_not_mind_rows_outside_the_band(data_dir, tmp_path):
    assert run(data_dir, tmp_path / "out", "--strict", "--solve-rate-max", "0.4") == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--solve-rate-min", "0.9", "--solve-rate-max", "1"],
            r"train\.parquet: 60 read .*, all left out \(rate outside the band 60\); widen the band with --solve-rate",
        ),
        (
            ["--holdout-solve-rate-min", "0.9"],
            r"no rows are left for test\.parquet: .*widen the band with --holdout-solve-rate-min",
        ),
        (["--min-graded", "17"], r"too few graded samples 11\); lower --min-graded"),
        (["--num-test", "600"], r"--num-test 600 takes all rows left for training and validation; lower it"),
        (["--solve-rate-min", "0.5", "--solve-rate-max", "0.2"], r"--solve-rate-min 0\.5 is above"),
        (["--tutor-prompt", "kind"], r"'kind' is unknown; use one of default, compact"),
        (["--hf-dataset", "x/y"], "exclude each other"),
        (["--revision", "main"], "--revision goes with --hf-dataset"),
    ],
)
def test_settings_that_cannot_work_are_explained_and_nothing_is_written(data_dir, tmp_path, flags, message):
    with pytest.raises(UserError, match=message):
        run(data_dir, tmp_path / "out", *flags)
    out = tmp_path / "out"
    assert not out.exists() or list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (
            [{"question": "q", **{k: v for k, v in TRAIN[0].items() if k != "problem"}}],
            r"required columns are missing: problem",
        ),
        (
            [{k.replace("answer", "anwser"): v for k, v in TRAIN[0].items()}],
            r"answer \(did you mean anwser\?\)",
        ),
        ([], "the train split is empty"),
        ([[1, 2]], r"train\.jsonl line 1: expected \] or another object"),
        (["text"], "required columns are missing"),
    ],
)
def test_input_that_is_no_pair_set_is_explained(tmp_path, train, message):
    write(tmp_path / "pairs", train, TEST)
    with pytest.raises(UserError, match=message):
        run(tmp_path / "pairs", tmp_path / "out")


def test_an_old_result_survives_a_failed_run(data_dir, tmp_path):
    out = tmp_path / "out"
    run(data_dir, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(UserError):
        run(data_dir, out, "--num-test", "600")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_command_ends_with_one_line_and_status_2(tmp_path, capsys):
    assert run_main(main, ["--data-dir", str(tmp_path / "absent"), "--out-dir", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'absent'}: no such folder\n"


def test_a_mistyped_flag_is_refused_with_a_hint():
    done = subprocess.run(
        [sys.executable, "-m", "eduardo.process_dataset", "--out-dir", "x", "--num-trian", "5"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--num-train" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_starter_set_is_the_default_and_the_same_every_time(tmp_path):
    for name in ("a", "b"):
        assert main(["--out-dir", str(tmp_path / name), "--tutor-prompt", "compact"]) == 0
    a, b = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("a", "b"))
    assert a == b
    assert json.loads(a["manifest.json"])["input"]["source"] == "starter"
    notes = read(tmp_path / "a", "train")[0]["extra_info"]["notes"]
    assert notes in read(tmp_path / "a", "train")[0]["prompt"][0]["content"]
