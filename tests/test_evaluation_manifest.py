"""Results that were measured under other conditions are never continued."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sample_runs import sample_pairs

from eduardo import evaluate
from eduardo.classroom import process
from eduardo.console import run_main
from eduardo.dataset import to_row, write_rows
from eduardo.errors import UserError
from eduardo.evaluation.environment import command
from eduardo.evaluation.manifest import claim_folder
from eduardo.evaluation.settings import evaluation_settings
from eduardo.evaluation.tutors import TutorKind, TutorSpec, parse_tutor
from eduardo.files import changed_keys
from eduardo.personas import PLAIN

ENDPOINT = parse_tutor("api=http://host/v1#some-model")
PROBE = parse_tutor("guide")


def test_a_folder_is_continued_with_the_same_facts_only(tmp_path: Path) -> None:
    claim_folder(tmp_path / "t", {"seed": 1, "recipe": {"turns": (1, 2)}})
    claim_folder(tmp_path / "t", {"seed": 1, "recipe": {"turns": (1, 2)}})
    with pytest.raises(UserError, match=r"t holds results made with another recipe\.turns, seed: .*remove"):
        claim_folder(tmp_path / "t", {"seed": 2, "recipe": {"turns": (1, 3)}})


@pytest.mark.parametrize(("noted", "now"), [({"persona": "eager"}, {}), ({}, {"persona": "eager"})])
def test_a_fact_that_only_one_side_has_is_a_difference(noted: dict, now: dict, tmp_path: Path) -> None:
    claim_folder(tmp_path, {"seed": 1, **noted})
    with pytest.raises(UserError, match="another persona"):
        claim_folder(tmp_path, {"seed": 1, **now})


@pytest.mark.parametrize("content", ["[1]", "{", ""])
def test_a_folder_with_another_kind_of_manifest_is_not_touched(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UserError, match=r"manifest\.json: does not say .*another out_dir"):
        claim_folder(tmp_path, {"seed": 1})
    assert (tmp_path / "manifest.json").read_text() == content


@pytest.fixture
def conditions(tmp_path: Path) -> Callable[..., dict[str, object]]:
    """What `evaluate environment` and `evaluate students` note for a tutor under these settings."""
    file = tmp_path / "test.parquet"
    file.write_bytes(b"rows")

    def under(*overrides: str, tutor: TutorSpec = ENDPOINT, persona: str = PLAIN) -> dict[str, object]:
        settings = evaluation_settings([f"data_file={file}", *overrides])
        return command.conditions(tutor, settings, persona)

    return under


@pytest.mark.parametrize(
    ("override", "changed"),
    [
        ("endpoint_thinking=prefilled", "endpoint_thinking"),
        ("endpoint_tokenizer=models/tiny", "endpoint_tokenizer"),
        ("tutor_endpoint.extra_body={top_k: 5}", "tutor_extra_body.top_k"),
        ("classroom.student.extra_body={top_k: 5}", "student_extra_body.top_k"),
        ("classroom.judge.extra_body={top_k: 5}", "judge_extra_body.top_k"),
        ("classroom.student.top_p=0.5", "student_extra_body.top_p"),
        ("classroom.judge.top_p=0.5", "judge_extra_body.top_p"),
        ("classroom.student.model=other", "student"),
        ("recipe.post_test.attempts=15", "recipe.post_test.attempts"),
        ("grader.max_answer_chars=9", "max_answer_chars"),
        ("top_p=0.5", "top_p"),
    ],
)
def test_whatever_a_dialogue_or_its_score_depends_on_is_compared(
    conditions: Callable[..., dict[str, object]], override: str, changed: str
) -> None:
    assert changed_keys(conditions(), conditions(override)) == [changed]


@pytest.mark.parametrize(
    "override",
    [
        "num_samples=3",
        "num_problems=3",
        "max_dialogues_at_once=3",
        "classroom.student.base_url=http://elsewhere/v1",
        "classroom.student.max_retries=3",
        "grader.num_workers=3",
    ],
)
def test_how_many_how_fast_and_where_are_no_conditions(
    conditions: Callable[..., dict[str, object]], override: str
) -> None:
    assert changed_keys(conditions(), conditions(override)) == []


def test_the_model_behind_a_served_name_is_one(conditions: Callable[..., dict[str, object]]) -> None:
    before = conditions("classroom=smollm2")
    now = conditions("classroom=smollm2", "classroom.server.model_path=models/other")
    assert changed_keys(before, now) == ["classroom_model_path"]


def test_how_a_checkpoint_is_prompted_is_one(conditions: Callable[..., dict[str, object]]) -> None:
    checkpoint = TutorSpec(name="ours", kind=TutorKind.CHECKPOINT, target="models/ours")
    now = conditions("apply_chat_template_kwargs={enable_thinking: true}", tutor=checkpoint)
    assert changed_keys(conditions(tutor=checkpoint), now) == ["apply_chat_template_kwargs.enable_thinking"]


def test_a_scripted_tutor_does_not_depend_on_the_settings_of_endpoints(
    conditions: Callable[..., dict[str, object]],
) -> None:
    others = ["endpoint_thinking=prefilled", "tutor_endpoint.extra_body={top_k: 5}"]
    assert changed_keys(conditions(tutor=PROBE), conditions(*others, tutor=PROBE)) == []


@pytest.mark.timeout(120)
def test_dialogues_of_a_persona_are_not_reported_as_those_of_the_plain_student(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "test.parquet", tmp_path / "students"
    [pair] = sample_pairs(1)
    write_rows(data, [to_row(pair, split="test", index=0, prompt_style="compact", end_tag="<end>")])
    with process.start() as classroom:

        def run(student: str) -> int:
            arguments = ["students", "--tutor", "guide", "--student", f"small={classroom.base_url}#{student}"]
            return run_main(evaluate.main, [*arguments, f"data_file={data}", f"out_dir={out}"])

        assert run("simulated-student+eager") == 0
        eager = (out / "small" / "guide" / "scored.jsonl").read_bytes()
        assert run("simulated-student") == 2
    assert (
        "guide holds results made with another persona: choose another out_dir or remove"
        in capsys.readouterr().err
    )
    assert (out / "small" / "guide" / "scored.jsonl").read_bytes() == eager
