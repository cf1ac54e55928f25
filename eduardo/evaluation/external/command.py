"""`python -m eduardo.evaluate external`: suites of others, run with their own code, in one report with ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from eduardo.config import load_settings
from eduardo.errors import EduardoError, UserError
from eduardo.evaluation.cells import shown
from eduardo.evaluation.external.mathtutorbench import MathTutorBench, Result, Server, read_results
from eduardo.evaluation.external.settings import ExternalSettings
from eduardo.evaluation.external.tutormoments import MomentsRun, read_runs
from eduardo.evaluation.parts import Part, PartTable
from eduardo.evaluation.publish import publish
from eduardo.evaluation.tutors import TutorKind, TutorSpec, served_checkpoint

PART = "external"
_EPILOG = """\
examples:
  # all tasks of MathTutorBench with a checkpoint that is served for it
  python -m eduardo.evaluate external --tutor ours=runs/demo --mathtutorbench ~/mathtutorbench serving=gpu \\
      mathtutorbench.python=~/mathtutorbench/.venv/bin/python

  # one task with a model that is served already, added to the report of an evaluation
  python -m eduardo.evaluate external --tutor api=http://host:8000/v1#tutor --mathtutorbench ~/mathtutorbench \\
      "mathtutorbench.tasks=[mistake_location.yaml]" out_dir=runs/evaluation

  # what `tutormoments run` has written
  python -m eduardo.evaluate external --tutormoments ~/tutormoments/results

MathTutorBench sends no key to a base URL, so the endpoint must want none. Tasks that are done are not run again.
Every other argument overrides a key of configs/external.yaml.
"""


def main(argv: Sequence[str], read_tutor: Callable[[str], TutorSpec]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.evaluate external",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tutor", action="append", default=[], metavar="NAME=TARGET", help="may be repeated")
    parser.add_argument("--mathtutorbench", type=Path, metavar="CHECKOUT", help="run it from this checkout")
    parser.add_argument(
        "--tutormoments",
        type=Path,
        action="append",
        default=[],
        metavar="RESULTS",
        help="collect these results",
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/external.yaml")
    arguments = parser.parse_intermixed_args(argv)
    specs = [read_tutor(text) for text in arguments.tutor]
    _check(specs, arguments.mathtutorbench, arguments.tutormoments)
    settings = load_settings(
        ExternalSettings, arguments.overrides, config_name="external", allow_missing=False
    )
    moments = [run for folder in arguments.tutormoments for run in read_runs(folder.expanduser())]
    results: dict[str, list[Result]] = {}
    faults: list[str] = []
    if arguments.mathtutorbench is not None:
        suite = MathTutorBench(arguments.mathtutorbench.expanduser(), settings.mathtutorbench)
        for spec in specs:
            results[spec.name] = _run_suite(suite, spec, settings, faults)
    publish(Path(settings.out_dir), PART, external_part(results, moments, faults), Console())
    if faults:
        raise EduardoError(f"{len(faults)} tasks failed: {'; '.join(faults)}")
    return 0


def external_part(
    results: Mapping[str, Sequence[Result]], moments: Sequence[MomentsRun], faults: Sequence[str]
) -> Part:
    notes = ["Measured by the suites' own code; nothing was computed again here."]
    notes += [f"**Failed**: {fault}." for fault in faults]
    tables = []
    if results:
        rows = [
            [name, one.task, one.metric, shown(one.estimate)]
            for name, found in results.items()
            for one in found
        ]
        head = ["tutor", "task", "metric", "value [95 % interval where they give a number of examples]"]
        tables.append(PartTable(title="MathTutorBench (arXiv 2502.18940)", head=head, rows=rows))
    if moments:
        metrics = list(moments[0].metrics)
        moment_rows = [
            [one.run, one.tutor, one.mode, str(one.num_trials), *(shown(one.metrics[m]) for m in metrics)]
            for one in moments
        ]
        tables.append(
            PartTable(
                title="TutorMoments", head=["run", "tutor", "mode", "trials", *metrics], rows=moment_rows
            )
        )
    data: dict[str, object] = {
        "mathtutorbench": {name: [asdict(one) for one in found] for name, found in results.items()},
        "tutormoments": [asdict(one) for one in moments],
        "failed": list(faults),
    }
    return Part(title="External suites", notes=notes, tables=tables, data=data)


def _run_suite(
    suite: MathTutorBench, spec: TutorSpec, settings: ExternalSettings, faults: list[str]
) -> list[Result]:
    folder = Path(settings.out_dir) / spec.name / "mathtutorbench"
    found: list[Result] = []
    with _served(spec, settings, folder) as server:
        for task in suite.tasks:
            fault = suite.run(task, server, folder / Path(task).stem)
            if fault is not None:
                faults.append(f"{spec.name}, {fault}")
            found += read_results(Path(task).stem, folder / Path(task).stem)
    return found


@contextmanager
def _served(spec: TutorSpec, settings: ExternalSettings, log_dir: Path) -> Iterator[Server]:
    if spec.kind is TutorKind.ENDPOINT:
        yield Server(base_url=spec.target, model=spec.model)
        return
    with served_checkpoint(spec, settings.serving, log_dir) as server:
        yield Server(base_url=server.base_url, model=spec.name)


def _check(specs: Sequence[TutorSpec], checkout: Path | None, moments: Sequence[Path]) -> None:
    if checkout is None and not moments:
        raise UserError("nothing to do: name --mathtutorbench CHECKOUT or --tutormoments RESULTS")
    if (checkout is None) != (not specs):
        raise UserError("--mathtutorbench and --tutor go together: it is run for every tutor")
    for spec in specs:
        if spec.kind not in (TutorKind.CHECKPOINT, TutorKind.ENDPOINT):
            raise UserError(
                f"--tutor {spec.name}: a {spec.kind.value} cannot be served; name a folder or URL#MODEL"
            )
