"""Problems and answers of one's own: what is read, what is left out, and which split a problem goes to."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from eduardo.dataset import Rule
from eduardo.errors import UserError
from eduardo.resources import configs_dir
from eduardo.transfer_generation.source import SourceSet, SourceSettings, read_source

GSM8K = Path(__file__).parent / "data" / "gsm8k" / "sample.jsonl"
SHIPPED = yaml.safe_load((configs_dir() / "create_transfer_dataset.yaml").read_text())["source"]
ROWS = [{"problem": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(1, 11)]


def read(**changes: Any) -> SourceSet:
    return read_source(SourceSettings(**{**SHIPPED, **changes}), seed=42)


def write(path: Path, rows: list[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_gsm8k_gives_problems_answers_and_solutions() -> None:
    source = read(file=str(GSM8K))
    assert len(source.problems) == 60 and not source.dropped
    janet = next(one for one in source.problems if one.problem.text.startswith("Janet"))
    assert janet.problem.answer == "18"
    assert janet.solution is not None and janet.solution.startswith(
        "Janet sells 16 - 3 - 4 = 9 duck eggs a day."
    )
    assert {one.problem.answer for one in source.problems} >= {"70000", "540"}


def test_a_file_is_divided_by_the_share_and_the_same_way_each_time() -> None:
    source = read(file=str(GSM8K), test_share=0.2)
    assert [one.split for one in source.problems] == ["train"] * 48 + ["test"] * 12
    assert source.problems == read(file=str(GSM8K), test_share=0.2).problems
    assert {one.split for one in read(file=str(GSM8K), test_share=0.0).problems} == {"train"}
    assert len([one for one in read(file=str(GSM8K), test_share=0.001).problems if one.split == "test"]) == 1


def test_a_folder_keeps_its_own_split_and_the_test_split_keeps_what_is_in_both(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROWS[:6])
    write(tmp_path / "test.jsonl", ROWS[5:8])
    source = read(data_dir=str(tmp_path), test_share=0.9)
    assert [one.split for one in source.problems] == ["train"] * 5 + ["test"] * 3
    assert [(one.rule, one.where.file) for one in source.dropped] == [(Rule.DUPLICATE, "train.jsonl")]


def test_one_named_split_is_divided(tmp_path: Path) -> None:
    write(tmp_path / "test.jsonl", ROWS)
    source = read(data_dir=str(tmp_path), splits=["test"], test_share=0.3)
    assert [one.split for one in source.problems].count("test") == 3


def test_a_limit_takes_the_first_of_each_split_and_still_knows_the_others(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROWS[:6])
    write(tmp_path / "test.jsonl", ROWS[6:])
    source = read(data_dir=str(tmp_path), num_problems=2)
    assert len(source.problems) == 10
    assert [one.problem.text for one in source.chosen] == [ROWS[n]["problem"] for n in (0, 1, 6, 7)]


@pytest.mark.parametrize("kind", ["jsonl.gz", "json", "parquet"])
def test_every_format_gives_the_same_problems(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"problems.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif kind == "json":
        path.write_text(json.dumps(ROWS))
    else:
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))
    plain = read(file=write(tmp_path / "plain.jsonl", ROWS))
    assert [one.id for one in read(file=str(path)).problems] == [one.id for one in plain.problems]


def test_numbers_are_answers_and_further_columns_travel_along(tmp_path: Path) -> None:
    rows = [{"text": "2 + 2?", "key": 4, "level": "easy"}, {"text": "1 / 4?", "key": 0.25, "level": "hard"}]
    source = read(
        file=write(tmp_path / "p.jsonl", rows), problem_column="text", answer_column="key", test_share=0.0
    )
    assert [(one.problem.answer, one.extras) for one in source.problems] == [
        ("4", {"level": "easy"}),
        ("0.25", {"level": "hard"}),
    ]


def test_bad_rows_are_left_out_by_row_and_reason(tmp_path: Path) -> None:
    rows = [
        *ROWS[:2],
        {"problem": "", "answer": "1"},
        {"problem": "p", "answer": None},
        {"problem": "p", "answer": "no number ####"},
        {"problem": "p", "answer": "\\frac{1}{"},
        {"problem": 3, "answer": "1"},
        "text",
        ROWS[0],
        {"problem": "p", "answer": float("nan")},
    ]
    source = read(file=write(tmp_path / "p.jsonl", rows))
    assert len(source.problems) == 2
    assert [(one.where.row, one.rule) for one in source.dropped] == [
        (3, Rule.MISSING_PROBLEM),
        (4, Rule.MISSING_ANSWER),
        (5, Rule.MISSING_ANSWER),
        (6, Rule.UNGRADABLE_KEY),
        (7, Rule.WRONG_TYPE),
        (8, Rule.WRONG_TYPE),
        (9, Rule.DUPLICATE),
        (10, Rule.MISSING_ANSWER),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, r"name one source: --file, --data-dir, --hf-dataset \(given: none\)"),
        ({"file": "a.jsonl", "data_dir": "b"}, r"given: --file, --data-dir"),
        ({"file": "nowhere.jsonl"}, r"nowhere\.jsonl: no such file"),
        ({"data_dir": "nowhere"}, r"nowhere: no such folder"),
        ({"file": str(GSM8K), "revision": "main"}, r"go with --hf-dataset"),
        (
            {"file": str(GSM8K), "answer_column": "solution"},
            r"row|line 1: has no column 'solution'; found question",
        ),
    ],
)
def test_a_source_that_can_not_be_read_is_one_clear_message(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(**changes)


def test_a_source_without_one_usable_problem_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no usable problem \(1 rows left out; for example p\.jsonl line 1"):
        read(file=write(tmp_path / "p.jsonl", [{"problem": "p", "answer": ""}]))


def test_a_folder_that_the_datasets_library_loads_is_read_like_the_hub(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROWS[:6])
    write(tmp_path / "test.jsonl", ROWS[6:])
    hub, folder = read(hf_dataset=str(tmp_path)), read(data_dir=str(tmp_path))
    assert [(one.id, one.split) for one in hub.problems] == [(one.id, one.split) for one in folder.problems]
