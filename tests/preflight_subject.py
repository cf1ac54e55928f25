"""A run to be checked, composed once: the paper's recipe on GPUs, with a few rows of data."""

from functools import cache

from eduardo.config import compose, validate
from eduardo.dataset import to_row, write_rows
from eduardo.preflight.findings import Subject
from eduardo.types import ItemKind, Problem, SolveRate, TestItem, TransferPair


@cache
def composed(*overrides):
    config = compose(overrides)
    return config, validate(config)


def gpu_subject(tmp_path, *, dry_run=False, **settings):
    """`settings` replace sections of the run's, such as `preflight=...`."""
    config, plain = composed("recipe=paper", "model=qwen3_5_4b", "hardware=slurm_2x4")
    run = plain.run.model_copy(update={"dir": str(tmp_path / "run")})
    return Subject(config, plain.model_copy(update={"run": run, **settings}), dry_run)


def changed(section, **values):
    return section.model_copy(update=values)


def write_problems(path, count, *, split="train"):
    write_rows(path, _rows(count, split))


def _rows(count, split):
    for index in range(count):
        source = TestItem(
            problem=Problem(text=f"What is {index} + 3?", answer=str(index + 3)),
            baseline=SolveRate(value=0.25, num_graded=16),
            kind=ItemKind.SOURCE,
        )
        pair = TransferPair(id=f"p{index}", source=source, variant=None)
        yield to_row(pair, split=split, index=index, prompt_style="default", end_tag="<end>")
