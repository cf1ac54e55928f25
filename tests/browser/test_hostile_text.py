"""No text of a dialogue can run script, become markup or leave the page, wherever it is shown.

Every text of a real record is replaced by attacks, names of runs and tutors included; then every page is visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sample_runs import write_dialogues
from viewer_process import running_viewer

from eduardo.records import read_dialogues
from eduardo.types import PostTest, Problem, ScoredDialogue, TestItem
from eduardo.verl_adapter.dialogue_files import step_file

ATTACK = (
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1></svg>"
    '"\'></p><iframe srcdoc="<script>parent.hacked=1</script>"></iframe><a href="javascript:window.hacked=1">x</a>'
    "<style>body{display:none}</style>{{constructor.constructor('window.hacked=1')()}}${window.hacked=1}"
    "</script><script>window.hacked=1</script><!--]]>"
)
FOLDER = '"><img src=x onerror=window.hacked=1>'


def hostile(dialogue: ScoredDialogue) -> ScoredDialogue:
    problem = Problem(text=ATTACK, answer=ATTACK)
    turns = tuple(
        replace(turn, text=ATTACK, thinking=ATTACK, raw=ATTACK) for turn in dialogue.transcript.turns
    )
    verdicts = tuple(
        replace(
            verdict, votes=tuple(replace(v, reason=ATTACK, quote=ATTACK, fault=ATTACK) for v in verdict.votes)
        )
        for verdict in dialogue.verdicts
    )
    test = dialogue.post_test
    assert test is not None
    return replace(
        dialogue,
        pair_id=ATTACK,
        transcript=replace(dialogue.transcript, problem=problem, turns=turns, error=ATTACK),
        verdicts=verdicts,
        post_test=_hostile_test(test, problem),
        detector=(ATTACK,),
        labels={**dialogue.labels, ATTACK: ATTACK},
    )


def _hostile_test(test: PostTest, problem: Problem) -> PostTest:
    attempts = tuple(
        replace(
            attempt, text=ATTACK, fault=ATTACK, grade=attempt.grade and replace(attempt.grade, answer=ATTACK)
        )
        for attempt in test.attempts
    )
    item = TestItem(problem=problem, baseline=test.item.baseline, kind=test.item.kind)
    return replace(test, item=item, attempts=attempts)


@pytest.fixture(scope="module")
def dialogues(recorded: Path) -> list[ScoredDialogue]:
    """Two scored ones at different steps, and a void one."""
    first, second, third = [
        hostile(d)
        for step in (3, 4)
        for d in read_dialogues(step_file(recorded / "run", "train", step))
        if d.post_test is not None
    ][:3]
    void = replace(third, reward=None, void_reason=ATTACK)
    return [first, replace(second, labels={**second.labels, "step": 9}), void]


@pytest.fixture(scope="module")
def hostile_address(
    dialogues: list[ScoredDialogue], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    write_dialogues(folder / "run" / "dialogues" / FOLDER / "step_000001.jsonl", dialogues)
    write_dialogues(folder / f"{FOLDER}.jsonl", dialogues[:1])
    with running_viewer(folder / "run", folder / f"{FOLDER}.jsonl", cache_dir=folder / "cache") as address:
        yield address


def assert_harmless(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(150)
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator(
            "img, iframe, main script, main style, main [onload], [onerror], a[href^=javascript]"
        ).count()
        == 0
    )
    assert page.evaluate("getComputedStyle(document.body).display") == "block"


def test_the_attack_works_on_a_page_that_is_not_protected(page: Page, visit) -> None:
    page.set_content(ATTACK)
    page.wait_for_function("window.hacked === 1")
    visit.problems.clear()


def test_no_page_of_the_viewer_runs_what_a_dialogue_says(page: Page, hostile_address: str) -> None:
    page.goto(hostile_address)
    rows = page.locator("table.list tbody tr")
    expect(rows).to_have_count(4)
    expect(page.locator("td.topic a").first).to_have_text(ATTACK)
    assert_harmless(page)
    keys = rows.evaluate_all("rows => rows.map(row => row.dataset.key)")
    for key in keys:
        page.evaluate("key => { location.hash = `#/dialogue/${key}` }", key)
        expect(page.locator(".problem").first).to_have_text(ATTACK)
        for view in "12345":
            page.keyboard.press(view)
            assert_harmless(page)
        for button in page.get_by_role("button", name="show all 16 attempts").all():
            button.click()
        expect(page.locator(".labels")).to_contain_text(ATTACK)
        assert_harmless(page)
    page.keyboard.press("p")
    expect(page.get_by_role("link", name="filter and sort them")).to_be_visible()
    assert_harmless(page)
    page.evaluate("keys => { location.hash = `#/compare/${keys[0]}/${keys[1]}` }", keys)
    expect(page.locator(".pair .side")).to_have_count(2)
    assert_harmless(page)


def test_search_words_are_marked_as_text(page: Page, hostile_address: str) -> None:
    page.goto(hostile_address)
    page.get_by_label("Search dialogues").fill("hacked <img src=x onerror=window.hacked=1>")
    page.wait_for_load_state("networkidle")
    page.locator("td.topic a").first.click()
    expect(page.locator("mark").first).to_be_visible()
    assert_harmless(page)


def test_an_address_cannot_carry_script_either(page: Page, hostile_address: str, visit) -> None:
    page.goto(hostile_address)
    expect(page.locator("table.list tbody tr")).to_have_count(4)
    for fragment in (
        f"#/problem?pair={ATTACK}",
        f"#/dialogue/{ATTACK}?view={ATTACK}",
        f"#/dialogues?sort={ATTACK}",
        f"#/{ATTACK}",
    ):
        page.evaluate("fragment => { location.hash = fragment }", fragment)
        assert_harmless(page)
    visit.problems[:] = [text for text in visit.problems if "404" not in text and "422" not in text]


def test_the_policy_of_the_page_stops_script_that_got_in_all_the_same(
    page: Page, hostile_address: str, visit
) -> None:
    """The second line of defence: inline script, inline handlers, markup from text and foreign addresses."""
    page.goto(hostile_address)
    expect(page.locator("table.list tbody tr")).to_have_count(4)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.textContent = "window.hacked = 1"; } catch { window.refused = 1; }
          document.body.append(script);
          const link = document.createElement("a");
          link.setAttribute("href", "javascript:window.hacked=1");
          document.body.append(link);
          link.click();
          const image = "<img src=x onerror=window.hacked=1>";
          try { document.body.insertAdjacentHTML("beforeend", image); } catch { window.refused = 2; }
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("window.refused") == 2
    assert any("Content Security Policy" in text or "TrustedHTML" in text for text in visit.problems)
    visit.problems.clear()
