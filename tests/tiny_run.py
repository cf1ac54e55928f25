"""A training that is as small as a real one can be: starter problems, an untrained tutor, and few short dialogues."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from tiny_model import save_model

from eduardo.classroom.tiny_tutor.tokenizer import train_tokenizer

BATCH, NUM_PER_PROBLEM = 2, 4
SMALL = [
    f"data.train_batch_size={BATCH}",
    "actor_rollout_ref.actor.ppo_mini_batch_size=1",
    f"actor_rollout_ref.rollout.n={NUM_PER_PROBLEM}",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4",
    "recipe.dialogue.prompt_tokens=1100",
    "recipe.dialogue.max_tutor_turns=4",
    "recipe.dialogue.tutor_turn_tokens=24",
    "ablation=no_gates",  # an untrained tutor would always be rejected, and equal rewards teach nothing
    "run.logprob_check_freq=1",
    "actor_rollout_ref.rollout.temperature=1.15",  # trainer and rollout must apply it alike
    "run.keep_checkpoints=2",
    "trainer.total_epochs=2",
    "trainer.val_before_train=false",
]


def make_workplace(folder: Path, *, num_train: int) -> None:
    """Writes train.parquet, val.parquet and model/, a tutor of the shipped tutor's kind."""
    command = [
        sys.executable,
        "-m",
        "eduardo.process_dataset",
        "--num-train",
        str(num_train),
        "--num-test",
        "2",
    ]
    subprocess.run([*command, "--out-dir", str(folder / "data")], check=True, timeout=300)
    for name in ("train", "val"):
        (folder / f"{name}.parquet").write_bytes((folder / "data" / f"{name}.parquet").read_bytes())
    rows = pq.read_table(folder / "train.parquet").to_pylist()
    tokenizer = train_tokenizer((m["content"] for row in rows for m in row["prompt"]), vocab_size=400)
    save_model(folder / "model", tokenizer)


def inputs(folder: Path) -> list[str]:
    """Overrides that name what `make_workplace` wrote."""
    return [
        f"data.train_files={folder / 'train.parquet'}",
        f"data.val_files={folder / 'val.parquet'}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
    ]
