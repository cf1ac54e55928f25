"""What a check found, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from omegaconf import DictConfig

from eduardo.config import TrainSettings
from eduardo.errors import EduardoError


class Status(StrEnum):
    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    status: Status
    text: str
    todo: str = ""
    error: EduardoError | None = None  # of a failed check: what training raises


@dataclass(frozen=True, slots=True)
class Subject:
    """The run that is checked. `config` is resolved and its paths are absolute."""

    config: DictConfig
    settings: TrainSettings
    dry_run: bool


class CannotCheck(Exception):
    """The check needs something that is not here; the message says what."""


Check = Callable[[Subject], Finding]


def passed(check: str, text: str) -> Finding:
    return Finding(check, Status.PASS, text)


def warned(check: str, text: str, todo: str) -> Finding:
    return Finding(check, Status.WARN, text, todo)


def skipped(check: str, why: str) -> Finding:
    return Finding(check, Status.SKIPPED, why)


def failed(check: str, error: EduardoError) -> Finding:
    """From a message that says what is wrong and, after its last semicolon or colon, what to do."""
    text, todo = _split(str(error))
    return Finding(check, Status.FAIL, text, todo, error)


def run_check(name: str, check: Check, subject: Subject) -> Finding:
    try:
        return check(subject)
    except CannotCheck as reason:
        return skipped(name, str(reason))
    except EduardoError as error:
        return failed(name, error)


def failure_of(findings: Iterable[Finding]) -> EduardoError | None:
    """The first failure, as training reports it."""
    return next((f.error for f in findings if f.error is not None), None)


def _split(message: str) -> tuple[str, str]:
    for mark in ("; ", ": "):
        text, found, todo = message.rpartition(mark)
        if found:
            return text, todo
    return message, ""
