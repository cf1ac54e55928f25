"""The self-contained page of an evaluation or a run: nothing outside it, figures as measured, dialogues inside.

Records are really scored dialogues of the simulated classroom (tests/sample_runs.py). That the page's script runs
and hostile text does not is shown in a browser (tests/browser/test_report_page.py).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest
from sample_runs import write_dialogues, write_evaluation, write_run

from eduardo import report as command
from eduardo.errors import UserError
from eduardo.evaluation import report_dialogues
from eduardo.evaluation.html_report import write_report
from eduardo.evaluation.report_dialogues import Shown, pack
from eduardo.evaluation.svg import Scale, number, scale_over
from eduardo.records import read_dialogues, to_json
from eduardo.types import ScoredDialogue
from eduardo.verl_adapter.dialogue_files import step_file
from eduardo.viewer.page import dialogue_data

TUTORS = ["none", "teller", "guide"]


class Parsed(HTMLParser):
    """What of a page matters here: addresses it would load, its text, and its data blocks."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.blocks: list[str] = []
        self.text = ""
        self._in_block = False
        self.policy = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.loaded += [values[name] for name in ("src", "srcset", "data") if name in values]
        if tag == "link" or (tag == "a" and not values["href"].startswith("#")):
            self.loaded.append(values["href"])
        assert not [name for name in values if name.startswith("on") or name == "style"]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        self._in_block = tag == "script" and values.get("type") == "application/gzip"

    def handle_data(self, data: str) -> None:
        if self._in_block:
            self.blocks.append(data)
            self._in_block = False
        else:
            self.text += data

    @property
    def dialogues(self) -> list[dict]:
        return [
            one for block in self.blocks for one in orjson.loads(gzip.decompress(base64.b64decode(block)))
        ]


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded") / "probes"
    write_evaluation(folder, TUTORS, num_pairs=4)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded") / "run"
    write_run(folder, [["teller", "guide"], ["guide", "vaguer"]], num_pairs=2)
    (folder / "manifest.json").write_text(json.dumps({"started": "2030-01-01", "seed": 7, "git": None}))
    (folder / "config.yaml").write_text("run:\n  seed: 7\n")
    return folder


def page_of(folder: Path) -> Parsed:
    return Parsed(write_report(folder).read_text())


def test_an_evaluation_becomes_one_page_with_its_figures_and_pictures(evaluation: Path) -> None:
    page = write_report(evaluation).read_text()
    figures = json.loads((evaluation / "report.json").read_text())
    text = Parsed(page).text
    for tutor in figures["tutors"]:
        gain = tutor["figures"]["gain_transfer"]
        assert f"{gain['value']:.2f}" in text
        assert f"[{gain['low']:.2f}, {gain['high']:.2f}]".replace("-", "−") in text
    assert page.count("<svg") == len({c["figure"] for c in figures["comparisons"]}) + 1, (
        "forests and the trade-off"
    )
    assert "guide − none" in text


def test_an_invalid_evaluation_says_so_before_anything_else(evaluation: Path, tmp_path: Path) -> None:
    figures = json.loads((evaluation / "report.json").read_text())
    figures["tutors"][1]["invalid_because"] = ["12% of dialogues were void (limit 5%)", "and more"]
    (tmp_path / "report.json").write_text(json.dumps(figures))
    text = page_of(tmp_path).text
    assert text.index("Invalid: do not publish these figures.") < text.index("Figures\n")
    assert "teller: 12% of dialogues were void (limit 5%); and more" in text


def test_a_valid_evaluation_has_no_warning(evaluation: Path, tmp_path: Path) -> None:
    figures = json.loads((evaluation / "report.json").read_text())
    figures["tutors"] = [t for t in figures["tutors"] if t["tutor"] == "guide"]
    assert figures["tutors"][0]["invalid_because"] == []
    figures["comparisons"] = []
    (tmp_path / "report.json").write_text(json.dumps(figures))
    text = page_of(tmp_path).text
    assert "All validity checks passed for guide." in text
    assert "Invalid" not in text


@pytest.mark.parametrize("kind", ["evaluation", "run"])
def test_nothing_outside_the_file_is_needed(kind: str, request: pytest.FixtureRequest) -> None:
    page = page_of(request.getfixturevalue(kind))
    assert page.loaded == []
    assert page.policy.startswith("default-src 'none'")


