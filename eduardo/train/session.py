"""One training from start to end: servers, the training process, progress, signals, and how it came out."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from eduardo.config import TrainSettings
from eduardo.config.steps import num_steps
from eduardo.console import FAILURE
from eduardo.errors import EduardoError, UserError
from eduardo.serving.endpoint_file import folder_of
from eduardo.serving.watch import ServerWatch
from eduardo.train.curves import draw_curves
from eduardo.train.failure import RunStatus, error_line, read_status
from eduardo.train.placement import Placement
from eduardo.train.process import TrainingProcess, run_environment
from eduardo.train.progress import RunProgress
from eduardo.train.requeue import doubt, requeue_at_time_limit, requeue_without_servers, servers_that_left
from eduardo.train.run_folder import RunFolder
from eduardo.train.services import classroom
from eduardo.train.start_check import StartCheck
from eduardo.train.stop_request import StopRequest, stop_signals
from eduardo.verl_adapter.checkpoints import newest_complete
from eduardo.verl_adapter.journal import JournalReader, read_journal
from eduardo.verl_adapter.stop import clear_stop, request_stop

POLL_S = 0.5
SIGNAL_STATUS = 128  # plus the signal's number, as shells report it


class TrainingFailed(EduardoError):
    """The training process ended with an error; the message is the line that says why."""


def run_session(config: DictConfig, settings: TrainSettings, start_check: StartCheck) -> int:
    """0 when the run finished, 128 + N when signal N stopped it. Raises EduardoError when it failed."""
    console = Console()
    folder = RunFolder(Path(settings.run.dir))
    if _is_finished(config, settings, folder):
        console.print(
            f"{folder.path} is finished: name another run.dir, or more steps", highlight=False, soft_wrap=True
        )
        return 0
    placement = Placement(config, settings.cluster)
    servers, wanted = ServerWatch(), settings.classroom
    if why := doubt(wanted=settings.cluster.requeue):
        console.print(f"warning: {why}", highlight=False, soft_wrap=True)
    _say_what_is_awaited(console, settings)
    with classroom(config, settings, folder.path, host=placement.host, watch=servers) as settings:
        start_check.with_servers(settings)
        folder.prepare(config, settings)
        clear_stop(folder.path)
        console.print(f"run folder {folder.path}, log {folder.log}", highlight=False, soft_wrap=True)
        stop = StopRequest(folder)
        run = _Run(config, settings, folder, stop, console, servers)
        first_step = run.first_step
        log_start = folder.log.stat().st_size if folder.log.exists() else 0
        with stop_signals(stop):
            status = run.train(placement)
    draw_curves(read_journal(folder.metrics), folder.path / "curves.png")
    ended = read_status(folder.status)
    if stop.signal_number is not None and not (ended and ended.failed):
        console.print(_how_it_stopped(status, ended), highlight=False)
        if stop.signal_number == signal.SIGUSR1 and settings.cluster.requeue:
            requeue_at_time_limit(console, progress=ended is not None and ended.step > first_step)
        return SIGNAL_STATUS + stop.signal_number
    if status == 0 and ended and not ended.failed:
        console.print(f"finished after step {ended.step}: {folder.path}", highlight=False, soft_wrap=True)
        return 0
    error = _failure(folder, status, ended, log_start)
    left = servers_that_left(wanted, settings.classroom) if ended and ended.failed else []
    if ended and left and settings.cluster.requeue:
        console.print(f"{error}; gone: {' and '.join(left)}", highlight=False, soft_wrap=True)
        limit = settings.cluster.max_requeues_without_step
        requeue_without_servers(console, folder.path, step=ended.step, limit=limit)
        return FAILURE
    raise error


@dataclass(frozen=True, slots=True)
class _Run:
    config: DictConfig
    settings: TrainSettings
    folder: RunFolder
    stop: StopRequest
    console: Console
    servers: ServerWatch

    @property
    def first_step(self) -> int:
        return _first_step(self.folder, self.settings)

    def train(self, placement: Placement) -> int | None:
        """Exit status of the training process; None when it was killed or not even started."""
        env = run_environment(self.folder, self.settings.run.env)
        cluster = placement.ray_cluster(env, self.folder.log)
        if cluster is None:
            return self._watch(env, fault=lambda: None)
        with cluster:
            self.console.print(f"Ray on {', '.join(cluster.nodes)}", highlight=False, soft_wrap=True)
            if not cluster.gather(lambda: self.stop.now):
                return None
            return self._watch({**env, "RAY_ADDRESS": cluster.address}, fault=cluster.fault)

    def _watch(self, env: Mapping[str, str], *, fault: Callable[[], str | None]) -> int | None:
        """Follows the training process to its end. Raises TrainingFailed when there is a `fault` of its nodes."""
        process = TrainingProcess(self.folder, env, temp_root=self.settings.cluster.temp_dir)
        total_steps = num_steps(self.config)
        try:
            with RunProgress(self.console, total_steps=total_steps, first_step=self.first_step) as progress:
                journal = JournalReader(self.folder.metrics, from_end=True)
                while not self.stop.now:
                    status = process.wait(POLL_S)
                    for line in journal.new_lines():
                        progress.show(line)
                    for message in [*self.stop.take_messages(), *self._news_of_servers()]:
                        progress.say(message)
                    if status is not None:
                        return status
                    if self.stop.signal_number is None and (reason := fault()) is not None:
                        raise TrainingFailed(reason)
                return None
        finally:
            process.close(gently=not self.stop.now)

    def _news_of_servers(self) -> list[str]:
        """Once a server of the run's own has ended, dialogues can only be void: save, and end with the reason."""
        death = self.servers.death()
        if death is None or not request_stop(self.folder.path, death, failed=True):
            return []
        return [f"{death}; the checkpoint is saved first"]


