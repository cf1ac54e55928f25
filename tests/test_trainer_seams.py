"""What the trainer adds to verl's loop, without the loop: the void budget, and what goes to the advantages."""

import pytest
from omegaconf import OmegaConf

pytest.importorskip("verl")

from types import SimpleNamespace

from eduardo.verl_adapter import advantage
from eduardo.verl_adapter.journal import MetricsJournal, read_journal
from eduardo.verl_adapter.resumable_trainer import ResumableTrainer
from eduardo.verl_adapter.stop import StopTraining
from eduardo.verl_adapter.trainer import TutorTrainer

STEP = 3


def numbers(*, void=False, gate=-0.2):
    parts = {"reward_gain": 0.0, "reward_preference": 0.0, "reward_gate": gate}
    return {"void": float(void), "reward_total": None if void else gate, "student_num_retries": 2.0, **parts}


@pytest.fixture
def trainer(tmp_path):
    config = {
        "data": {"train_batch_size": 2},
        "actor_rollout_ref": {"rollout": {"n": 2}},
        "environment": {"shares": {"near_transfer": 1.0}},
        "recipe": {"faults": {"max_void_share": 0.2}},
        "algorithm": {"norm_adv_by_std_in_grpo": True},
    }
    trainer = object.__new__(TutorTrainer)
    trainer.config = OmegaConf.create(config)
    OmegaConf.set_struct(trainer.config, True)
    trainer.run_dir, trainer.global_steps, trainer.completed_step = tmp_path, STEP, STEP - 1
    trainer.logger = SimpleNamespace(log=lambda data, step: None)
    assert isinstance(trainer.logger, MetricsJournal)
    return trainer


def test_the_step_that_breaks_the_void_budget_is_in_the_journal_when_the_run_stops(trainer, tmp_path):
    with pytest.raises(StopTraining, match="75% of the dialogues of step 3 are void"):
        trainer._step_metrics([numbers(), *[numbers(void=True)] * 2], {})
    (line,) = read_journal(tmp_path / "metrics.jsonl")
    assert (line["step"], line["dialogue/num_void"]) == (STEP, 3.0)
    assert line["dialogue/sum_student_num_retries"] == 6.0


def test_a_step_within_the_budget_is_logged_by_the_loop_alone(trainer, tmp_path):
    into = {}
    trainer._step_metrics([numbers()] * 4, into)
    assert into["dialogue/void_share"] == 0.0
    assert read_journal(tmp_path / "metrics.jsonl") == []


def test_groups_of_equal_outcomes_go_to_the_advantages(trainer, monkeypatch):
    dialogues = [numbers(), numbers(), numbers(), numbers(gate=0.0)]
    seen = []
    monkeypatch.setattr(TutorTrainer, "_reward_infos", staticmethod(lambda batch: dialogues))
    monkeypatch.setattr(
        ResumableTrainer,
        "_compute_advantage",
        lambda self, batch, metrics: seen.append(list(self.config.algorithm.get(advantage.TIED_GROUPS))),
    )
    keys = ["11-aa_0_0", "11-aa_1_0", "22-bb_0_0", "22-bb_1_0"]
    for _ in range(2):
        trainer._compute_advantage(SimpleNamespace(keys=keys), {})
    assert seen == [["11-aa"]] * 2
