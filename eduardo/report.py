"""`python -m eduardo.report`: one self-contained page of a run or an evaluation, to read offline or pass on."""

from __future__ import annotations

import argparse
from pathlib import Path

from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.evaluation.html_report import write_report
from eduardo.evaluation.results_section import write_results

_EPILOG = """\
examples:
  python -m eduardo.report runs/demo
  python -m eduardo.report runs/evaluation
  python -m eduardo.report runs/evaluation --into docs/evaluation.md   # tables and pictures between its marks
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.report",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="run folder or evaluation folder"
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="DOCUMENT.md",
        help="write the results of the one evaluation given between the two marks of this document",
    )
    arguments = parser.parse_args(argv)
    if arguments.into is not None:
        if len(arguments.folders) > 1:
            raise UserError("--into takes the results of one evaluation; name one folder")
        write_results(arguments.into, arguments.folders[0])
        print(f"results: {arguments.into}, pictures and data in {arguments.into.with_suffix('')}")
        return 0
    for folder in arguments.folders:
        print(f"report: {write_report(folder)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(run_main(main))