def test_only_the_script_and_style_of_the_page_itself_may_run(evaluation: Path) -> None:
    page = write_report(evaluation).read_text()
    [style], [script] = (
        re.findall(r"<style>(.*?)</style>", page, re.DOTALL),
        re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL),
    )
    for kind, content in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind} &#39;sha256-{digest}&#39;" in page
    assert "import " not in re.sub(r"//.*|/\*.*?\*/", "", script)
    assert not re.search(r"^export", script, re.MULTILINE)


def test_every_evaluated_dialogue_is_inside_with_both_post_tests(evaluation: Path) -> None:
    dialogues = page_of(evaluation).dialogues
    assert [one["grp"] for one in dialogues] == [tutor for tutor in TUTORS for _ in range(4)]
    for one in dialogues:
        assert [test["kind"] for test in one["tests"]] == ["transfer", "source"]
    scored = list(read_dialogues(evaluation / "guide" / "scored.jsonl"))
    [shown] = [d for d in dialogues if d["grp"] == "guide" and d["pair"] == scored[0].pair_id]
    assert shown["turns"] == dialogue_data(scored[0])["turns"]


def test_a_run_becomes_a_page_with_curves_configuration_and_dialogues(run: Path) -> None:
    page = page_of(run)
    assert "Training run run" in page.text
    assert "Reward over training steps" in write_report(run).read_text()
    assert "seed: 7" in page.text
    assert "2030-01-01" in page.text
    assert "None" not in page.text
    assert len(page.dialogues) == 8
    assert [one["labels"]["step"] for one in page.dialogues] == [2] * 4 + [1] * 4, "newest first"


def test_a_run_that_failed_says_why(run: Path, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes((run / "metrics.jsonl").read_bytes())
    (tmp_path / "status.json").write_text(
        json.dumps({"step": 2, "reason": "too many voids <b>", "failed": True})
    )
    assert "This run failed at step 2: too many voids <b>" in page_of(tmp_path).text


def test_a_run_without_a_finished_step_still_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "dialogues").mkdir()
    text = page_of(tmp_path).text
    assert "No step is finished yet." in text
    assert "No dialogue is recorded yet." in text


def test_the_same_folder_gives_the_same_bytes(run: Path) -> None:
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first


def test_hostile_text_stays_text(run: Path, tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script>"
    dialogue = next(read_dialogues(step_file(run, "train", 1)))
    problem = replace(dialogue.transcript.problem, text=attack)
    hostile = replace(dialogue, transcript=replace(dialogue.transcript, problem=problem))
    write_dialogues(step_file(tmp_path, "train", 1), [hostile])
    (tmp_path / "config.yaml").write_text(attack)
    page = write_report(tmp_path).read_text()
    assert "alert(1)</script>" not in page
    assert page.count("<script") == page.count("</script>") == 2, "one data block and the page's own script"
    assert Parsed(page).dialogues[0]["problem"]["text"] == attack


def test_a_folder_that_is_neither_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path}: nothing to report; give an evaluation folder"):
        write_report(tmp_path)


def test_a_broken_report_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"tutors": 3}')
    with pytest.raises(
        UserError, match=r"report.json: no report of an evaluation \(.*\); run the evaluation again"
    ):
        write_report(tmp_path)


def test_the_command_prints_where_each_page_lies(
    run: Path, evaluation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(run), str(evaluation)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"report: {run}/report.html",
        f"report: {evaluation}/report.html",
    ]


# -- size --------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(run: Path) -> list[Shown]:
    return [Shown("train", 1, dialogue) for dialogue in read_dialogues(step_file(run, "train", 1))]


def attempts(packed_chunks) -> list[str]:
    data = [one for chunk in packed_chunks for one in orjson.loads(gzip.decompress(base64.b64decode(chunk)))]
    return [attempt["text"] for one in data for test in one["tests"] for attempt in test["attempts"]]


