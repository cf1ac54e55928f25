"""`python -m eduardo.preflight`: the checks of a training without the training."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from omegaconf import DictConfig

from eduardo.classroom.launch import running_classroom
from eduardo.config import TrainSettings, compose, validate
from eduardo.config.arguments import DRY_RUN, parse_run_arguments
from eduardo.config.paths import make_absolute
from eduardo.console import FAILURE
from eduardo.errors import EduardoError
from eduardo.preflight.classroom import check_classroom, skip_classroom
from eduardo.preflight.findings import Finding, failed, failure_of
from eduardo.preflight.help import HELP
from eduardo.preflight.local import check_dry, check_locally
from eduardo.preflight.table import print_findings


def main(argv: list[str] | None = None) -> int:
    """0 when nothing failed, else 1. Raises UserError when there is no configuration to check."""
    options = parse_run_arguments(sys.argv[1:] if argv is None else argv, options=(DRY_RUN,))
    if options.help:
        print(HELP, end="")
        return 0
    started = time.monotonic()
    config = compose(options.overrides, extra_dir=options.config_dir)
    validate(config)
    make_absolute(config, Path.cwd())
    settings = validate(config)
    if options.dry_run:
        findings = check_dry(config, settings)
    else:
        findings = check_locally(config, settings, dry_run=False)
        findings += _classroom(config, settings, findings)
    print_findings(findings, elapsed_s=time.monotonic() - started)
    return FAILURE if failure_of(findings) else 0


def _classroom(config: DictConfig, settings: TrainSettings, findings: list[Finding]) -> list[Finding]:
    kind = settings.classroom.server.kind
    if kind not in ("none", "simulated"):
        return skip_classroom(
            f"training starts these servers itself (classroom.server.kind={kind}) and checks them then"
        )
    if failure_of(findings):
        return skip_classroom("what failed above comes first")
    with tempfile.TemporaryDirectory(prefix="eduardo-preflight-") as folder:
        try:
            with running_classroom(
                settings.classroom, log_dir=Path(folder), wait_s=settings.run.endpoint_wait_s
            ) as answering:
                here = settings.model_copy(update={"classroom": answering})
                return check_classroom(config, here, wait_s=settings.run.endpoint_wait_s)
        except EduardoError as error:
            return [failed("servers", error)]
