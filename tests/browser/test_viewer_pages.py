"""The viewer in a real browser: lists, dialogues, comparison, keys, small screens, both themes, live runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sample_runs import write_dialogues
from viewer_process import running_viewer

from eduardo.records import read_dialogues
from eduardo.verl_adapter.dialogue_files import step_file

ROWS = "table.list tbody tr"


def open_list(page: Page, address: str, num_rows: int = 25) -> None:
    page.goto(address)
    expect(page.locator(ROWS)).to_have_count(num_rows)


def go(page: Page, fragment: str) -> None:
    page.evaluate("fragment => { location.hash = fragment }", fragment)


def test_the_list_shows_every_dialogue_and_its_figures(page: Page, address: str) -> None:
    open_list(page, address)
    assert "token" not in page.url
    expect(page.get_by_text("25 dialogues")).to_be_visible()
    expect(
        page.get_by_role("img", name="Mean reward of the dialogues shown, over training steps")
    ).to_be_visible()


def test_filters_and_search_narrow_the_list_and_stay_in_the_address(page: Page, address: str) -> None:
    open_list(page, address)
    page.get_by_role("group", name="Handover").get_by_label("reject").check()
    expect(page.locator(ROWS)).not_to_have_count(25)
    assert page.locator(ROWS).count() > 0
    page.get_by_label("Search dialogues").fill('"the answer is"')
    page.get_by_label("Search in").select_option("tutor")
    page.wait_for_url("**text_in=tutor**")
    assert "leak=reject" in page.url
    page.wait_for_load_state("networkidle")
    count = page.locator(ROWS).count()
    assert count > 0
    page.reload()
    expect(page.locator(ROWS)).to_have_count(count)
    page.get_by_label("Search dialogues").fill("zebra")
    expect(page.get_by_text("No dialogue fits these filters.")).to_be_visible()


def test_a_bound_on_a_reward_part_narrows_the_list(page: Page, address: str) -> None:
    open_list(page, address)
    page.get_by_text("Reward parts and lengths").click()
    page.get_by_label("gate to").fill("-0.1")
    page.get_by_label("gate to").press("Enter")
    expect(page.locator(ROWS)).not_to_have_count(25)
    for row in page.locator(ROWS).all():
        expect(row).to_contain_text("−0.20")


def test_a_click_on_a_column_sorts_by_it_and_another_turns_the_order_round(page: Page, address: str) -> None:
    def rewards() -> list[float]:
        texts = page.locator(f"{ROWS} .reward").all_inner_texts()
        return [float(text.replace("−", "-")) for text in texts]

    open_list(page, address)
    for order in ("descending", "ascending"):
        page.get_by_role("columnheader", name="Reward").get_by_role("button").click()
        expect(page.get_by_role("columnheader", name="Reward")).to_have_attribute("aria-sort", order)
        page.wait_for_load_state("networkidle")
        assert rewards() == sorted(rewards(), reverse=order == "descending")


def test_a_dialogue_shows_what_each_side_saw_and_what_was_measured(page: Page, address: str) -> None:
    open_list(page, address)
    go(page, "#/dialogues?grp=train&bound=step%3E%3D4&sort=reward")
    page.locator(f"{ROWS} a").first.click()
    expect(page.get_by_role("heading", name=re.compile(r"Reward \+"))).to_be_visible()
    expect(page.locator(".turn.tutor").first).to_be_visible()
    expect(page.locator(".waterfall")).to_be_visible()
    page.get_by_role("tab", name="Masked student").click()
    expect(page.locator(".words.hidden").first).to_have_text("hidden")
    expect(page.get_by_text("Now solve the following problem on your own.")).to_be_visible()
    page.get_by_role("tab", name="Judge: handover").click()
    expect(page.get_by_text("=== transcript")).to_be_visible()
    page.get_by_role("tab", name="attempt 3").click()
    expect(page.locator(".attempt")).to_contain_text("Attempt 3")
    page.get_by_role("button", name="show all 16 attempts").click()
    expect(page.locator(".attempt")).to_have_count(16)


def test_the_reasons_of_a_rejection_are_shown_with_their_quotes(page: Page, address: str) -> None:
    open_list(page, address)
    go(page, "#/dialogues?leak=reject&grp=train")
    page.locator(f"{ROWS} a").first.click()
    expect(page.locator(".votes .reject blockquote").first).not_to_be_empty()
    page.get_by_role("tab", name="Masked student").click()
    expect(page.get_by_text("No post-test was posed in this dialogue.")).to_be_visible()


def test_an_evaluated_dialogue_shows_both_post_tests(page: Page, address: str) -> None:
    open_list(page, address)
    go(page, "#/dialogues?grp=guide")
    page.locator(f"{ROWS} a").first.click()
    expect(page.get_by_role("heading", name="On the variant")).to_be_visible()
    expect(page.get_by_role("heading", name="On the source problem")).to_be_visible()


def test_everything_can_be_reached_by_keys(page: Page, address: str) -> None:
    open_list(page, address)
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(f"{ROWS}").nth(1)
    assert second.locator("a").evaluate("element => element === document.activeElement")
    page.keyboard.press("c")
    expect(second.get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Tutor", exact=True)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("3")
    expect(page.get_by_role("tab", name="Masked student")).to_have_attribute("aria-selected", "true")
    here = page.url
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="Mark to compare")).to_be_visible()
    assert page.url != here
    page.keyboard.press("c")
    page.keyboard.press("x")
    expect(page.locator(".pair .side")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(ROWS)).to_have_count(25)
    page.keyboard.press("/")
    page.keyboard.type("answer")
    assert page.get_by_label("Search dialogues").input_value() == "answer"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()


def test_a_problem_is_followed_over_the_training_steps(page: Page, address: str) -> None:
    open_list(page, address)
    go(page, "#/dialogues?grp=train")
    page.locator(f"{ROWS} a").first.click()
    page.get_by_role("link", name="This problem over the steps").click()
    expect(page.locator(ROWS)).to_have_count(8)
    dots = page.locator(".plot a")
    assert dots.count() == 8
    dots.first.click()
    expect(page.locator(".waterfall")).to_be_visible()


def test_two_dialogues_stand_side_by_side_in_the_same_view(page: Page, address: str) -> None:
    open_list(page, address)
    for row in (0, 3):
        page.locator(ROWS).nth(row).get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("tab", name="Student", exact=True).click()
    expect(page.locator(".pair .side .chat-system")).to_have_count(2)


@pytest.mark.parametrize("fragment", ["#/dialogues", "first", "problem", "compare"])
def test_pages_fit_a_screen_of_400_pixels(page: Page, address: str, fragment: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    open_list(page, address)
    keys = page.locator(ROWS).evaluate_all("rows => rows.map(row => row.dataset.key)")
    places = {"first": f"#/dialogue/{keys[0]}", "compare": f"#/compare/{keys[0]}/{keys[1]}"}
    if fragment == "problem":
        page.locator(f"{ROWS} a").first.click()
        page.get_by_role("link", name="This problem over the steps").click()
        expect(page.locator(".plot")).to_be_visible()
    else:
        go(page, places.get(fragment, fragment))
        page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


PAIRS = [("--ink", "--paper"), ("--soft", "--paper"), ("--soft", "--sheet"), ("--accent", "--paper")] + [
    (f"--{name}", f"--{name}-tint") for name in ("good", "bad", "warn")
]
CONTRAST = """([front, back]) => {
  const style = getComputedStyle(document.documentElement);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const channel = (hex) => linear(parseInt(hex, 16) / 255);
  const light = (name) => {
    const hex = style.getPropertyValue(name).trim();
    return 0.2126 * channel(hex.slice(1, 3)) + 0.7152 * channel(hex.slice(3, 5)) + 0.0722 * channel(hex.slice(5, 7));
  };
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_themes(browser: Browser, address: str, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        open_list(page, address)
        for pair in PAIRS:
            assert page.evaluate(CONTRAST, list(pair)) >= 4.5, pair
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Theme: system").click()
        page.get_by_role("button", name="Theme: light").click()
        switched = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (switched == background) is (scheme == "dark")


def test_a_running_training_is_followed_without_a_reload(visit, recorded: Path, tmp_path: Path) -> None:
    dialogues = list(read_dialogues(step_file(recorded / "run", "train", 4)))
    run = tmp_path / "live"
    write_dialogues(step_file(run, "train", 1), dialogues[:1])
    with running_viewer(run, cache_dir=tmp_path / "cache") as address:
        open_list(visit.page, address, num_rows=1)
        write_dialogues(step_file(run, "train", 2), dialogues[1:])
        expect(visit.page.locator(ROWS)).to_have_count(len(dialogues))
        visit.page.goto("about:blank")  # the page would report that its server has gone
