"""The results of an evaluation inside a Markdown document, so that no number in it is ever typed.

Beside DOCUMENT.md the folder DOCUMENT/ gets the report's JSON and its pictures; the text between the two marks of the
document is written anew.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from eduardo.errors import UserError
from eduardo.evaluation import markdown
from eduardo.evaluation.cells import words
from eduardo.evaluation.evaluation_pictures import pictures
from eduardo.evaluation.report import REPORT_JSON, Evaluation, read_evaluation, to_json
from eduardo.files import write_whole

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def write_results(document: Path, folder: Path) -> None:
    """Put the evaluation in `folder` into `document`. Raises UserError without the two marks."""
    evaluation = read_evaluation(folder)
    try:
        text = document.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{document}: cannot be read ({error.strerror}); name a Markdown file") from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(f"{document}: has no lines {BEGIN} and {END}; add them where the results shall stand")
    beside = document.with_suffix("")
    write_whole(beside / REPORT_JSON, to_json(evaluation))
    for name, picture in pictures(evaluation).items():
        write_whole(beside / f"{name}.svg", _standalone(picture).encode())
    written = f"{before}{BEGIN}\n{section(evaluation, beside.name)}{END}{after}"
    write_whole(document, written.encode())


def section(evaluation: Evaluation, picture_folder: str) -> str:
    """The results as Markdown. Depends on the report alone."""
    shown = [[f"![{words(name)}]({picture_folder}/{name}.svg)"] for name in pictures(evaluation)]
    blocks = [
        markdown.validity(evaluation),
        markdown.figures(evaluation),
        *shown,
        markdown.differences(evaluation),
        ["By difficulty (bands of the cold solve rate on the variant):"],
        markdown.by_difficulty(evaluation),
        ["By how dialogues ended:"],
        markdown.by_end_reason(evaluation),
        ["How it was made:"],
        [f"- {words(name)}: {value}" for name, value in evaluation.about.items()],
    ]
    return "\n" + markdown.joined(blocks) + "\n"


def _standalone(picture: str) -> str:
    """A picture of the report as a file of its own, with the report's colours in both themes."""
    base = files("eduardo.viewer").joinpath("static", "base.css").read_text(encoding="utf-8")
    own = files("eduardo.evaluation").joinpath("report_page", "report.css").read_text(encoding="utf-8")
    palettes = re.findall(
        r"^:root \{.*?^\}|^@media \(prefers-color-scheme: dark\) \{.*?^\}", base, re.MULTILINE | re.DOTALL
    )
    marks = re.findall(r"^\.chart.*$", f"{base}\n{own}", re.MULTILINE)
    style = "\n".join([*palettes, *marks, ".chart { background: var(--sheet); }"])
    head, _, content = picture.partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{head}><style>{style}</style>{content}\n"
