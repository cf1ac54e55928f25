"""The command line of entry points that take a run's configuration: KEY=VALUE, and a few options."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from eduardo.errors import UserError

DRY_RUN = "--dry-run"


@dataclass(frozen=True, slots=True)
class RunArguments:
    overrides: list[str]
    help: bool = False
    print_config: bool = False
    dry_run: bool = False
    config_dir: Path | None = None


def parse_run_arguments(
    arguments: Sequence[str], *, options: Collection[str] = ("--cfg", DRY_RUN)
) -> RunArguments:
    """`options` are those beside --help and --config-dir that the entry point has. Raises UserError."""
    overrides: list[str] = []
    print_config, dry_run, config_dir = False, False, None
    rest = iter(arguments)
    for argument in rest:
        name, _, value = argument.partition("=")
        name = "--cfg" if name == "-c" else name
        if argument in ("-h", "--help"):
            return RunArguments([], help=True)
        if name == "--cfg" and name in options:
            if (value or next(rest, "")) != "job":
                raise UserError("--cfg takes 'job': it prints the run's configuration and ends")
            print_config = True
        elif argument == DRY_RUN and argument in options:
            dry_run = True
        elif name == "--config-dir":
            config_dir = Path(value or next(rest, "")).resolve()
            if not config_dir.is_dir():
                raise UserError(f"--config-dir: {config_dir} is not a folder")
        elif argument.startswith("-"):
            raise UserError(f"unknown option {argument}; --help shows what there is")
        else:
            overrides.append(argument)
    return RunArguments(overrides, print_config=print_config, dry_run=dry_run, config_dir=config_dir)
