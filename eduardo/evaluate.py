"""`python -m eduardo.evaluate TEST`: held-out evaluation of one or several tutors."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys

from rich.console import Console

from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.evaluation.environment.command import evaluate
from eduardo.evaluation.settings import evaluation_settings
from eduardo.evaluation.tutors import Control, TutorSpec, check_names, control_spec, parse_tutor
from eduardo.merge import model_folder

_EPILOG = """\
examples:
  # a checkpoint before and after training, in the embedded classroom
  python -m eduardo.evaluate environment --tutor before=models/tiny --tutor after=runs/demo

  # the same between two scripted tutors and the two controls: what the figures mean
  python -m eduardo.evaluate environment --tutor before=models/tiny --tutor after=runs/demo \\
      --tutor guide --tutor teller --control untaught --control disclosed

  # a model behind an API, two dialogues per problem
  python -m eduardo.evaluate environment --tutor api=https://host/v1#some-model num_samples=2

  # real student and judge, caps loosened as in the published evaluation
  python -m eduardo.evaluate environment --tutor ours=checkpoints/ours recipe=paper classroom=vllm serving=gpu \\
      data_file=data/published/test.parquet recipe.dialogue.tutor_turn_tokens=4192 \\
      recipe.dialogue.response_tokens=16384

A tutor is NAME=TARGET: a model folder or a run folder (its newest checkpoint), served by vLLM; URL#MODEL; or
probe:NAME. The name of a probe alone does as well. Every later tutor is compared with the first one.
Every other argument overrides a key of configs/evaluate.yaml. Run it again to continue where it stopped:
dialogues and scores that are in out_dir are kept.
"""


# Other tests: name → module with `main(argv, read_tutor)`. Each explains itself with --help.
_OTHER_TESTS = {
    "education_dialogue": "eduardo.evaluation.lessons.command",
    "middle_turn": "eduardo.evaluation.middle_turn.command",
    "students": "eduardo.evaluation.students.command",
    "external": "eduardo.evaluation.external.command",
}


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    if argv and argv[0] in _OTHER_TESTS:
        status: int = importlib.import_module(_OTHER_TESTS[argv[0]]).main(argv[1:], read_tutor)
        return status
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.evaluate",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "test",
        choices=["environment", *_OTHER_TESTS],
        help="environment: dialogues with the student, then the post-test; the others have a --help of their own",
    )
    parser.add_argument("--tutor", action="append", default=[], metavar="NAME=TARGET", help="may be repeated")
    parser.add_argument(
        "--control",
        action="append",
        default=[],
        choices=list(Control),
        help="untaught: no tutoring at all; disclosed: the student itself writes the whole solution",
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/evaluate.yaml")
    arguments = parser.parse_intermixed_args(argv)
    specs = [read_tutor(text) for text in arguments.tutor]
    specs += [control_spec(name) for name in arguments.control]
    if not specs:
        raise UserError("nobody to evaluate: name a --tutor NAME=TARGET or a --control")
    check_names(specs)
    evaluate(specs, evaluation_settings(arguments.overrides), Console())
    return 0


def read_tutor(text: str) -> TutorSpec:
    """`NAME=TARGET`, where a run folder stands for its newest checkpoint. Raises UserError."""
    name, _, target = text.partition("=")
    return parse_tutor(f"{name}={model_folder(target)}" if target else text)


if __name__ == "__main__":
    raise SystemExit(run_main(main))