def _say_what_is_awaited(console: Console, settings: TrainSettings) -> None:
    wait_s, classroom = settings.run.endpoint_wait_s, settings.classroom
    roles = [role for role in ("student", "judge") if folder_of(getattr(classroom, role))]
    if roles and wait_s > 0:
        console.print(
            f"looking for {' and '.join(roles)}, at most {wait_s:g} s (run.endpoint_wait_s)", highlight=False
        )


def _is_finished(config: DictConfig, settings: TrainSettings, folder: RunFolder) -> bool:
    ended = read_status(folder.status)
    cleanly = ended is not None and ended.reason is None and not ended.failed
    return cleanly and _first_step(folder, settings) >= num_steps(config)


def _first_step(folder: RunFolder, settings: TrainSettings) -> int:
    newest = newest_complete(folder.checkpoints, report=lambda _: None)
    return newest.step if newest and settings.run.resume == "auto" else 0


def _how_it_stopped(status: int | None, ended: RunStatus | None) -> str:
    if status == 0 and ended and ended.reason:
        return f"stopped after step {ended.step}, checkpoint saved; the same command continues it"
    return "ended at once; the same command continues from the last checkpoint"


def _failure(folder: RunFolder, status: int | None, ended: RunStatus | None, log_start: int) -> EduardoError:
    if ended and ended.failed:
        return TrainingFailed(f"{ended.reason} (log: {folder.log})")
    found = error_line(folder.log, start=log_start)
    if found is not None:
        kind, text = found
        is_input = kind == UserError.__name__
        return UserError(text) if is_input else TrainingFailed(f"{kind}: {text} (log: {folder.log})")
    if status is not None and status < 0:
        why = "; was memory short?" if -status == signal.SIGKILL else ""
        return TrainingFailed(
            f"the training process was killed by {signal.Signals(-status).name}{why} (log: {folder.log})"
        )
    return TrainingFailed(f"the training process ended with status {status} (log: {folder.log})")
