"""The starter problems: published columns, unseen test templates, measured solve rates, the same bytes each time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eduardo.answers import check_key
from eduardo.classroom import problems, starter
from eduardo.classroom.__main__ import main
from eduardo.classroom.sim_settings import load_sim_settings
from eduardo.classroom.sim_student import cold_chance
from eduardo.classroom.starter import draw_pairs, starter_settings
from eduardo.dataset.columns import REQUIRED_COLUMNS
from eduardo.errors import UserError

ARGUMENTS = ["--num-train", "40", "--num-test", "12", "--seed", "5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out_dir = tmp_path_factory.mktemp("starter")
    assert main(["starter", "--out-dir", str(out_dir), *ARGUMENTS]) == 0
    return out_dir


def rows(folder: Path, split: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text("utf-8").splitlines()]


def test_rows_have_the_published_columns_and_gradable_answers(folder: Path) -> None:
    assert [len(rows(folder, split)) for split in ("train", "test")] == [40, 12]
    for row in rows(folder, "train") + rows(folder, "test"):
        assert set(REQUIRED_COLUMNS) <= row.keys()
        assert check_key(str(row["answer"])) is None and check_key(str(row["transfer_answer"])) is None
        assert row["problem"] != row["transfer_problem"] and row["answer"] != row["transfer_answer"]
        assert str(row["notes"]).endswith(f"= {row['answer']}")


def test_no_template_is_in_both_files(folder: Path) -> None:
    train, test = ({row["group"] for row in rows(folder, split)} for split in ("train", "test"))
    assert not train & test


def test_solve_rates_are_those_of_the_student_that_was_asked(folder: Path) -> None:
    params = load_sim_settings().student
    train = rows(folder, "train")
    assert all(
        row["pre_solve_rate_n_scored"] == row["pre_solve_rate_transfer_n_scored"] == 16 for row in train
    )
    measured = [float(str(row["pre_solve_rate"])) for row in train]
    expected = [cold_chance(p, params) for row in train if (p := problems.recognise(str(row["problem"])))]
    assert len(expected) == len(measured)
    assert sum(measured) / 40 == pytest.approx(sum(expected) / 40, abs=0.06)


def test_the_same_arguments_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    main(["starter", "--out-dir", str(tmp_path), *ARGUMENTS])
    for name in ("train.jsonl", "test.jsonl"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_what_is_not_given_is_the_shipped_set() -> None:
    """12 pairs of every training template, 10 of every test template."""
    shipped = starter_settings()
    assert shipped.num_train == 12 * len(problems.templates("train"))
    assert shipped.num_test == 10 * len(problems.templates("test"))
    changed = starter_settings(num_test=3)
    assert changed.model_dump() == {**shipped.model_dump(), "num_test": 3}


def test_one_number_can_be_given_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        starter, "write_starter", lambda folder, settings, on_progress: asked.append(settings) or {}
    )
    assert main(["starter", "--out-dir", str(tmp_path), "--seed", "9"]) == 0
    assert asked == [starter_settings(seed=9)]


def test_more_pairs_than_there_are_problems_is_one_clear_message() -> None:
    with pytest.raises(UserError, match="--num-test"):
        draw_pairs("test", 10**6, seed=1)
