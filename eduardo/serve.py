"""`python -m eduardo.serve`: serve student, judge or tutor with vLLM, where training finds them by itself."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console

from eduardo.cluster import node_address, requeue
from eduardo.config import load_settings
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.llm.key import checked_key
from eduardo.merge import model_folder
from eduardo.serving.address import own_address
from eduardo.serving.endpoint_file import published
from eduardo.serving.roles import RoleProcess, running_roles
from eduardo.serving.settings import ROLES, Role, ServeSettings
from eduardo.serving.usage import has_answered
from eduardo.serving.vllm_server import ServerFailed

_POLL_S = 1.0
_SHOW_EVERY_S = 15.0
_ASK_USAGE_EVERY_S = 30.0
_OVERRIDE = re.compile(r"[+~]{0,2}[\w.@]+=")  # a path with `=` has a slash before it, or ./ does
_EPILOG = """\
examples:
  python -m eduardo.serve student                                 # 4 GPUs, the recipe's student
  python -m eduardo.serve student judge                           # both on one machine with 8 GPUs
  python -m eduardo.serve judge servers.judge.data_parallel=1     # on 2 GPUs
  python -m eduardo.serve tutor runs/ours                         # a run's newest checkpoint, merged first
  python -m eduardo.serve tutor models/ours servers.tutor.port=8000
  python -m eduardo.serve student judge servers=cpu               # SmolLM2 on a machine without GPUs
  sbatch scripts/serve.sbatch student                             # the same as a Slurm job

When a server answers, a file in endpoints_dir (runs/endpoints, or $EDUARDO_ENDPOINTS) says where, with a private file
that holds its key: `python -m eduardo.train classroom=vllm` on any node that sees the folder finds it. Ctrl-C, SIGTERM
or scancel ends the servers and removes the files. SIGUSR1, which scripts/serve.sbatch gets before its job's time limit,
does the same and puts the job back into the queue, unless nobody has asked its servers anything. Knobs:
configs/serve.yaml and configs/servers/.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.serve",
        usage="python -m eduardo.serve ROLE [ROLE ...] [CHECKPOINT] [KEY=VALUE ...]",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("arguments", nargs="+", metavar="ROLE", help=", ".join(ROLES))
    roles, checkpoint, overrides = _sort(parser.parse_args(argv).arguments)
    flags = {} if checkpoint is None else {f"servers.{roles[0]}.model": model_folder(checkpoint)}
    return serve(roles, serve_settings(overrides, flags), Console(stderr=True))


def serve_settings(overrides: Sequence[str], flags: Mapping[str, object] | None = None) -> ServeSettings:
    """configs/serve.yaml with overrides, then `flags` (key → value). Raises UserError with the key that is wrong."""
    return load_settings(
        ServeSettings, overrides, config_name="serve", allow_missing=False, flags=flags or {}
    )


def serve(roles: Sequence[Role], settings: ServeSettings, console: Console) -> int:
    """Serve until a signal comes: then 128 + its number. Raises EduardoError when a server does not come up or dies.

    SIGUSR1 in a Slurm job also requeues it, unless nobody has asked its servers anything.
    """
    endpoints_dir = Path(settings.endpoints_dir)
    host = settings.advertised_host or own_address(slurm_address())
    watch = _Watch()
    try:
        with (
            _stopped_by_signals(),
            running_roles(
                roles,
                settings.servers,
                bind_host=settings.bind_host,
                key_dir=endpoints_dir,
                log_dir=Path(settings.log_dir),
                api_key=_given_key(settings),
                on_wait=_Waiting(console, settings),
            ) as running,
            ExitStack() as files,
        ):
            for process in running:
                file = files.enter_context(published(endpoints_dir, process.endpoint(host)))
                _say(
                    console,
                    f"{process.role}: {process.served_name} at http://{host}:{process.endpoint(host).port}/v1, "
                    f"published in {file}, log {process.server.log_file}",
                )
            watch.until_one_ends(running)
    except _Stopped as stop:
        _say(console, f"{signal.Signals(stop.number).name}: servers stopped")
        if stop.number == signal.SIGUSR1:
            _requeue(console, was_useful=watch.saw_answers)
        return 128 + stop.number
    return 0


class _Stopped(BaseException):
    """A signal asked for the end. Not an Exception, so that nothing on the way takes it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Waiting:
    """Says now and then what is waited for."""

    def __init__(self, console: Console, settings: ServeSettings) -> None:
        self._console, self._limit_s = console, settings.servers.start_timeout_s
        self._next_s = 0.0

    def __call__(self, role: Role, elapsed_s: float) -> None:
        if elapsed_s >= self._next_s:
            self._next_s = elapsed_s + _SHOW_EVERY_S
            _say(self._console, f"{role}: loading, {elapsed_s:.0f} s (limit {self._limit_s:g} s)")


class _Watch:
    """Looks after servers that answer. `saw_answers`: one of them has answered somebody."""

    def __init__(self) -> None:
        self.saw_answers = False
        self._next_look_s = 0.0

    def until_one_ends(self, running: Sequence[RoleProcess]) -> None:
        """Raises ServerFailed then."""
        while True:
            for process in running:
                if not process.server.is_alive:
                    raise ServerFailed(
                        f"the {process.role} server ended: {process.server.last_words()}; "
                        f"see {process.server.log_file}"
                    )
            if not self.saw_answers and time.monotonic() >= self._next_look_s:
                self._next_look_s = time.monotonic() + _ASK_USAGE_EVERY_S
                self.saw_answers = any(
                    has_answered(p.server.base_url, p.key_file.read_text().strip()) for p in running
                )
            time.sleep(_POLL_S)


def slurm_address() -> str | None:
    """Where Slurm itself reaches this node: better than a guess among several networks."""
    name = os.environ.get("SLURMD_NODENAME")
    if name is None or shutil.which("scontrol") is None:
        return None
    return node_address(name)


def _requeue(console: Console, *, was_useful: bool) -> None:
    """A server that nobody asks would otherwise hold its GPUs for ever."""
    job_id = os.environ.get("SLURM_JOB_ID")
    if job_id is None:
        return
    if not was_useful:
        _say(console, f"job {job_id} is not requeued: nobody has asked its servers anything")
        return
    _say(console, f"job {job_id} goes back into the queue and serves again")
    requeue(job_id)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGUSR1 raise _Stopped once; further ones do not disturb the tidying up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

    def stop(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise _Stopped(number)

    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _sort(arguments: Sequence[str]) -> tuple[list[Role], str | None, list[str]]:
    roles: list[Role] = []
    others: list[str] = []
    overrides: list[str] = []
    for argument in arguments:
        if argument in ROLES and not others:
            roles += [role for role in ROLES if role == argument]
        else:
            (overrides if _OVERRIDE.match(argument) else others).append(argument)
    if not roles or len(set(roles)) < len(roles):
        raise UserError(f"name each server once, first of all: {', '.join(ROLES)} (--help has examples)")
    if len(others) > 1 or (others and len(roles) > 1):
        raise UserError(
            f"cannot read {others[-1]!r}: one CHECKPOINT goes with one role, the rest is KEY=VALUE"
        )
    return roles, others[0] if others else None, overrides


def _given_key(settings: ServeSettings) -> str | None:
    variable = settings.api_key_env
    if variable is None:
        return None
    return checked_key(os.environ.get(variable, ""), f"environment variable {variable} (api_key_env)")


def _say(console: Console, message: str) -> None:
    console.print(message, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(run_main(main))
