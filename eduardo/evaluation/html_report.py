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
import msgspec

from eduardo.errors import UserError
from eduardo.evaluation import plots
from eduardo.evaluation.plots import Curve, Effect, Interval, Place
from eduardo.evaluation.report import Comparison
from eduardo.evaluation.report_dialogues import MAX_DIALOGUES, Packed, of_evaluation, of_run, pack
from eduardo.evaluation.statistics import Estimate
from eduardo.evaluation.summary import FIGURES, RATES
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


class _Tutor(msgspec.Struct):
    tutor: str
    num_planned: int
    num_measured: int
    figures: dict[str, Estimate | None]
    end_reasons: dict[str, int]
    invalid_because: list[str]


class _Evaluation(msgspec.Struct):
    """`report.json` of an evaluation, as far as it is shown."""

    tutors: list[_Tutor]
    comparisons: list[Comparison]


def write_report(folder: Path) -> Path:
    """Write `report.html` into an evaluation or run folder. Raises UserError when it is neither."""
    if (folder / "report.json").is_file():
        page = evaluation_page(folder)
    elif (folder / METRICS_FILE).is_file() or (folder / "dialogues").is_dir():
        page = run_page(folder)
    else:
        raise UserError(
            f"{folder}: nothing to report; give an evaluation folder (report.json) or a run folder (metrics.jsonl)"
        )
    target = folder / REPORT
    write_whole(target, page.encode())
    return target


def evaluation_page(folder: Path) -> str:
    path = folder / "report.json"
    try:
        evaluation = msgspec.json.decode(path.read_bytes(), type=_Evaluation)
    except msgspec.MsgspecError as error:
        raise UserError(f"{path}: no report of an evaluation ({error}); run the evaluation again") from error
    tutors = evaluation.tutors
    reasons = sorted({reason for tutor in tutors for reason in tutor.end_reasons})
    return _page(
        title=f"Evaluation {folder.resolve().name}",
        packed=pack(of_evaluation(folder, [tutor.tutor for tutor in tutors])),
        tutors=tutors,
        figures=FIGURES,
        cell=_cell,
        comparisons=evaluation.comparisons,
        forests=_forests(evaluation.comparisons),
        tradeoff=_tradeoff(tutors),
        end_reasons=reasons,
    )


def run_page(folder: Path) -> str:
    journal = read_journal(folder / METRICS_FILE)
    run = Run(folder.name, folder, RunKind.TRAINING)
    manifest = _read_json(folder / "manifest.json")
    config = folder / "config.yaml"
    return _page(
        title=f"Training run {folder.resolve().name}",
        packed=pack(of_run([(file.path, file.group) for file in run.files()])),
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
    return _template().render(
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


def _forests(comparisons: Sequence[Comparison]) -> list[str]:
    """A picture for every figure that was compared, all tutors in it."""
    by_figure: dict[str, list[Effect]] = {}
    for one in comparisons:
        note = f"{_cell(one.figure, one.difference.estimate)}{_p_value(one.corrected_p_value)}"
        effect = Effect(f"{one.second} − {one.first}", _interval(one.difference.estimate), note)
        by_figure.setdefault(one.figure, []).append(effect)
    return [plots.forest(figure.replace("_", " "), effects) for figure, effects in by_figure.items()]


def _tradeoff(tutors: Sequence[_Tutor]) -> str:
    places = [
        Place(tutor.tutor, _interval(leaks), _interval(gain))
        for tutor in tutors
        if (leaks := tutor.figures.get("leak_rate")) and (gain := tutor.figures.get("gain_transfer"))
    ]
    return (
        plots.plane("share of dialogues that hand the solution over", "Δ transfer, ungated", places)
        if places
        else ""
    )


def _interval(estimate: Estimate) -> Interval:
    value = estimate.value
    return Interval(
        value,
        value if estimate.low is None else estimate.low,
        value if estimate.high is None else estimate.high,
    )


def _cell(figure: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    ends = () if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
    value, *interval = [_written(number, share=figure in RATES) for number in (estimate.value, *ends)]
    return f"{value} [{', '.join(interval)}]" if interval else value


def _written(number: float, *, share: bool) -> str:
    """With a true minus, and no minus before zero."""
    text = f"{number:.1%}" if share else f"{number:.2f}"
    return text.replace("-", "−") if text.strip("-0.%") else text.removeprefix("-")


def _p_value(value: float) -> str:
    return f", p = {value:.2g}" if value >= 1e-4 else ", p < 0.0001"


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


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_own("report.html"))


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
