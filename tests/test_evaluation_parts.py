"""Parts of a report: written as Markdown, CSV and JSON, shown by the page of whatever folder they lie in."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from sample_runs import write_evaluation

from eduardo.errors import UserError
from eduardo.evaluation.cells import cell, shown
from eduardo.evaluation.html_report import write_report
from eduardo.evaluation.parts import Part, PartTable, read_parts, write_part
from eduardo.evaluation.statistics import Estimate

HOSTILE = '<script>alert(1)</script> | "a"\nb'
PART = Part(
    title="Another test",
    notes=["How it was done.", "**3 missing**: nobody answered."],
    tables=[PartTable(title="Scores", head=["author", "score"], rows=[[HOSTILE, "0.500 [0.400, 0.600]"]])],
    data={"score": 0.5},
)


def test_a_part_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    write_part(tmp_path, "another", PART)
    assert read_parts(tmp_path) == [PART]


def test_markdown_and_csv_keep_every_cell_in_its_place(tmp_path: Path) -> None:
    write_part(tmp_path, "another", PART)
    lines = (tmp_path / "another.md").read_text().splitlines()
    assert lines[0] == "# Another test"
    assert lines[-1] == '| <script>alert(1)</script> \\| "a" b | 0.500 [0.400, 0.600] |'
    rows = list(csv.reader((tmp_path / "another.csv").open(newline="")))
    assert rows == [["table", "author", "score"], ["Scores", HOSTILE, "0.500 [0.400, 0.600]"]]


def test_a_folder_of_parts_alone_has_a_page_and_text_stays_text(tmp_path: Path) -> None:
    write_part(tmp_path, "another", PART)
    page = write_report(tmp_path).read_text()
    assert "<h2>Another test</h2>" in page
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "Training curves" not in page and 'id="dialogues"' not in page


def test_the_page_of_an_evaluation_shows_the_parts_beside_its_figures(tmp_path: Path) -> None:
    folder = tmp_path / "evaluation"
    write_evaluation(folder, ["guide"], num_pairs=2)
    write_part(folder, "another", PART)
    page = write_report(folder).read_text()
    assert "<h2>Figures</h2>" in page and "<h2>Another test</h2>" in page


def test_a_file_that_is_no_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.part.json").write_text('{"title": 3}')
    with pytest.raises(UserError, match=r"odd\.part\.json: no part of a report"):
        read_parts(tmp_path)


def test_an_estimate_is_shown_with_its_interval_where_it_has_one() -> None:
    whole = Estimate(value=-0.25, low=-0.5, high=0.0, num_values=4, num_clusters=2)
    alone = Estimate(value=0.25, low=None, high=None, num_values=4, num_clusters=1)
    assert shown(whole) == "−0.250 [−0.500, 0.000]"
    assert shown(alone, share=True) == "25.0%"
    assert shown(alone, digits=1) == "0.2"
    assert shown(None) == "–"
    assert shown(Estimate(value=-0.0001, low=None, high=None, num_values=1, num_clusters=1)) == "0.000"


def test_a_figure_is_a_share_where_its_name_says_so() -> None:
    alone = Estimate(value=0.25, low=0.125, high=0.5, num_values=4, num_clusters=1)
    assert cell("leak_rate", alone) == "25.0% [12.5%, 50.0%]"
    assert cell("gain_transfer", alone, digits=3) == "0.250 [0.125, 0.500]"
