"""`python -m eduardo.sft`: check everything in seconds, train, and write a model folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from eduardo.config import compose
from eduardo.config.arguments import parse_run_arguments
from eduardo.errors import EduardoError, UserError
from eduardo.files import replace_file
from eduardo.merge import write_model
from eduardo.progress import TaskProgress
from eduardo.sft.inputs import WarmStartRun, check_inputs, num_steps, resolve
from eduardo.sft.journal import LossJournal
from eduardo.train.failure import error_line
from eduardo.train.process import run_environment
from eduardo.train.run_folder import RunFolder
from eduardo.verl_adapter.leftovers import COMMAND_PID_VARIABLE, RUN_ID_VARIABLE, kill_run

POLL_S = 0.5
EXIT_GRACE_S = 20.0
HELP = """\
usage: eduardo sft [KEY=VALUE ...] [--cfg job] [--config-dir DIR]

Warm start: supervised training on dialogues with verl's SFT trainer, loss on the tutor's turns only. Without arguments
it trains the tiny tutor on data/dialogues on CPU cores. The folder RUN/model is what `eduardo train` takes.

choices (configs/), one of each, as for `eduardo train`:
  model=tiny|smollm2|qwen3_5_4b|...     hardware=cpu|one_gpu|one_node|...

keys most often changed:
  run.dir=DIR                  run folder; the same command with the same folder continues
  data_dir=DIR                 written by eduardo process_dataset --dataset education_dialogue
  sft.data.train_batch_size=N  sft.data.max_length=TOKENS
  sft.optim.lr=1e-5            sft.trainer.total_epochs=N  sft.trainer.save_freq=N  sft.trainer.test_freq=N
  actor_rollout_ref.model.path=FOLDER_OR_HUB_ID
Every key of verl's SFT configuration can be set under sft. --cfg job prints all keys with their values and ends.

examples:
  eduardo sft run.dir=runs/warm sft.optim.lr=1e-3
  eduardo sft model=qwen3_5_4b hardware=one_gpu sft.data.train_batch_size=64 sft.data.max_length=8192
  eduardo train environment=education_dialogue actor_rollout_ref.model.path=runs/warm/model

Run folder: config.yaml manifest.json metrics.jsonl tensorboard/ checkpoints/ model/ train.log
Ctrl-C or SIGTERM ends it; the same command continues from the last checkpoint.
exit status: 0 finished, 2 bad input, 1 failed, 130 interrupted
"""


class WarmStartFailed(EduardoError):
    """The training process ended with an error; the message is the line that says why."""


def main(argv: list[str] | None = None) -> int:
    options = parse_run_arguments(sys.argv[1:] if argv is None else argv, options=("--cfg",))
    if options.help:
        print(HELP, end="")
        return 0
    config = compose(options.overrides, extra_dir=options.config_dir, config_name="sft")
    resolved, run = resolve(config, Path.cwd())
    if options.print_config:
        print(OmegaConf.to_yaml(resolved), end="")
        return 0
    num_train = check_inputs(resolved.sft)
    console, folder = Console(), RunFolder(Path(run.dir))
    _prepare(folder, resolved, run)
    console.print(f"run folder {folder.path}, log {folder.log}", highlight=False, soft_wrap=True)
    _train(folder, resolved, run, num_steps(resolved.sft, num_train))
    model = _export(folder, dict(config.data.apply_chat_template_kwargs))
    console.print(f"model folder {model}", highlight=False, soft_wrap=True)
    return 0


def _prepare(folder: RunFolder, config: DictConfig, run: WarmStartRun) -> None:
    try:
        replace_file(folder.config, OmegaConf.to_yaml(config).encode())
        files = [*config.sft.data.train_files, *(config.sft.data.val_files or ())]
        folder.write_manifest(seed=run.seed, data_files=files, model=str(config.sft.model.path))
    except OSError as error:
        raise UserError(f"run.dir: cannot write to {folder.path}: {error.strerror or error}") from None


def _train(folder: RunFolder, config: DictConfig, run: WarmStartRun, total: int) -> None:
    """Raises WarmStartFailed, or KeyboardInterrupt after the processes are gone."""
    log_start = folder.log.stat().st_size if folder.log.exists() else 0
    journal = LossJournal(folder)
    with _process(folder, config, run) as child, TaskProgress() as progress:
        task = progress.add_task("starting verl", total=total)
        status = None
        while status is None:
            status = child.poll()
            for line in journal.new_lines():
                progress.update(task, completed=int(line["step"]), description=_summary(line))
            if status is None:
                time.sleep(POLL_S)
    if status:
        found = error_line(folder.log, start=log_start)
        kind, text = found or ("ended", f"the training process ended with status {status}")
        if kind == UserError.__name__:
            raise UserError(text)
        raise WarmStartFailed(f"{text} (log: {folder.log})")


def _summary(line: dict[str, float]) -> str:
    parts = [
        f"{name} {line[key]:.3f}"
        for key, name in (("train/loss", "loss"), ("val/loss", "validation"))
        if key in line
    ]
    return ", ".join(parts)


@contextmanager
def _process(folder: RunFolder, config: DictConfig, run: WarmStartRun) -> Iterator[subprocess.Popen[bytes]]:
    """One process per GPU, in a session of their own; whatever happens, none is left behind."""
    env = run_environment(folder, run.env)
    env["VERL_FILE_LOGGER_PATH"] = str(folder.path / LossJournal.SOURCE)
    env[COMMAND_PID_VARIABLE] = str(os.getpid())
    launcher = ["-m", "torch.distributed.run", "--standalone"]
    launcher += [f"--nproc-per-node={config.sft.trainer.n_gpus_per_node}"]
    command = [sys.executable, *launcher, "-m", "eduardo.verl_adapter.sft_runner", str(folder.config)]
    with folder.log.open("ab") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=env,
        )
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            yield child
        finally:
            signal.signal(signal.SIGTERM, before)
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(EXIT_GRACE_S)
                except subprocess.TimeoutExpired:
                    child.kill()
            kill_run(env[RUN_ID_VARIABLE])
            child.wait()


def _export(folder: RunFolder, template_kwargs: dict[str, object]) -> Path:
    """The newest checkpoint as RUN/model: complete or absent."""
    step = (folder.checkpoints / "latest_checkpointed_iteration.txt").read_text(encoding="utf-8").strip()
    target, draft = folder.path / "model", folder.path / f".model.{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        write_model(folder.checkpoints / f"global_step_{step}", draft, template_kwargs=template_kwargs)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except OSError as error:
        raise UserError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
