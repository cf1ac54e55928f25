"""The checks that need no server: data, model, memory, disk, clock, ports, versions, and verl's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from omegaconf import DictConfig

from eduardo.config import TrainSettings
from eduardo.preflight import data, machine, memory, model
from eduardo.preflight.classroom import skip_classroom
from eduardo.preflight.findings import Check, Finding, Subject, run_check
from eduardo.preflight.own_process import OwnProcess

Progress = Callable[[str], None]

# What a run cannot do without; a training makes sure of it even where the pre-flight is off.
REQUIRED: tuple[tuple[str, Check], ...] = (
    ("training data", data.check_training_data),
    ("validation data", data.check_validation_data),
    ("model", model.check_model),
)
FURTHER: tuple[tuple[str, Check], ...] = (
    ("leak between splits", data.check_leak),
    ("memory", memory.check_memory),
    ("disk", machine.check_disk),
    ("clock of the disk", machine.check_disk_clock),
    ("ports", machine.check_ports),
    ("packages", machine.check_packages),
    ("driver", machine.check_driver),
)


def check_locally(config: DictConfig, settings: TrainSettings, *, dry_run: bool) -> list[Finding]:
    """All of them. verl and the tokenizer are checked in a process of their own, at the same time as the rest.

    `config` is resolved, with absolute paths. A dry run needs no GPU, no weights and no data: what cannot be checked
    without them is skipped.
    """
    subject = Subject(config, settings, dry_run)
    with ExitStack() as stack:
        heavy = stack.enter_context(OwnProcess(subject))
        findings = _run([*REQUIRED, *FURTHER], subject)
        return [*findings, *heavy.findings()]


def check_dry(config: DictConfig, settings: TrainSettings) -> list[Finding]:
    """What can be said without GPU, servers, data and weights."""
    return [*check_locally(config, settings, dry_run=True), *skip_classroom("dry run")]


def require_inputs(config: DictConfig, settings: TrainSettings) -> None:
    """Only what a run cannot do without. Raises UserError."""
    for _, check in REQUIRED:
        check(Subject(config, settings, dry_run=False))


def _run(checks: Sequence[tuple[str, Check]], subject: Subject) -> list[Finding]:
    return [run_check(name, check, subject) for name, check in checks]
