"""`python -m eduardo.report`: one self-contained page of a run or an evaluation, to read offline or pass on."""

from __future__ import annotations

import argparse
from pathlib import Path

from eduardo.console import run_main
from eduardo.evaluation.html_report import write_report


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.report",
        description=__doc__,
        epilog="examples:\n  python -m eduardo.report runs/demo\n  python -m eduardo.report runs/evaluation",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="run folder or evaluation folder"
    )
    for folder in parser.parse_args(argv).folders:
        print(f"report: {write_report(folder)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(run_main(main))
