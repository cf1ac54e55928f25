"""The card of a merged tutor says what its run's files say, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from eduardo.errors import UserError
from eduardo.model_card import write_card
from eduardo.resources import configs_dir

SHA = "97ba8e82ecb2c10f4b4054063f6d77b6259b30c357d79ae7558e260161721a18"


def config_of_a_run() -> dict[str, Any]:
    """Of the many keys in a run's config.yaml those that say what a tutor was trained with."""
    return {
        "recipe": yaml.safe_load((configs_dir() / "recipe" / "paper.yaml").read_text()),
        "classroom": {
            "server": {"kind": "simulated"},
            "student": {"model": "simulated-student"},
            "judge": {"model": "simulated-judge"},
        },
        "data": {"train_batch_size": 16},
        "algorithm": {"adv_estimator": "grpo_void_aware"},
        "actor_rollout_ref": {
            "actor": {"policy_loss": {"loss_mode": "dppo_tv"}, "optim": {"lr": 1e-6}},
            "rollout": {"n": 8},
        },
    }


class Run:
    """The files of a run of four steps."""

    def __init__(self, folder: Path, *, model: str) -> None:
        self.path, self.model_dir = folder / "ours", folder / "ours" / "merged" / "step_4"
        self.model_dir.mkdir(parents=True)
        (self.path / "config.yaml").write_text(yaml.safe_dump(config_of_a_run()))
        manifest = {
            "started": "2026-01-02T03:04:05+00:00",
            "seed": 7,
            "git": "abc123",
            "data": {"/somewhere/private/d/train.parquet": SHA},
            "model": model,
            "packages": {"verl": "0.9.1", "eduardo": None},
        }
        (self.path / "manifest.json").write_text(json.dumps(manifest))
        lines: list[dict[str, Any]] = [
            {"step": 3, "dialogue/num_dialogues": 128, "dialogue/reward_total": 0.111},
            {
                "step": 4,
                "dialogue/num_dialogues": 128,
                "dialogue/reward_total": 0.222,
                "val/num_dialogues": 50,
            }
            | {"val/reward_total": 0.333, "val/rejected_no_handover": 0.25},
            {"step": 5, "dialogue/num_dialogues": 128, "dialogue/reward_total": 0.999},
        ]
        (self.path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def card(self, *evaluations: Path) -> str:
        write_card(self.path, self.model_dir, step=4, evaluations=evaluations)
        return (self.model_dir / "README.md").read_text()

    def evaluation(self, folder: Path, tutor_path: str) -> Path:
        (folder / "after").mkdir(parents=True)
        (folder / "after" / "manifest.json").write_text(json.dumps({"tutor": f"{tutor_path}#"}))
        figure = {"value": 0.4321, "low": 0.4, "high": 0.5}
        tutor = {"tutor": "after", "num_planned": 9, "num_measured": 8, "figures": {"gain_transfer": figure}}
        report = {"tutors": [tutor | {"invalid_because": ["a cap bound"]}]}
        (folder / "report.json").write_text(json.dumps(report))
        return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, model="Qwen/Qwen3.5-4B")


def front_matter(card: str) -> dict[str, Any]:
    facts: dict[str, Any] = yaml.safe_load(card.split("---")[1])
    return facts


def test_it_names_base_model_data_recipe_and_step(run: Run) -> None:
    card = run.card()

    assert front_matter(card)["base_model"] == "Qwen/Qwen3.5-4B"
    assert "# Tutor ours, step 4" in card
    assert f"| data: d/train.parquet | SHA-256 `{SHA}` |" in card
    assert "at most 11 tutor turns of 662 tokens, 8192 in all" in card
    assert "verl 0.9.1" in card and "None" not in card


def test_its_numbers_are_those_of_the_step_and_its_validation(run: Run) -> None:
    card = run.card()

    assert "|  | training, step 4 | validation, step 4 |" in card
    assert "| reward | 0.222 | 0.333 |" in card
    assert "| rejected: solution handed over | – | 25.0 % |" in card
    assert "0.111" not in card and "0.999" not in card


def test_a_number_that_was_not_measured_is_not_there(run: Run) -> None:
    assert "thinking tokens" not in run.card()


def test_paths_of_the_machine_stay_out(tmp_path: Path) -> None:
    card = Run(tmp_path, model=str(tmp_path / "private" / "base")).card()

    assert str(tmp_path) not in card and "/somewhere" not in card
    assert "base_model" not in front_matter(card) and "`base`" in card


@pytest.mark.parametrize(
    ("name", "text"),
    [("README.md", "---\nlicense: apache-2.0\n---\n"), ("manifest.json", '{"licence": "Apache-2.0"}')],
)
def test_the_licence_is_the_base_models_own(tmp_path: Path, name: str, text: str) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / name).write_text(text)

    assert front_matter(Run(tmp_path, model=str(base)).card())["license"] == "apache-2.0"


def test_an_unknown_licence_is_not_guessed(run: Run) -> None:
    assert front_matter(run.card())["license"] == "other"


def test_an_evaluation_of_this_model_is_shown_with_its_faults(run: Run, tmp_path: Path) -> None:
    card = run.card(run.evaluation(tmp_path / "e", "elsewhere/ours/merged/step_4"))

    assert "8 of 9 dialogues measured" in card and "**Invalid by its own limits**: a cap bound." in card
    assert "| gain_transfer | 0.432 | 0.400 to 0.500 |" in card


def test_an_evaluation_of_another_model_is_left_out(run: Run, tmp_path: Path) -> None:
    assert "0.432" not in run.card(run.evaluation(tmp_path / "e", "elsewhere/ours/merged/step_3"))


def test_a_simulated_classroom_is_said_to_be_one(run: Run) -> None:
    assert "simulated classroom" in run.card()


def test_a_folder_that_is_no_run_is_named(run: Run) -> None:
    (run.path / "manifest.json").unlink()

    with pytest.raises(UserError, match=rf"{run.path}: its files do not tell what a model card needs"):
        run.card()
