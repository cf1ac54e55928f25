"""`python -m eduardo.train`: check everything, start what is needed, show how verl trains, end cleanly."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from eduardo.config import TrainSettings, compose, validate
from eduardo.config.steps import num_steps
from eduardo.console import FAILURE
from eduardo.errors import EduardoError, UserError
from eduardo.train.curves import draw_curves
from eduardo.train.failure import error_line, read_status
from eduardo.train.help import HELP
from eduardo.train.inputs import check_inputs
from eduardo.train.journal import JournalReader, read_journal
from eduardo.train.process import TrainingProcess
from eduardo.train.progress import RunProgress
from eduardo.train.run_folder import RunFolder
from eduardo.train.services import check_endpoints, classroom
from eduardo.verl_adapter.stop import clear_stop, request_stop

POLL_S = 0.5
SIGNAL_STATUS = 128  # plus the signal's number, as shells report it


class TrainingFailed(EduardoError):
    """The training process ended with an error; the message is the line that says why."""


def main(argv: list[str] | None = None) -> int:
    """Run one training. Returns 0, or 128 + N when signal N stopped it; raises EduardoError otherwise."""
    options = _parse(sys.argv[1:] if argv is None else argv)
    if options.help:
        print(HELP)
        return 0
    config = compose(options.overrides, extra_dir=options.config_dir)
    settings = validate(config)
    if options.print_config:
        print(OmegaConf.to_yaml(config), end="")
        return 0
    check_inputs(config)
    return _train(config, settings)


def _train(config: DictConfig, settings: TrainSettings) -> int:
    console = Console(stderr=False)
    folder = RunFolder(Path(settings.run.dir))
    with classroom(config, settings, folder.path) as settings:
        check_endpoints(settings.classroom, settings.recipe, wait_s=0)
        folder.prepare(config, settings)
        clear_stop(folder.path)
        console.print(f"run folder {folder.path}, log {folder.log}", highlight=False, soft_wrap=True)
        stopping = _Stopping(folder.path)
        process = TrainingProcess(folder, settings.run.env)
        try:
            with (
                _signals(stopping),
                RunProgress(console, total_steps=num_steps(config), first_step=0) as progress,
            ):
                status = _watch(process, folder, progress, stopping)
        finally:
            process.close()
    draw_curves(read_journal(folder.metrics), folder.path / "curves.png")
    return _result(folder, status, stopping, console)


def _watch(process: TrainingProcess, folder: RunFolder, progress: RunProgress, stopping: _Stopping) -> int:
    journal = JournalReader(folder.metrics, from_end=True)
    while True:
        status = process.wait(POLL_S)
        for line in journal.new_lines():
            progress.show(line)
        for message in stopping.take_messages():
            progress.say(message)
        if status is not None or stopping.now:
            return FAILURE if status is None else status


def _result(folder: RunFolder, status: int, stopping: _Stopping, console: Console) -> int:
    ended = read_status(folder.status)
    if stopping.signal_number is not None and (stopping.now or (ended and not ended["failed"])):
        how = (
            "killed"
            if stopping.now
            else f"stopped after step {ended['step'] if ended else '?'}, checkpoint saved"
        )
        console.print(f"{how}; the same command continues it", highlight=False)
        return SIGNAL_STATUS + stopping.signal_number
    if ended and ended["failed"]:
        raise TrainingFailed(f"{ended['reason']} (log: {folder.log})")
    if status == 0 and ended:
        console.print(f"finished after step {ended['step']}: {folder.path}", highlight=False, soft_wrap=True)
        return 0
    raise _failure(folder, status)


def _failure(folder: RunFolder, status: int) -> EduardoError:
    found = error_line(folder.log)
    if found is None:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        more = "; was memory short?" if status == -signal.SIGKILL else ""
        return TrainingFailed(f"the training process {how}{more} (log: {folder.log})")
    kind, text = found
    if kind == UserError.__name__:
        return UserError(text)
    return TrainingFailed(f"{kind}: {text} (log: {folder.log})")


@dataclass(slots=True)
class _Stopping:
    """First signal: save and end. Second: end at once."""

    run_dir: Path
    signal_number: int | None = None
    now: bool = False
    _messages: list[str] = field(default_factory=list)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number is not None:
            self.now = True
            return
        self.signal_number = number
        request_stop(self.run_dir, f"{signal.Signals(number).name} received")
        self._messages.append("stopping: the checkpoint is saved first; once more to end at once")

    def take_messages(self) -> list[str]:
        messages, self._messages = self._messages, []
        return messages


@contextmanager
def _signals(stopping: _Stopping) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stopping.on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class _Options:
    overrides: list[str]
    help: bool
    print_config: bool
    config_dir: Path | None


def _parse(arguments: list[str]) -> _Options:
    overrides: list[str] = []
    print_config, config_dir = False, None
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-h", "--help"):
            return _Options([], True, False, None)
        name, _, value = argument.partition("=")
        if name in ("--cfg", "-c"):
            if (value or next(rest, "")) not in ("job", "all"):
                raise UserError("--cfg takes 'job': it prints the run's configuration and ends")
            print_config = True
        elif name == "--config-dir":
            config_dir = Path(value or next(rest, "")).resolve()
            if not config_dir.is_dir():
                raise UserError(f"--config-dir: {config_dir} is not a folder")
        elif argument.startswith("-"):
            raise UserError(f"unknown option {argument}; --help shows what there is")
        else:
            overrides.append(argument)
    return _Options(overrides, False, print_config, config_dir)
