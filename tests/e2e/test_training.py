"""Training for real: verl, Ray and vLLM on two CPU cores, with the simulated classroom behind HTTP.

One run is stopped with SIGINT after two steps and continued by the same command; another loses its classroom.
"""

import json
import signal
import subprocess
import sys
import time

import psutil
import pyarrow.parquet as pq
import pytest
import torch
from tiny_run import BATCH, NUM_PER_PROBLEM, SMALL, inputs, make_workplace

from eduardo.classroom import process
from eduardo.dataset import from_row
from eduardo.records import read_dialogues
from eduardo.types import EndReason
from eduardo.verl_adapter.checkpoints import fault_of
from eduardo.verl_adapter.data_order import DataOrder
from eduardo.verl_adapter.journal import read_journal
from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(2400)]

START_S = 1000  # of a machine that does other things too


class Run:
    """The training command as a user runs it."""

    def __init__(self, workplace, name, *overrides):
        self.dir = workplace / "runs" / name
        self.output = workplace / f"{name}.out"
        command = [sys.executable, "-m", "eduardo.train", f"run.dir={self.dir}", *SMALL, *overrides]
        command += inputs(workplace)
        with self.output.open("wb") as out:
            self.child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=workplace)

    def wait_for_step(self, step):
        deadline_s = time.monotonic() + START_S
        while not any(line["step"] >= step for line in self.metrics()):
            assert self.child.poll() is None, self.said()
            assert time.monotonic() < deadline_s, self.said()
            time.sleep(0.5)

    def wait(self):
        return self.child.wait(START_S)

    def said(self):
        return self.output.read_text()

    def metrics(self):
        return read_journal(self.dir / "metrics.jsonl")

    def dialogues(self, split, step):
        return list(read_dialogues(self.dir / "dialogues" / split / f"step_{step:06d}.jsonl"))

    def weights(self, step):
        path = self.dir / "checkpoints" / f"global_step_{step}" / "actor" / "model_world_size_1_rank_0.pt"
        return {name: _local(tensor) for name, tensor in torch.load(path, weights_only=False).items()}

    def optimizer_steps(self, step):
        path = self.dir / "checkpoints" / f"global_step_{step}" / "actor" / "optim_world_size_1_rank_0.pt"
        states = torch.load(path, weights_only=False)["state"].values()
        return {int(_local(state["step"])) for state in states}


def _local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def processes_of_runs(workplace):
    """Whatever still runs on behalf of a training below this folder."""
    found = []
    for candidate in psutil.process_iter():
        try:
            environment = candidate.environ()
            if RUN_ID_VARIABLE in environment and str(workplace) in environment.get("TENSORBOARD_DIR", ""):
                found.append(" ".join(candidate.cmdline())[:100])
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    make_workplace(folder, num_train=5)
    return folder


@pytest.fixture(scope="module")
def stopped(workplace):
    """A run of four steps that gets SIGINT when two are done."""
    run = Run(
        workplace, "main", "trainer.total_training_steps=4", "trainer.test_freq=4", "trainer.save_freq=100"
    )
    run.wait_for_step(2)
    run.child.send_signal(signal.SIGINT)
    run.status = run.wait()
    run.left = processes_of_runs(workplace)
    run.step = json.loads((run.dir / "status.json").read_text())["step"]  # 2, or 3 when it was quick
    run.saved = {"weights": run.weights(run.step), "optimizer_steps": run.optimizer_steps(run.step)}
    return run


@pytest.fixture(scope="module")
def resumed(workplace, stopped):
    """The same command again, beside a checkpoint that was cut while it was written."""
    torn = stopped.dir / "checkpoints" / "global_step_9" / "actor"
    torn.mkdir(parents=True)
    (torn / "model_world_size_1_rank_0.pt").write_bytes(b"half")
    run = Run(
        workplace, "main", "trainer.total_training_steps=4", "trainer.test_freq=4", "trainer.save_freq=100"
    )
    run.status = run.wait()
    run.left = processes_of_runs(workplace)
    return run


