"""Training in both environments at once: verl, Ray and vLLM on two CPU cores, problems and lessons in every step."""

import subprocess
import sys
from pathlib import Path

import pytest
from tiny_run import SMALL, inputs, make_workplace

from eduardo.records import read_dialogues
from eduardo.verl_adapter.journal import read_journal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

NUM_STEPS = 3
SAMPLE = Path(__file__).parents[1] / "data" / "education_dialogue"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    make_workplace(folder, num_train=4)
    command = [sys.executable, "-m", "eduardo.process_dataset", "--dataset", "education_dialogue"]
    command += ["--data-dir", str(SAMPLE), "--num-test", "2", "--tutor-prompt", "compact"]
    subprocess.run([*command, "--out-dir", str(folder / "lessons")], check=True, timeout=300)
    files = {
        split: f"[{folder / f'{split}.parquet'},{folder / 'lessons' / f'{split}.parquet'}]"
        for split in ("train", "val")
    }
    command = [
        sys.executable,
        "-m",
        "eduardo.train",
        "environment=mixed",
        f"run.dir={folder / 'run'}",
        *SMALL,
    ]
    command += [*inputs(folder), *(f"data.{split}_files={files[split]}" for split in files)]
    command += [
        f"trainer.total_training_steps={NUM_STEPS}",
        f"trainer.test_freq={NUM_STEPS}",
        "preflight.enabled=false",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "run", done.stdout


def dialogues(folder, split, step):
    records = list(read_dialogues(folder / "dialogues" / split / f"step_{step:06d}.jsonl"))
    lessons = [record for record in records if record.preference is not None]
    return [record for record in records if record.preference is None], lessons


def test_every_step_learns_from_problems_and_from_lessons(run):
    folder, _ = run
    for step in range(1, NUM_STEPS + 1):
        problems, lessons = dialogues(folder, "train", step)
        assert len(problems) == len(lessons) == 4
        assert all(record.post_test for record in problems)
        assert all(0.0 <= record.reward.total <= 1.0 for record in lessons)
        assert all(len(record.preference.comparisons) == 2 for record in lessons)


def test_each_environment_has_metrics_of_its_own(run):
    folder, _ = run
    for line in read_journal(folder / "metrics.jsonl"):
        problems, lessons = dialogues(folder, "train", int(line["step"]))
        for name, records in (("near_transfer", problems), ("education_dialogue", lessons)):
            mean = sum(record.reward.total for record in records) / len(records)
            assert line[f"dialogue/{name}/reward_total"] == pytest.approx(mean, abs=1e-9)
        assert line["dialogue/education_dialogue/preference"] == line["dialogue/preference"]
        assert "dialogue/education_dialogue/delta" not in line
        assert "dialogue/near_transfer/preference" not in line
    assert line["val/education_dialogue/void_share"] == line["val/near_transfer/void_share"] == 0.0


def test_progress_names_both_environments(run):
    _, said = run
    assert f"step {NUM_STEPS}/{NUM_STEPS}  near_transfer: reward" in said
    assert "|  education_dialogue: reward" in said
