"""`python -m eduardo.train`: check everything in seconds, then train."""

from __future__ import annotations

import sys
from pathlib import Path

from omegaconf import OmegaConf

from eduardo.config import compose, validate
from eduardo.config.arguments import parse_run_arguments
from eduardo.config.paths import make_absolute
from eduardo.console import FAILURE
from eduardo.train.dry_run import describe
from eduardo.train.help import HELP
from eduardo.train.session import run_session
from eduardo.train.start_check import StartCheck


def main(argv: list[str] | None = None) -> int:
    """Run one training. Returns 0, or 128 + N when signal N stopped it; raises EduardoError otherwise."""
    options = parse_run_arguments(sys.argv[1:] if argv is None else argv)
    if options.help:
        print(HELP, end="")
        return 0
    config = compose(options.overrides, extra_dir=options.config_dir)
    validate(config)
    if options.print_config:
        print(OmegaConf.to_yaml(config), end="")
        return 0
    if options.dry_run:
        print(describe(config, options.overrides, extra_dir=options.config_dir))
    make_absolute(config, Path.cwd())
    settings = validate(config)
    start_check = StartCheck(config, settings)
    if options.dry_run:
        return 0 if start_check.dry() else FAILURE
    start_check.before_servers()
    return run_session(config, settings, start_check)