@pytest.fixture(scope="module")
def orphaned(workplace):
    """A run whose own classroom server is killed while the second step is under way."""
    run = Run(
        workplace,
        "orphaned",
        "trainer.total_training_steps=4",
        "trainer.test_freq=100",
        "trainer.save_freq=100",
    )
    run.wait_for_step(1)
    children = psutil.Process(run.child.pid).children()
    next(child for child in children if "eduardo.classroom" in child.cmdline()).kill()
    run.status = run.wait()
    run.left = processes_of_runs(workplace)
    return run


def test_sigint_saves_and_leaves_no_process(stopped):
    assert stopped.status == 128 + signal.SIGINT, stopped.said()
    assert "stopped after step" in stopped.said()
    assert stopped.left == []
    assert stopped.step in (2, 3)
    assert fault_of(stopped.dir / "checkpoints" / f"global_step_{stopped.step}") is None


def test_the_same_command_continues_and_finishes(resumed):
    assert resumed.status == 0, resumed.said()
    assert "finished after step 4" in resumed.said()
    assert resumed.left == []
    assert [line["step"] for line in resumed.metrics()] == [1, 2, 3, 4]
    assert fault_of(resumed.dir / "checkpoints" / "global_step_4") is None


def test_a_finished_run_is_not_trained_again(resumed, workplace):
    before = resumed.metrics()
    again = Run(
        workplace, "main", "trainer.total_training_steps=4", "trainer.test_freq=4", "trainer.save_freq=100"
    )
    assert again.wait() == 0, again.said()
    assert "is finished" in again.said()
    assert again.metrics() == before


def test_a_half_written_checkpoint_is_skipped_with_a_message(resumed):
    log = (resumed.dir / "train.log").read_text(errors="replace")
    assert "global_step_9 skipped: it was not written to the end" in log


def test_problems_come_in_the_planned_order_over_the_stop_and_the_end_of_the_epoch(resumed, workplace):
    ids = [from_row(row).id for row in pq.read_table(workplace / "train.parquet").to_pylist()]
    order = DataOrder(ids, batch_size=BATCH, seed=42)
    assert order.position(3).epoch == 1  # five problems: two steps an epoch
    for step in (1, 2, 3, 4):
        expected = sorted(ids[row] for row in order.rows(step) for _ in range(NUM_PER_PROBLEM))
        assert sorted(d.pair_id for d in resumed.dialogues("train", step)) == expected


def test_every_dialogue_is_on_record_with_verdicts_post_test_and_reward(resumed):
    dialogues = [d for step in (1, 2, 3, 4) for d in resumed.dialogues("train", step)]
    assert not any(d.is_void for d in dialogues)
    assert all(d.verdicts and d.post_test and d.transcript.end_reason in EndReason for d in dialogues)
    rewards = [d.reward.total for d in resumed.dialogues("train", 4)]
    logged = next(line for line in resumed.metrics() if line["step"] == 4)["dialogue/reward_total"]
    assert logged == pytest.approx(sum(rewards) / len(rewards), abs=1e-9)
    assert len(resumed.dialogues("val", 4)) == len(pq.read_table(resumed.dir.parents[1] / "val.parquet"))


def test_vllm_serves_the_changed_weights_after_every_step(stopped, resumed):
    """Trainer and rollout agree on the log-probs of each step's tokens although the weights differ each time."""
    before, after = stopped.saved["weights"], resumed.weights(4)
    change = max(float((after[name] - before[name]).abs().max()) for name in before)
    assert change > 1e-4
    for line in resumed.metrics():
        assert line["logprob/abs_diff_mean"] < 1e-5
        assert line["logprob/abs_diff_max"] < 1e-3


def test_the_optimizer_goes_on_where_it_stopped(stopped, resumed):
    per_step = BATCH  # mini-batches of one problem
    assert stopped.saved["optimizer_steps"] == {stopped.step * per_step}
    assert resumed.optimizer_steps(4) == {4 * per_step}


