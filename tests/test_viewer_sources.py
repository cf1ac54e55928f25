"""Where the viewer finds dialogues: run folders, evaluation folders, folders of such folders, single files."""

from __future__ import annotations

from pathlib import Path

import pytest

from eduardo.errors import UserError
from eduardo.viewer.sources import RunKind, find_runs


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_a_run_an_evaluation_and_a_file_are_told_apart(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "dialogues" / "train" / "step_000001.jsonl")
    touch(tmp_path / "b" / "guide" / "scored.jsonl")
    file = touch(tmp_path / "c.jsonl")
    runs = find_runs([tmp_path / "a", tmp_path / "b", file])
    assert [(run.name, run.kind) for run in runs] == [
        ("a", RunKind.TRAINING),
        ("b", RunKind.EVALUATION),
        ("c.jsonl", RunKind.FILE),
    ]
    assert [[file.group for file in run.files()] for run in runs] == [["train"], ["guide"], ["c"]]


def test_a_folder_is_searched_for_runs_and_for_evaluations_inside_them(tmp_path: Path) -> None:
    touch(tmp_path / "demo" / "dialogues" / "val" / "step_000000.jsonl")
    touch(tmp_path / "demo" / "evaluation" / "after" / "scored.jsonl")
    assert {(run.name, run.kind.value) for run in find_runs([tmp_path])} == {
        ("demo", "training"),
        ("evaluation", "evaluation"),
    }


def test_a_run_that_has_just_started_is_one_already(tmp_path: Path) -> None:
    touch(tmp_path / "manifest.json")
    assert find_runs([tmp_path])[0].files() == []


def test_runs_of_one_name_are_told_apart_by_the_folders_above_them(tmp_path: Path) -> None:
    for parent in ("x", "y"):
        touch(tmp_path / parent / "seed" / "dialogues" / "train" / "step_000001.jsonl")
    touch(tmp_path / "z" / "dialogues" / "train" / "step_000001.jsonl")
    assert [run.name for run in find_runs([tmp_path])] == ["x/seed", "y/seed", "z"]


def test_parts_of_a_running_step_are_read_until_the_step_is_joined(tmp_path: Path) -> None:
    part = touch(tmp_path / "dialogues" / "train" / "step_000002.parts" / "worker.jsonl")
    touch(tmp_path / "dialogues" / "train" / "step_000001.jsonl")
    [run] = find_runs([tmp_path])
    assert [(file.path.name, file.group) for file in run.files()] == [
        ("step_000001.jsonl", "train"),
        ("worker.jsonl", "train"),
    ]
    touch(part.parent.with_suffix(".jsonl"))
    assert [file.path.name for file in run.files()] == ["step_000001.jsonl", "step_000002.jsonl"]


def test_a_path_without_dialogues_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"{tmp_path}: no dialogues; give a run folder"):
        find_runs([tmp_path])
