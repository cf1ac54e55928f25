"""A pool of students: who is named how, other models on rates of their own, and the matrix tutor × student."""

from __future__ import annotations

from pathlib import Path

import pytest

from eduardo import evaluate, process_dataset
from eduardo.classroom import process
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.evaluation.parts import read_parts
from eduardo.evaluation.students.pool import StudentSpec, read_students
from eduardo.personas import PLAIN, persona_names


def test_without_a_choice_the_pool_is_every_persona_the_plain_one_first() -> None:
    assert [spec.persona for spec in read_students([])] == list(persona_names())
    assert read_students([])[0].persona == PLAIN


def test_another_model_may_act_a_persona_too() -> None:
    url = "http://host/v1"
    assert read_students([f"a={url}#org/model", f"b={url}#org/model+terse"]) == [
        StudentSpec(name="a", persona=PLAIN, base_url=url, model="org/model"),
        StudentSpec(name="b", persona="terse", base_url=url, model="org/model"),
    ]


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["grumpy"], "no persona 'grumpy'"),
        (["a=http://host/v1"], "write a persona"),
        (["a=http://host/v1#m+grumpy"], "no persona 'grumpy'"),
        (["terse", "terse"], "two students have the same name"),
    ],
)
def test_a_student_that_cannot_be_is_refused(texts: list[str], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        read_students(texts)


def test_a_mixture_for_training_is_refused_in_an_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["environment", "--tutor", "guide=probe:guide", "classroom.personas={terse: 1}"]
    assert run_main(evaluate.main, arguments) == 2
    assert "evaluate students" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_tutor_meets_every_student_and_what_a_student_changes_is_reported(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "students"
    assert process_dataset.main(["--out-dir", str(data), "--tutor-prompt", "compact"]) == 0
    with process.start() as server:
        other = f"other={server.base_url}#simulated-student"
        arguments = [
            "students", "--tutor", "guide=probe:guide", "--tutor", "teller=probe:teller",
            "--student", "plain", "--student", "answer_fishing", "--student", other,
            f"data_file={data / 'test.parquet'}", "num_problems=8", f"out_dir={out}",
        ]  # fmt: skip
        assert evaluate.main(arguments) == 0
    [part] = read_parts(out)
    assert part.data["students"] == ["plain", "answer_fishing", "other"]
    gains = part.data["figures"]["gain_transfer"]  # type: ignore[index]
    assert gains["guide"]["plain"]["value"] > gains["teller"]["plain"]["value"] + 0.3
    assert gains["guide"]["all students"]["num_clusters"] == 8
    assert gains["guide"]["all students"]["num_values"] == 24
    leaks = part.data["figures"]["leak_rate"]  # type: ignore[index]
    assert {cell["value"] for cell in leaks["teller"].values()} == {1.0}
    assert {(c["tutor"], c["student"]) for c in part.data["changes"]} == {  # type: ignore[attr-defined]
        (tutor, student) for tutor in ("guide", "teller") for student in ("answer_fishing", "other")
    }
    assert len((out / "other" / "baselines" / "baselines.jsonl").read_text().splitlines()) == 16
    assert (out / "answer_fishing" / "report.html").is_file()
    assert "A pool of students" in (out / "report.html").read_text()