def test_the_run_folder_is_complete(resumed):
    names = {path.name for path in resumed.dir.iterdir()}
    assert {"config.yaml", "manifest.json", "metrics.jsonl", "tensorboard", "dialogues"} <= names
    assert {"checkpoints", "curves.png", "train.log"} <= names
    manifest = json.loads((resumed.dir / "manifest.json").read_text())
    assert len(manifest["earlier_starts"]) == 1
    assert manifest["packages"]["verl"] is not None


@pytest.fixture(scope="module")
def bereft(workplace):
    """A run whose classroom fails now and then, and dies while the second step is under way."""
    server = process.start(options=["--fault", "http_500=0.02", "--fault-seed", "1"])
    overrides = [f"classroom.{role}.base_url={server.base_url}" for role in ("student", "judge")]
    overrides += [f"classroom.{role}.max_retries=0" for role in ("student", "judge")]
    overrides += [f"classroom.{role}.retry_budget_s=3" for role in ("student", "judge")]
    # Without retries the pre-flight would meet a fault of the server and refuse to start.
    overrides += ["actor_rollout_ref.actor.ppo_mini_batch_size=2", "recipe.faults.max_void_share=0.8"]
    overrides += ["preflight.enabled=false"]
    run = Run(workplace, "bereft", "classroom.server.kind=none", *overrides)
    try:
        run.wait_for_step(1)
    finally:
        server.stop()
    run.status = run.wait()
    run.left = processes_of_runs(workplace)
    return run


def test_some_voids_are_left_out_and_the_rest_is_learned_from(bereft):
    first = bereft.metrics()[0]
    void = [d for d in bereft.dialogues("train", 1) if d.is_void]
    assert 0 < len(void) < BATCH * NUM_PER_PROBLEM
    assert first["dialogue/num_void"] == len(void)
    rewards = [d.reward.total for d in bereft.dialogues("train", 1) if not d.is_void]
    assert first["dialogue/reward_total"] == pytest.approx(sum(rewards) / len(rewards), abs=1e-9)
    assert first["critic/score/mean"] == pytest.approx(sum(rewards) / len(rewards), abs=1e-6)
    assert first["actor/grad_norm"] > 0


def test_a_dead_classroom_ends_the_run_with_the_reason_and_a_checkpoint(bereft):
    assert bereft.status == 1, bereft.said()
    last_line = bereft.said().strip().splitlines()[-1]
    assert "dialogues of step" in last_line
    assert "are void" in last_line
    assert bereft.left == []
    step = int(bereft.metrics()[-1]["step"]) - 1
    assert fault_of(bereft.dir / "checkpoints" / f"global_step_{step}") is None


def test_the_step_that_broke_the_budget_is_in_the_journal_with_what_it_cost(bereft):
    *learned, refused = bereft.metrics()
    assert all("actor/grad_norm" in line for line in learned)
    assert "actor/grad_norm" not in refused
    assert refused["dialogue/void_share"] > 0.8
    assert refused["dialogue/sum_student_num_tries"] > 0
    assert "was not learned from" in bereft.said()


def test_a_dead_classroom_never_became_a_reward(bereft):
    refused = bereft.metrics()[-1]
    step = int(refused["step"])
    void = [d for d in bereft.dialogues("train", step) if d.is_void]
    assert len(void) > BATCH * NUM_PER_PROBLEM * 0.8
    assert all(d.reward is None and d.void_reason for d in void)
    rewards = [d.reward.total for d in bereft.dialogues("train", step) if not d.is_void]
    mean = pytest.approx(sum(rewards) / len(rewards), abs=1e-9) if rewards else None
    assert refused.get("dialogue/reward_total") == mean


def test_the_end_of_its_own_classroom_server_ends_the_run_within_the_step(orphaned):
    """By its retry budget alone a dialogue would wait six minutes for the server."""
    assert orphaned.status == 1, orphaned.said()
    last_line = orphaned.said().strip().splitlines()[-1]
    assert "the simulated classroom ended while the run needed it: exit status -9" in last_line
    assert orphaned.left == []
    step = int(orphaned.metrics()[-1]["step"])
    assert step < 4
    assert fault_of(orphaned.dir / "checkpoints" / f"global_step_{step}") is None
