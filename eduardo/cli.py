"""The `eduardo` command: `eduardo NAME ...` is `python -m MODULE ...` for the modules listed here.

Entry points are imported only when they run, so that help costs nothing.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from dataclasses import dataclass

import eduardo
from eduardo.console import run_main
from eduardo.errors import UserError


@dataclass(frozen=True, slots=True)
class Command:
    """A module with `main(argv: list[str] | None = None) -> int`, and its line in the help."""

    module: str
    help: str


COMMANDS = {
    "demo": Command("eduardo.demo", "all of it on two CPU cores: data, warm start, training, evaluation"),
    "train": Command(
        "eduardo.train.__main__", "train a tutor: dialogues, post-test, judge, reward, policy update"
    ),
    "preflight": Command(
        "eduardo.preflight.__main__", "check in seconds whether a training could start here"
    ),
    "plan": Command("eduardo.plan", "estimate memory, requests and hours of a run before it gets a GPU"),
    "sft": Command("eduardo.sft.__main__", "warm start: supervised training on dialogues, before `train`"),
    "merge": Command("eduardo.merge", "turn a training checkpoint into a Hugging Face model folder"),
    "chat": Command("eduardo.chat.__main__", "talk with a tutor yourself, or be the tutor"),
    "serve": Command("eduardo.serve", "serve student, judge or tutor with vLLM, where training finds them"),
    "process_dataset": Command(
        "eduardo.process_dataset", "turn near-transfer pairs into Parquet for training"
    ),
    "create_transfer_dataset": Command(
        "eduardo.create_transfer_dataset", "write and check near-transfer variants of your own problems"
    ),
    "evaluate": Command("eduardo.evaluate", "measure tutors on held-out problems, with intervals"),
    "judge_bench": Command("eduardo.judge_bench.__main__", "measure a judge on labelled transcripts"),
    "exploit_bench": Command("eduardo.exploit_bench.__main__", "measure what cheating tutors would earn"),
    "classroom": Command(
        "eduardo.classroom.__main__", "serve the simulated student and judge; its problems and tutor"
    ),
    "report": Command("eduardo.report", "write one self-contained page of a run or an evaluation"),
    "view": Command("eduardo.view", "read dialogues in a browser, also while training runs"),
    "smollm2": Command("eduardo.classroom.smollm2", "write SmolLM2-135M-Instruct as a model folder"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one sub-command and return its exit status; without a name, or with --help, list them."""
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help", "help"):
        print(_usage())
        return 0
    if name in ("-V", "--version"):
        print(f"eduardo {eduardo.__version__}")
        return 0
    return run_main(importlib.import_module(_find(name).module).main, rest)


def entry_point() -> int:
    """Target of the console script and of `python -m eduardo`."""
    return run_main(main)


def _find(name: str) -> Command:
    command = COMMANDS.get(name.replace("-", "_"))
    if command is None:
        close = difflib.get_close_matches(name.replace("-", "_"), COMMANDS, n=1)
        hint = f"did you mean '{close[0]}'?" if close else "`eduardo --help` lists the commands"
        raise UserError(f"no command '{name}'; {hint}")
    return command


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.help}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: eduardo COMMAND ...",
            "",
            "Train LLM tutors with multi-turn reinforcement learning.",
            "",
            "commands:",
            *lines,
            "",
            "`eduardo COMMAND --help` explains one, and names the `python -m ...` form of it.",
        ]
    )
