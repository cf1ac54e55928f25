"""A headless Chromium, and viewers over really scored dialogues."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from sample_runs import write_evaluation, write_run
from viewer_process import running_viewer

expect.set_options(timeout=15_000)  # CI machines are slow

STEPS = [["teller", "chatter"], ["vaguer", "rambler"], ["rambler", "guide"], ["guide", "thinker"]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(recorded: Path) -> Iterator[Browser]:
    """Started after the dialogues were held: Playwright keeps an event loop running in this thread."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.fail("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its own sandbox does not start for root, as in most CI containers; it only opens pages of this test.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 16 dialogues over 4 steps, and an evaluation of 3 tutors on 3 problems."""
    folder = tmp_path_factory.mktemp("recorded")
    write_run(folder / "run", STEPS, num_pairs=2)
    write_evaluation(folder / "evaluation", ["none", "teller", "guide"], num_pairs=3)
    return folder


@pytest.fixture(scope="session")
def address(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_viewer(recorded, cache_dir=tmp_path_factory.mktemp("cache")) as address:
        yield address


class Visit:
    """A page in a fresh context; it fails at the end when the page had an error or broke its policy."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._on_console)
        page.on(
            "dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    visit = Visit(context.new_page())
    yield visit
    context.close()
    assert visit.problems == []


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.page
