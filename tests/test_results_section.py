"""Results inside a Markdown document: written from the report, so that no number is typed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from sample_runs import write_evaluation

from eduardo import report as command
from eduardo.console import run_main
from eduardo.evaluation.cells import cell
from eduardo.evaluation.report import read_evaluation
from eduardo.evaluation.results_section import BEGIN, END, section

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT = f"# Paper\n\nBefore.\n\n{BEGIN}\nold numbers\n{END}\n\nAfter.\n"


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "probes"
    write_evaluation(folder, ["guide", "teller"], num_pairs=3)
    return folder


def test_tables_and_pictures_stand_between_the_marks_and_the_rest_is_left_alone(
    evaluation: Path, tmp_path: Path
) -> None:
    document = tmp_path / "paper.md"
    document.write_text(DOCUMENT)
    assert command.main([str(evaluation), "--into", str(document)]) == 0
    text = document.read_text()
    assert text.startswith("# Paper\n\nBefore.")
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "old numbers" not in text
    guide, _ = read_evaluation(evaluation).tutors
    assert cell("gain_transfer", guide.figures["gain_transfer"], digits=3) in text
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert {Path(name).name for name in pictures} >= {"forest_gain_transfer.svg", "tradeoff.svg"}
    for name in pictures:
        assert ET.parse(tmp_path / name).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_writing_them_again_changes_nothing(evaluation: Path, tmp_path: Path) -> None:
    document = tmp_path / "paper.md"
    document.write_text(DOCUMENT)
    command.main([str(evaluation), "--into", str(document)])
    once = document.read_text()
    command.main([str(evaluation), "--into", str(document)])
    assert document.read_text() == once


def test_a_document_without_marks_is_not_touched(
    evaluation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "paper.md"
    document.write_text("# Paper\n")
    assert run_main(command.main, [str(evaluation), "--into", str(document)]) == 2
    assert f"{document}: has no lines {BEGIN}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["paper.md"]


def test_the_results_in_the_docs_are_those_of_their_report() -> None:
    text = (DOCS / "evaluation.md").read_text()
    shown = text.partition(BEGIN)[2].partition(END)[0]
    assert shown == f"\n{section(read_evaluation(DOCS / 'evaluation'), 'evaluation')}"
