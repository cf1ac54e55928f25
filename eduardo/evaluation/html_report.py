"""One self-contained page per evaluation or training run: figures, pictures, dialogues; works offline.

It is made from the files of the folder alone. Scripts and styles are inlined and named by hash in the page's
policy, so that no text of a dialogue can run as one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from eduardo.errors import UserError
from eduardo.evaluation import cells, evaluation_pictures, plots
from eduardo.evaluation.figures import FIGURES
from eduardo.evaluation.parts import read_parts
from eduardo.evaluation.plots import Curve
from eduardo.evaluation.report import REPORT_JSON, TutorReport, read_evaluation
from eduardo.evaluation.report_dialogues import MAX_DIALOGUES, Packed, of_evaluation, of_run, pack
from eduardo.evaluation.summary import GROUP_FIGURES, Group
from eduardo.files import write_whole
from eduardo.verl_adapter.journal import METRICS_FILE, read_journal
from eduardo.viewer.sources import Run, RunKind

REPORT = "report.html"
_SCRIPTS = (
    "dom.js",
    "format.js",
    "charts.js",
    "dialogue.js",
    "measured.js",
)  # the viewer's, in order of import

# Title → curves as (key of the journal, name); as in the picture that training draws.
_PANELS: Mapping[str, Sequence[tuple[str, str]]] = {
    "Reward": [("reward_total", "mean reward")],
    "Learning gain Δ of tested dialogues": [("delta", "Δ")],
    "Rejected by the judge": [
        ("rejected_no_handover", "handover"),
        ("rejected_factual_correctness", "teaching"),
    ],
    "Why dialogues ended": [
        ("ended_tutor_ended", "tutor"),
        ("ended_turn_limit", "turns"),
        ("ended_token_budget", "tokens"),
    ],
    "Tutor turns": [("num_tutor_turns", "turns")],
    "Tokens per tutor turn": [("tutor_visible_tokens", "visible"), ("tutor_thinking_tokens", "thinking")],
    "Void dialogues": [("void_share", "share")],
}


def write_report(folder: Path) -> Path:
    """Write `report.html` into an evaluation or run folder. Raises UserError when it is neither."""
    if (folder / REPORT_JSON).is_file():
        page = evaluation_page(folder)
    elif (folder / METRICS_FILE).is_file() or (folder / "dialogues").is_dir():
        page = run_page(folder)
    elif other_tests := _parts(folder):
        page = _page(title=folder.resolve().name, packed=pack([]), other_tests=other_tests, only_parts=True)
    else:
        raise UserError(
            f"{folder}: nothing to report; give an evaluation folder (report.json) or a run folder (metrics.jsonl)"
        )
    target = folder / REPORT
    write_whole(target, page.encode())
    return target


def evaluation_page(folder: Path) -> str:
    evaluation = read_evaluation(folder)
    tutors = evaluation.tutors
    return _page(
        title=f"Evaluation {folder.resolve().name}",
        packed=pack(of_evaluation(folder, [tutor.tutor for tutor in tutors])),
        other_tests=_parts(folder),
        tutors=tutors,
        figures=FIGURES,
        cells=cells,
        comparisons=evaluation.comparisons,
        group_figures=GROUP_FIGURES,
        breakdowns=_breakdowns(tutors),
        about=evaluation.about,
        pictures=evaluation_pictures.pictures(evaluation),
    )


def run_page(folder: Path) -> str:
    journal = read_journal(folder / METRICS_FILE)
    run = Run(folder.name, folder, RunKind.TRAINING)
    manifest = _read_json(folder / "manifest.json")
    config = folder / "config.yaml"
    return _page(
        title=f"Training run {folder.resolve().name}",
        packed=pack(of_run([(file.path, file.group) for file in run.files()])),
        other_tests=_parts(folder),
        num_steps=int(journal[-1]["step"]) if journal else 0,
        status=_read_json(folder / "status.json"),
        facts={
            name: manifest[name]
            for name in ("started", "model", "seed", "git", "machine")
            if manifest.get(name) is not None
        },
        manifest=json.dumps(manifest, indent=1) if manifest else "",
        config=config.read_text(encoding="utf-8") if config.is_file() else "",
        curves=[drawn for title in _PANELS if (drawn := _panel(title, journal))],
    )


def _page(*, title: str, packed: Packed, **values: object) -> str:
    style, script = _style(), _script()
    return _template("report.html").render(
        title=title,
        packed=packed,
        most=MAX_DIALOGUES,
        style=style,
        script=script,
        policy=(
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        **values,
    )


def _breakdowns(tutors: Sequence[TutorReport]) -> list[tuple[str, str, list[tuple[str, Group]]]]:
    """Title, name of the column and rows (tutor, group) of each breakdown."""
    return [
        (
            "By difficulty",
            "cold solve rate",
            [(tutor.tutor, group) for tutor in tutors for group in tutor.by_difficulty],
        ),
        (
            "How dialogues ended",
            "ended",
            [(tutor.tutor, group) for tutor in tutors for group in tutor.by_end_reason],
        ),
    ]


def _panel(title: str, journal: Sequence[Mapping[str, float]]) -> str:
    series = [
        Curve(name, _points(journal, f"dialogue/{key}"), _points(journal, f"val/{key}"))
        for key, name in _PANELS[title]
    ]
    known = [curve for curve in series if curve.line or curve.dots]
    return plots.curves(title, known) if known else ""


def _points(journal: Sequence[Mapping[str, float]], key: str) -> list[tuple[float, float]]:
    return [(row["step"], row[key]) for row in journal if key in row]


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise UserError(f"{path}: not JSON ({error}); delete it or restore it") from error


def _parts(folder: Path) -> str:
    """What other tests left in the folder; empty without any."""
    return _template("parts.html").render(parts=read_parts(folder)).strip()


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_own(name))


@cache
def _style() -> str:
    return "\n".join([_viewer("base.css"), _viewer("dialogue.css"), _own("report.css")])


@cache
def _script() -> str:
    """The viewer's modules and the report's own as one: what they import from each other is all here."""
    code = "\n".join([*map(_viewer, _SCRIPTS), _own("report.js")])
    return re.sub(r"^export ", "", re.sub(r"^import .*\n", "", code, flags=re.MULTILINE), flags=re.MULTILINE)


def _own(name: str) -> str:
    return files("eduardo.evaluation").joinpath("report_page", name).read_text(encoding="utf-8")


def _viewer(name: str) -> str:
    return files("eduardo.viewer").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a browser computes it over what stands between the tags."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
