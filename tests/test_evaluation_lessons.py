"""The preference test as a user runs it: scripted teachers in the embedded classroom, on the shipped sample."""

from pathlib import Path

import msgspec
import pytest

from eduardo import evaluate, process_dataset
from eduardo.errors import UserError
from eduardo.evaluation.lessons.summary import figures_of
from eduardo.records import read_dialogues

SAMPLE = Path(__file__).parent / "data" / "education_dialogue"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lessons")
    command = ["--dataset", "education_dialogue", "--data-dir", str(SAMPLE), "--num-test", "2"]
    process_dataset.main([*command, "--out-dir", str(folder)])
    return folder / "test.parquet"


@pytest.fixture(scope="module")
def report(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    command = ["education_dialogue", "--tutor", "adapter", "--tutor", "talker=probe:lecturer"]
    overrides = [f"data_file={data}", f"out_dir={folder}", "num_samples=2"]
    evaluate.main([*command, *overrides])
    evaluate.main([*command, *overrides])  # finds everything done
    return folder


@pytest.mark.timeout(240)
def test_an_adapting_teacher_is_preferred_and_a_lecturer_is_not(report):
    part = msgspec.json.decode((report / "education_dialogue.part.json").read_bytes())
    adapter, talker = part["data"]["tutors"]
    assert adapter["preference"]["value"] > 0.9
    assert talker["preference"]["value"] < 0.1
    assert adapter["preference"]["num_values"] == 8
    assert adapter["preference"]["num_clusters"] == 4
    assert talker["student_ended"]["value"] == 1.0
    assert list(part["data"]["differences"]) == ["talker − adapter"]
    assert "education_dialogue.md" in {path.name for path in report.iterdir()}


@pytest.mark.timeout(240)
def test_a_second_run_keeps_what_is_there(report):
    scored = list(read_dialogues(report / "adapter" / "scored.jsonl"))
    assert len(scored) == 8
    assert all(lesson.preference.comparisons for lesson in scored)


@pytest.mark.timeout(240)
def test_lessons_under_other_conditions_are_not_added(report, data):
    command = ["education_dialogue", "--tutor", "adapter", f"data_file={data}", f"out_dir={report}"]
    with pytest.raises(UserError, match=r"made with another judge_extra_body\.top_k: choose another out_dir"):
        evaluate.main([*command, "num_samples=2", "classroom.judge.extra_body={top_k: 5}"])


def test_a_tutor_without_lessons_has_no_figures():
    figures = figures_of("nobody", [], 4)
    assert figures.preference is None
    assert figures.void_share == 1.0


def test_a_tutor_of_problems_is_refused(data):
    with pytest.raises(UserError, match=r"knows problems, no lessons; scripted teachers are adapter"):
        evaluate.main(["education_dialogue", "--tutor", "guide", f"data_file={data}"])


def test_a_file_of_problems_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no such file; write it with"):
        evaluate.main(["education_dialogue", "--tutor", "adapter", f"data_file={tmp_path / 'none.parquet'}"])
