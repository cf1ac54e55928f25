"""Parquet rows: one fixed schema, and every pair comes back exactly as it went in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eduardo.dataset import SCHEMA, from_row, to_row, write_rows
from eduardo.types import ItemKind, Problem, SolveRate, TestItem, TransferPair

END = "<end_of_conversation>"
hostile = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
    st.sampled_from(
        [
            "{{x}} {% if a %} {0} %s $name",
            r"\sum_{i=1}^{n} \boxed{1}",
            "quote \" ' ` \\ \\n",
            "nul \x00 bell \x07",
            "\u2028\u202e\ufeff🧮",
            "nan",
            "None",
            "long " * 20_000,
        ]
    ),
)
rates = st.none() | st.builds(SolveRate, value=st.floats(0, 1), num_graded=st.none() | st.integers(1, 2**40))


@st.composite
def pairs(draw):
    def item(kind: ItemKind) -> TestItem:
        return TestItem(
            problem=Problem(text=draw(hostile), answer=draw(hostile)), baseline=draw(rates), kind=kind
        )

    return TransferPair(
        id=draw(hostile),
        source=item(ItemKind.SOURCE),
        variant=(draw(st.booleans()) and item(ItemKind.TRANSFER)) or None,
        notes=draw(st.none() | hostile),
    )


def row_of(pair: TransferPair, index: int = 0, **extras: object) -> dict:
    return to_row(pair, split="train", index=index, prompt_style="default", end_tag=END, extras=extras)


@settings(max_examples=50, deadline=None)
@given(st.lists(pairs(), min_size=1, max_size=4))
def test_d01_every_pair_survives_parquet_however_it_is_read(tmp_path_factory, some):
    path = tmp_path_factory.mktemp("rows") / "f.parquet"
    assert write_rows(path, (row_of(pair, index) for index, pair in enumerate(some))) == len(some)
    table = pq.read_table(path)
    assert table.schema.equals(SCHEMA)
    assert [from_row(row) for row in table.to_pylist()] == some
    assert [from_row(row) for row in pd.read_parquet(path).to_dict("records")] == some
    arrow_backed = pd.read_parquet(path, dtype_backend="pyarrow").to_dict("records")
    assert [from_row(row) for row in arrow_backed] == some


@settings(max_examples=30, deadline=None)
@given(pairs())
def test_the_prompt_holds_the_problem_byte_for_byte(pair):
    system, opener = row_of(pair)["prompt"]
    assert (system["role"], opener["role"]) == ("system", "user")
    assert pair.source.problem.text in system["content"]
    assert pair.source.problem.text in opener["content"]


def simple_pair(variant: bool = True) -> TransferPair:
    item = TestItem(
        problem=Problem(text="p", answer="1"), baseline=SolveRate(value=0.5), kind=ItemKind.SOURCE
    )
    other = TestItem(problem=Problem(text="q", answer="2"), baseline=None, kind=ItemKind.TRANSFER)
    return TransferPair(id="id", source=item, variant=other if variant else None)


def test_a_row_from_verl_may_hold_numpy_values_and_nan():
    row = row_of(simple_pair())
    row["extra_info"] |= {
        "pre_solve_rate": np.float64(0.5),
        "pre_solve_rate_n_scored": float("nan"),
        "index": np.int64(3),
        "problem": np.array("p"),
        "notes": float("nan"),
    }
    row["prompt"] = np.array(row["prompt"])
    assert from_row(row) == simple_pair()


def test_only_extra_info_is_needed_to_read_a_pair_back():
    assert from_row({"extra_info": row_of(simple_pair(variant=False))["extra_info"]}) == simple_pair(
        variant=False
    )
    with pytest.raises(ValueError, match="'id' has no problem"):
        from_row({"extra_info": {"id": "id", "problem": None}})


def test_d01_columns_without_a_field_travel_as_json_text(tmp_path: Path):
    extras = {"big": 2**70, "nested": {"b": [1, "1"], "a": None}, "empty": {}, "half": "\ud800", "rate": 0.5}
    path = tmp_path / "f.parquet"
    write_rows(
        path,
        [row_of(simple_pair(), **extras), row_of(simple_pair()), row_of(simple_pair(), nan=float("nan"))],
    )
    first, second, third = (row["extra_info"]["extras"] for row in pq.read_table(path).to_pylist())
    assert json.loads(first) == extras
    assert (second, third) == ("{}", '{"nan":null}')


@pytest.mark.parametrize(
    "values", [[5, "5"], [2**70, 1], [{}, {"a": 1}], [[], [1]], [None, True], ["{", 0.5]]
)
def test_d01_a_column_may_hold_values_that_parquet_would_refuse_or_change(
    tmp_path: Path, values: list[object]
):
    path = tmp_path / "f.parquet"
    rows = [{"a": values[0], "b": 2, "pre": {"s": 0.5}}, {"a": values[1]}]
    write_rows(path, (row_of(simple_pair(), i, **extras) for i, extras in enumerate(rows)))
    for read in (pq.read_table(path).to_pylist(), pd.read_parquet(path).to_dict("records")):
        assert [json.loads(row["extra_info"]["extras"]) for row in read] == rows


def test_an_empty_file_keeps_its_schema_and_same_rows_give_same_bytes(tmp_path: Path):
    a, b, empty = (tmp_path / name for name in ("a", "b", "empty"))
    for path in (a, b):
        write_rows(path, (row_of(simple_pair(), index) for index in range(2500)))
    assert a.read_bytes() == b.read_bytes()
    assert write_rows(empty, []) == 0
    assert pq.read_table(empty).schema.equals(SCHEMA)


def test_the_datasets_library_reads_the_file_as_verl_does(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    path = tmp_path / "train.parquet"
    write_rows(path, [row_of(simple_pair()), row_of(simple_pair(variant=False), 1)])
    rows = datasets.load_dataset("parquet", data_files=str(path), cache_dir=str(tmp_path / "cache"))["train"]
    assert [from_row(row) for row in rows] == [simple_pair(), simple_pair(variant=False)]
    assert rows[0]["reward_model"] == {"style": "rule", "ground_truth": "1"}
    assert rows[1]["agent_name"] == "eduardo_tutor"
