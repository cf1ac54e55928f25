"""`python -m eduardo.train`: check everything in seconds, then train."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from eduardo.config import compose, validate
from eduardo.config.paths import make_absolute
from eduardo.errors import UserError
from eduardo.train.help import HELP
from eduardo.train.inputs import check_inputs
from eduardo.train.session import run_session


def main(argv: list[str] | None = None) -> int:
    """Run one training. Returns 0, or 128 + N when signal N stopped it; raises EduardoError otherwise."""
    options = _parse(sys.argv[1:] if argv is None else argv)
    if options.help:
        print(HELP, end="")
        return 0
    config = compose(options.overrides, extra_dir=options.config_dir)
    validate(config)
    if options.print_config:
        print(OmegaConf.to_yaml(config), end="")
        return 0
    make_absolute(config, Path.cwd())
    check_inputs(config)
    return run_session(config, validate(config))


@dataclass(frozen=True, slots=True)
class _Options:
    overrides: list[str]
    help: bool = False
    print_config: bool = False
    config_dir: Path | None = None


def _parse(arguments: list[str]) -> _Options:
    overrides: list[str] = []
    print_config, config_dir = False, None
    rest = iter(arguments)
    for argument in rest:
        name, _, value = argument.partition("=")
        if argument in ("-h", "--help"):
            return _Options([], help=True)
        if name in ("--cfg", "-c"):
            if (value or next(rest, "")) != "job":
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
    return _Options(overrides, print_config=print_config, config_dir=config_dir)
