"""Folders in every accepted format, the `datasets` library, and folders that are not what they should be."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eduardo.dataset import HubDataset, LocalFolder
from eduardo.errors import UserError

ROWS = [{"problem": f"What is {n} + 1?", "answer": str(n + 1), "transfer_problem": None} for n in range(3)]


def write_jsonl(path: Path, rows: list[dict] = ROWS) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_any(path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
        return
    text = (
        "".join(json.dumps(row) + "\n" for row in ROWS)
        if ".jsonl" in path.name
        else json.dumps(ROWS, indent=1)
    )
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize("suffix", ["jsonl", "json", "jsonl.gz", "json.gz", "parquet"])
def test_every_format_gives_the_same_records(tmp_path, suffix):
    for split in ("train", "test"):
        write_any(tmp_path / f"{split}.{suffix}")
    records = list(LocalFolder(tmp_path).records("train"))
    assert [record.value for record in records] == ROWS
    assert [record.where.row for record in records] == [1, 2, 3]
    assert {record.where.file for record in records} == {f"train.{suffix}"}


def test_shards_as_the_hub_stores_them_are_read_in_order(tmp_path):
    (tmp_path / "data").mkdir()
    for shard in (1, 0):
        table = pa.Table.from_pylist(ROWS[shard : shard + 1])
        pq.write_table(table, tmp_path / "data" / f"train-{shard:05}-of-00002.parquet")
    assert [record.value for record in LocalFolder(tmp_path).records("train")] == ROWS[:2]


def test_the_datasets_library_gives_the_same_records(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "set"
    folder.mkdir()
    write_jsonl(folder / "train.jsonl")
    write_jsonl(folder / "test.jsonl", ROWS[:1])
    source = HubDataset(str(folder))
    assert [record.value for record in source.records("train")] == ROWS
    assert [str(record.where) for record in source.records("test")] == [f"{folder}:test row 1"]
    before = source.provenance()
    assert before == HubDataset(str(folder)).provenance()
    write_jsonl(folder / "test.jsonl", ROWS[:2])
    assert before["sha256"] != HubDataset(str(folder)).provenance()["sha256"]


def test_a_data_set_that_cannot_be_loaded_is_named(tmp_path):
    pytest.importorskip("datasets")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UserError, match=r"cannot load split train of data set .*empty: .*--data-dir"):
        list(HubDataset(str(empty)).records("train"))


def test_a_folder_that_does_not_fit_is_explained(tmp_path):
    with pytest.raises(UserError, match="absent: no such folder"):
        list(LocalFolder(tmp_path / "absent").records("train"))
    with pytest.raises(UserError, match=r"has no train split; expected one of train\.jsonl, train\.json"):
        list(LocalFolder(tmp_path).records("train"))
    write_any(tmp_path / "train.json")
    write_any(tmp_path / "train.jsonl")
    with pytest.raises(
        UserError, match=r"several files for the train split \(train\.json, train\.jsonl\); keep one"
    ):
        list(LocalFolder(tmp_path).records("train"))


def test_a_broken_parquet_file_is_named(tmp_path):
    path = tmp_path / "train.parquet"
    write_any(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"train\.parquet: cannot be read as Parquet after row 0"):
        list(LocalFolder(tmp_path).records("train"))


def test_provenance_pins_the_content_and_not_the_place(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_jsonl(tmp_path / name / "train.jsonl")
        write_jsonl(tmp_path / name / "test.jsonl")
    a, b = (LocalFolder(tmp_path / name).provenance() for name in ("a", "b"))
    assert a == b
    write_jsonl(tmp_path / "b" / "test.jsonl", ROWS[:2])
    assert LocalFolder(tmp_path / "b").provenance() != a
