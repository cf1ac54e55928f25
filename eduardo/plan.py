"""`python -m eduardo.plan`: what a run needs, before it gets a GPU: memory, requests, hours."""

from __future__ import annotations

import sys

from rich.console import Console

from eduardo.config import compose, validate
from eduardo.config.arguments import parse_run_arguments
from eduardo.config.steps import num_steps
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.planning import PlannedRun, num_rows
from eduardo.planning.tables import plan_tables

WIDTH = 110  # of tables that go to a file
HELP = """\
usage: eduardo plan [KEY=VALUE ...] [--config-dir DIR]

Print what a run would need: memory of one GPU in both phases of a step, tokens and requests per step, hours and
GPU-hours, and how they grow. It takes the words of `eduardo train` and starts nothing: no GPU, server, weights or data
are needed.

Memory follows from the model's shape (its config.json, or planning.architecture) and from verl's settings. Time follows
from throughputs that are STATED, not measured: set planning.gpu.*, planning.throughput.* and planning.expected.*
to what your cluster does (configs/planning/default.yaml says where to find each).

examples:
  eduardo plan recipe=paper model=qwen3_5_4b hardware=slurm_2x4
  eduardo plan recipe=paper model=qwen3_14b hardware=slurm_2x4 trainer.nnodes=4
  eduardo plan recipe=paper model=qwen3_5_4b_lora hardware=one_gpu planning.gpu.memory_gib=48
"""
# Who student and judge are makes no difference here, so that none has to be named.
_ANYONE = "classroom=simulated"


def main(argv: list[str] | None = None) -> int:
    """Print the plan of a run. Raises UserError."""
    options = parse_run_arguments(sys.argv[1:] if argv is None else argv, options=())
    if options.help:
        print(HELP, end="")
        return 0
    chosen = any(word.partition("=")[0] == "classroom" for word in options.overrides)
    config = compose([*([] if chosen else [_ANYONE]), *options.overrides], extra_dir=options.config_dir)
    settings = validate(config)
    if config.trainer.device == "cpu":
        raise UserError(
            "a plan is about GPUs: choose a GPU layout such as hardware=one_gpu (on a CPU, run a few steps and read "
            "timing_s/step in metrics.jsonl)"
        )
    planning = settings.planning
    steps = num_steps(
        config, num_rows=num_rows(config.data.train_files, otherwise=planning.expected.train_problems)
    )
    run = PlannedRun.from_config(config, settings.recipe, planning, num_steps=steps)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    for part in plan_tables(run, model_name=str(config.actor_rollout_ref.model.path)):
        console.print(part)
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
