"""The pre-flight as the first thing that a training does; its table comes once, after the servers were asked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from omegaconf import DictConfig

from eduardo.config import TrainSettings
from eduardo.preflight import (
    Finding,
    check_classroom,
    check_dry,
    check_locally,
    failure_of,
    print_findings,
    require_endpoints,
    require_inputs,
)


@dataclass(slots=True)
class StartCheck:
    """With `preflight.enabled=false` only what a run cannot do without is checked, and nothing is printed."""

    config: DictConfig
    settings: TrainSettings
    _findings: list[Finding] = field(default_factory=list)
    _elapsed_s: float = 0.0

    def dry(self) -> bool:
        """Prints what can be said without GPU, servers, data and weights. False when something would fail."""
        if not self.settings.preflight.enabled:
            return True
        started = time.monotonic()
        findings = check_dry(self.config, self.settings)
        print_findings(findings, elapsed_s=time.monotonic() - started)
        return failure_of(findings) is None

    def before_servers(self) -> None:
        """Raises EduardoError that says what to do."""
        if not self.settings.preflight.enabled:
            require_inputs(self.config, self.settings)
            return
        started = time.monotonic()
        self._findings = check_locally(self.config, self.settings, dry_run=False)
        self._elapsed_s = time.monotonic() - started
        if failure_of(self._findings):
            self._conclude()

    def with_servers(self, settings: TrainSettings) -> None:
        """`settings` have the addresses of student and judge. Raises EduardoError that says what to do."""
        wait_s = settings.run.endpoint_wait_s
        if not settings.preflight.enabled:
            require_endpoints(settings, wait_s=wait_s)
            return
        started = time.monotonic()
        self._findings += check_classroom(self.config, settings, wait_s=wait_s)
        self._elapsed_s += time.monotonic() - started
        self._conclude()

    def _conclude(self) -> None:
        print_findings(self._findings, elapsed_s=self._elapsed_s)
        error = failure_of(self._findings)
        if error is not None:
            raise error
