"""The report as people get it: a file opened from the disk, without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sample_runs import write_dialogues

from eduardo.evaluation.html_report import write_report
from eduardo.records import read_dialogues
from eduardo.verl_adapter.dialogue_files import step_file

ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"


@pytest.fixture
def reports(recorded: Path) -> dict[str, str]:
    return {kind: write_report(recorded / kind).as_uri() for kind in ("run", "evaluation")}


def test_a_dialogue_opens_inside_the_file_and_leads_back(page: Page, reports: dict[str, str]) -> None:
    page.goto(reports["evaluation"])
    expect(page.get_by_role("heading", name="Paired differences")).to_be_visible()
    expect(page.locator("figure svg")).to_have_count(6)
    page.locator("#rows a").nth(7).click()
    expect(page.get_by_role("heading", name="On the source problem")).to_be_visible()
    expect(page.get_by_role("heading", name="Paired differences")).not_to_be_visible()
    here = page.url
    page.keyboard.press("j")
    expect(page.locator(".waterfall")).to_be_visible()
    assert page.url != here
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Paired differences")).to_be_visible()


def test_a_link_to_a_dialogue_works_on_its_own(page: Page, reports: dict[str, str]) -> None:
    page.goto(f"{reports['run']}#d3")
    expect(page.locator(".waterfall")).to_be_visible()
    page.get_by_role("link", name="Back to the report").click()
    expect(page.get_by_role("heading", name="Training curves")).to_be_visible()


def test_the_table_is_narrowed_by_words(page: Page, reports: dict[str, str]) -> None:
    page.goto(reports["evaluation"])
    page.get_by_label("Show rows with these words").fill("teller rejected")
    expect(page.locator("#rows tbody tr:visible")).to_have_count(3)


@pytest.mark.parametrize("kind", ["run", "evaluation"])
def test_a_report_fits_a_screen_of_400_pixels(page: Page, reports: dict[str, str], kind: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(reports[kind])
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_hostile_text_in_a_report_runs_nothing(page: Page, recorded: Path, tmp_path: Path) -> None:
    dialogue = next(read_dialogues(step_file(recorded / "run", "train", 4)))
    turns = tuple(replace(turn, text=ATTACK, thinking=ATTACK) for turn in dialogue.transcript.turns)
    transcript = replace(
        dialogue.transcript, turns=turns, problem=replace(dialogue.transcript.problem, text=ATTACK)
    )
    write_dialogues(step_file(tmp_path, "train", 1), [replace(dialogue, transcript=transcript)])
    (tmp_path / "config.yaml").write_text(ATTACK)
    page.goto(write_report(tmp_path).as_uri())
    page.locator("#rows a").click()
    expect(page.locator(".problem").first).to_have_text(ATTACK)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
