"""Streaming JSON: every record with its line, bounded memory, one clear message for each kind of bad file."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.dataset import json_stream
from eduardo.dataset.json_stream import read_json_records
from eduardo.errors import UserError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\{}[],x\n', max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.lists(st.dictionaries(st.text('ab"\\{}[]é', max_size=5), json_values, max_size=4), max_size=6)


def write(tmp_path: Path, content: bytes | str, name: str = "f.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def values(path: Path) -> list[object]:
    return [record.value for record in read_json_records(path)]


@given(items=objects, indent=st.sampled_from([None, 0, 4]), chunk=st.sampled_from([1, 2, 7, 64, 4096]))
def test_an_array_is_read_back_whatever_the_text_and_the_chunk_size(tmp_path_factory, items, indent, chunk):
    path = tmp_path_factory.mktemp("array") / "f.json"
    path.write_text(json.dumps(items, indent=indent, ensure_ascii=False), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK_BYTES", max(chunk, 1))
        assert values(path) == items


@given(items=objects, chunk=st.sampled_from([1, 3, 4096]))
def test_json_lines_are_read_back(tmp_path_factory, items, chunk):
    path = tmp_path_factory.mktemp("lines") / "f.jsonl"
    path.write_text("".join(json.dumps(item) + "\n\n" for item in items), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK_BYTES", chunk)
        assert values(path) == items


def test_each_record_knows_its_row_and_line(tmp_path):
    array = write(tmp_path, '[\n  {"a": 1},\n  {\n    "a": 2\n  },\n  {"a": 3}\n]\n')
    lines = write(tmp_path, '\n{"a": 1}\n\n{"a": 2}', "f.jsonl")
    assert [(r.where.row, r.where.line) for r in read_json_records(array)] == [(1, 2), (2, 3), (3, 6)]
    assert [(r.where.row, r.where.line) for r in read_json_records(lines)] == [(1, 2), (2, 4)]


def test_bom_windows_line_ends_and_gzip_are_fine(tmp_path):
    bom = write(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n', "bom.jsonl")
    packed = write(tmp_path, gzip.compress(b'[{"a": 1}, {"a": 2}]'), "f.json.gz")
    assert values(bom) == values(packed) == [{"a": 1}, {"a": 2}]


def test_an_empty_file_has_no_records(tmp_path):
    assert values(write(tmp_path, "")) == values(write(tmp_path, "[ ]")) == []


def test_nan_and_lone_surrogates_reach_the_row_checks(tmp_path):
    (record,) = values(write(tmp_path, '[{"rate": NaN, "text": "\\ud800"}]'))
    assert record["rate"] != record["rate"]
    assert record["text"] == "\ud800"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"a": 1}, {"a": "caf\xe9"}]', "f.json line 1: byte 0xe9 is not UTF-8"),
        (b'{"a": 1}\n{"a": "caf\xe9"}\n', "f.json line 2: byte 0xe9 is not UTF-8"),
        (b'[\n{"a": 1},\n{"a": 2', "f.json line 3: the file ends inside record 2"),
        (b'[\n{"a": 1},\n{"a": "unfinis', "f.json line 3: the file ends inside record 2"),
        (b'[\n{"a": 1}', "f.json line 2: the file ends before the closing ]"),
        (b'[\n{"a": 1}\n{"a": 2}]', "f.json line 2: expected a comma between objects, found nothing"),
        (b'[{"a": 1}, 7, {"a": 2}]', "expected a comma between objects, found ', 7,'"),
        (b'[{"a": 1}, 7]', "expected ] or another object"),
        (b'["text"]', "expected an object, found text"),
        (b'[{"a": 1}] more', "expected the end of the file"),
        (b'[{"a": }]', "f.json line 1 column 7: not valid JSON"),
        (b'[\n{"a": 1,\n "b": tru}]', "f.json line 3 column 7: not valid JSON"),
        (b'{"a": 1}\n{"a": 2', "f.json line 2 column"),
        (b'{"a": 1}\n\n{"a": 1} {"a": 2}', "f.json line 3 column 10"),
        (b"\xff\xfe[\x00", "is UTF-16"),
        (b"problem,answer\n1,2\n", "f.json line 1 column 1: not valid JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "f.json line 1: not usable JSON"),
    ],
)
def test_a_bad_file_gives_one_message_with_its_line(tmp_path, content, message):
    with pytest.raises(UserError) as caught:
        values(write(tmp_path, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_or_truncated_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"absent\.json: no such file"):
        values(tmp_path / "absent.json")
    packed = gzip.compress(b'[{"a": 1}]' * 100)
    with pytest.raises(UserError, match="not a complete gzip file"):
        values(write(tmp_path, packed[: len(packed) // 2], "f.json.gz"))
    with pytest.raises(UserError, match="not a complete gzip file"):
        values(write(tmp_path, b"plain", "g.json.gz"))


def test_memory_stays_bounded_by_the_record_not_the_file(tmp_path):
    item = json.dumps({"text": "x" * 1000})
    path = write(tmp_path, "[" + ",\n".join([item] * 20_000) + "]")
    tracemalloc.start()
    count = sum(1 for _ in read_json_records(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert path.stat().st_size > 20_000_000
    assert peak < 6_000_000


def test_a_record_of_50_megabytes_is_read(tmp_path):
    path = write(tmp_path, '[{"text": "' + "x{" * 25_000_000 + '"}, {"text": "small"}]')
    big, small = values(path)
    assert len(big["text"]) == 50_000_000
    assert small == {"text": "small"}
