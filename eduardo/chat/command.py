"""`python -m eduardo.chat`: be the student of a tutor, or the tutor of the configured student."""

from __future__ import annotations

import argparse
import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eduardo.chat.session import Chat, hold
from eduardo.chat.terminal import Quit
from eduardo.classroom.launch import running_classroom
from eduardo.classroom.probes import PROBES
from eduardo.config import load_settings
from eduardo.errors import UserError
from eduardo.evaluate import read_tutor
from eduardo.evaluation.environment.tasks import Task, read_tasks
from eduardo.evaluation.settings import EvaluationSettings
from eduardo.evaluation.tutors import (
    TutorFactory,
    TutorKind,
    TutorSpec,
    checkpoint_factory,
    endpoint_factory,
    running_tutor,
)
from eduardo.serving.endpoint_file import find, folder_of, locate

SERVED = "served"
_EPILOG = """\
examples:
  python -m eduardo.chat --tutor guide                     # a scripted tutor of the embedded classroom
  python -m eduardo.chat --tutor runs/demo                 # a run's newest checkpoint, served by vLLM meanwhile
  python -m eduardo.chat                                   # the tutor that `python -m eduardo.serve tutor` serves
  python -m eduardo.chat --tutor https://host/v1#model classroom=vllm data_file=data/published/test.parquet
  python -m eduardo.chat --as tutor --problem 7            # teach the configured student

Type what you want to say; /help lists the commands, /view shows what tutor, student, masked student and judge see.
At the end come the judge's verdicts, the post-test and the parts of the reward, by the scorer of training:
  as tutor     everything as in training: the configured student takes the masked post-test
  as student   you take the post-test, once, and nobody hides from you what the tutor said; the gain compares your
               attempt with the configured student's rate without tutoring, so it shows how the reward is made, not
               what you learned. A rejected tutor gets no post-test, as in training.
Every other argument overrides a key of configs/chat.yaml.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.chat",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--as", dest="role", choices=["student", "tutor"], default="student", help="who you are"
    )
    parser.add_argument(
        "--tutor",
        default=SERVED,
        metavar="TARGET",
        help=f"model or run folder, URL#MODEL, a probe ({', '.join(sorted(PROBES))}), or '{SERVED}' (default)",
    )
    parser.add_argument(
        "--problem", type=int, metavar="N", help="which problem of data_file; any unless given"
    )
    parser.add_argument(
        "--save", type=Path, metavar="FILE.jsonl", help="append the scored dialogue to this file"
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/chat.yaml")
    arguments = parser.parse_intermixed_args(argv)
    settings = load_settings(EvaluationSettings, arguments.overrides, config_name="chat", allow_missing=False)
    number, task = _choose(read_tasks(settings), arguments.problem)
    is_student = arguments.role == "student"
    print(f"problem {number}, id {task.pair.id}", flush=True)
    with (
        _tutor(arguments.tutor if is_student else None, settings) as make_tutor,
        running_classroom(
            settings.classroom,
            log_dir=Path(settings.out_dir),
            roles=["judge"] if is_student else ["student", "judge"],
        ) as classroom,
    ):
        chat = Chat(
            task=task,
            settings=settings,
            classroom=classroom,
            make_tutor=make_tutor,
            seed=task.seed(settings.seed),
            save_to=arguments.save,
        )
        try:
            asyncio.run(hold(chat))
        except Quit:
            print("\nleft; nothing was scored")
    return 0


@contextmanager
def _tutor(target: str | None, settings: EvaluationSettings) -> Iterator[TutorFactory | None]:
    if target is None:
        yield None
    elif target == SERVED:
        yield _served_tutor(settings)
    else:
        spec = read_tutor(target if target in PROBES else f"tutor={target}")
        with running_tutor(spec, settings, Path(settings.out_dir)) as make_tutor:
            yield make_tutor


def _served_tutor(settings: EvaluationSettings) -> TutorFactory:
    """The published tutor; over its own tokens where its model folder is at hand, as in training."""
    endpoint = find(settings.tutor_endpoint, "tutor", config_key="tutor_endpoint")
    found = settings.model_copy(update={"tutor_endpoint": endpoint})
    folder = folder_of(settings.tutor_endpoint)
    source = locate(folder, "tutor", config_key="tutor_endpoint").source if folder else ""
    if source and (Path(source) / "config.json").is_file():
        checkpoint = TutorSpec(name=endpoint.model, kind=TutorKind.CHECKPOINT, target=source)
        return checkpoint_factory(checkpoint, found, endpoint.base_url)
    served = TutorSpec(name=SERVED, kind=TutorKind.ENDPOINT, target=endpoint.base_url, model=endpoint.model)
    return endpoint_factory(served, found)


def _choose(tasks: list[Task], number: int | None) -> tuple[int, Task]:
    if number is None:
        number = secrets.randbelow(len(tasks))
    if not 0 <= number < len(tasks):
        raise UserError(f"--problem {number}: there are problems 0 to {len(tasks) - 1}")
    return number, tasks[number]