def long_winded(dialogue: ScoredDialogue) -> ScoredDialogue:
    """Attempts of text that hardly shrinks."""
    noise = [hashlib.sha512(str(i).encode()).hexdigest() * 1 for i in range(16 * 20)]
    texts = ["".join(noise[i * 20 : i * 20 + 20]) for i in range(16)]
    test = dialogue.post_test
    if test is None:
        return dialogue
    changed = tuple(replace(a, text=text) for a, text in zip(test.attempts, texts, strict=True))
    return replace(dialogue, post_test=replace(test, attempts=changed))


def test_what_fits_is_kept_whole(shown: list[Shown]) -> None:
    packed = pack(shown)
    assert packed.note == ""
    assert attempts(packed.chunks) == [
        a.text for one in shown if one.dialogue.post_test for a in one.dialogue.post_test.attempts
    ]


def test_attempts_are_shortened_before_dialogues_are_left_out(
    shown: list[Shown], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [replace(one, dialogue=long_winded(one.dialogue)) for one in shown]
    whole = sum(map(len, pack(long).chunks))
    monkeypatch.setattr(report_dialogues, "_MAX_PACKED_BYTES", whole // 2)
    packed = pack(long)
    assert packed.note == "Post-test attempts are cut after 600 characters to keep this file small."
    assert max(map(len, attempts(packed.chunks))) == 600 + len(" […]")
    assert len(packed.shown) == len(long)
    monkeypatch.setattr(report_dialogues, "_MAX_PACKED_BYTES", 3000)
    fewer = pack(long)
    assert sum(map(len, fewer.chunks)) <= 3000
    assert 0 < len(fewer.shown) < len(long)
    assert f"Only {len(fewer.shown)} dialogues fit in." in fewer.note


# -- axes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.2, 1), (0, 7), (0.011, 0.032), (-3, -1), (40, 4000)])
def test_ticks_are_few_round_numbers_inside(low: float, high: float) -> None:
    ticks = Scale(low, high, 0, 100).ticks(4)
    steps = {f"{b - a:.6g}" for a, b in itertools.pairwise(ticks)}
    assert 3 <= len(ticks) <= 7
    assert low <= ticks[0] < ticks[-1] <= high
    assert len(steps) == 1
    assert steps.pop().strip("0.")[0] in "125"


def test_a_scale_holds_its_values_and_starts_amounts_no_lower_than_zero() -> None:
    scale = scale_over([0.0, 0.5], 10, 110)
    assert scale.low == 0.0
    assert 10 <= scale(0.0) < scale(0.5) <= 110
    assert scale_over([-1, 1], 0, 1).low < -1
    same = scale_over([0.0], 0, 1)
    assert same.low < same.high


def test_numbers_have_a_true_minus() -> None:
    assert (number(-0.25), number(0.5), number(12.0)) == ("−0.25", "0.5", "12")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_five_hundred_long_dialogues_stay_under_15_megabytes(evaluation: Path, tmp_path: Path) -> None:
    """Turns and attempts as long as the published recipe allows, of words that repeat no more than prose does."""
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "st", "lo", "mi")]
    rng = random.Random(0)
    source = " ".join(rng.choices(words, k=500_000))

    def prose(num_characters: int) -> str:
        start = rng.randrange(len(source) - num_characters)
        return source[start : start + num_characters]

    report = json.loads((evaluation / "report.json").read_text())
    for tutor in report["tutors"][1:]:
        tests = list(read_dialogues(evaluation / tutor["tutor"] / "scored.jsonl"))[:2]
        lines = []
        for problem in range(250):
            turns = tuple(replace(turn, text=prose(500)) for turn in tests[0].transcript.turns)
            for test in tests:
                attempts = tuple(replace(one, text=prose(2500)) for one in test.post_test.attempts)
                lines.append(
                    to_json(
                        replace(
                            test,
                            pair_id=f"p{problem}",
                            transcript=replace(test.transcript, turns=turns),
                            post_test=replace(test.post_test, attempts=attempts),
                        )
                    )
                )
        file = tmp_path / tutor["tutor"] / "scored.jsonl"
        file.parent.mkdir()
        file.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    report["tutors"] = report["tutors"][1:]
    (tmp_path / "report.json").write_text(json.dumps(report))
    size = write_report(tmp_path).stat().st_size
    assert size < 15_000_000
    assert len(page_of(tmp_path).dialogues) == 500
