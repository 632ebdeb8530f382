"""The site in a browser: no page is wider than its window, nothing is fetched from elsewhere, and outputs can be read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import need

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = (
    "start",
    "recalibrators",
    "how-many-rows",
    "which-fix",
    "cheatsheet",
    "migrating/relplot",
)  # wide, each its way
WIDTHS = (390, 1090, 1320, 1440)  # a phone; where the theme's columns just fit; a desk


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Some of the pages, built as all of them are. Links to the others lead nowhere, so it is not strict."""
    need("sphinx")
    folder = tmp_path_factory.mktemp("docs")
    shutil.copy(DOCS / "conf.py", folder)
    for name in ("_extensions", "_static", "images"):
        shutil.copytree(DOCS / name, folder / name)
    for page in PAGES:
        (folder / page).parent.mkdir(exist_ok=True)
        shutil.copy(DOCS / f"{page}.md", folder / f"{page}.md")
    (folder / "index.md").write_text("# Pages\n\n```{toctree}\n" + "\n".join(PAGES) + "\n```\n")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-Q", folder, folder / "site"]
    subprocess.run(command, check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def browser(site):
    """A browser with one page open, which keeps in mind what went wrong and what was asked for."""
    program = need("browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = started.new_page()
        page.wrong, page.asked = [], []
        page.on("console", lambda said: page.wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        yield page
        started.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_their_window(site, browser, name):
    """At any width tables and code scroll, the page does not; it opens from the disk alone, and without an error."""
    browser.wrong.clear()
    browser.asked.clear()
    browser.goto((site / f"{name}.html").as_uri())
    for width in WIDTHS:
        browser.set_viewport_size({"width": width, "height": 800})
        assert browser.evaluate("document.scrollingElement.scrollWidth") <= width, width
    assert browser.wrong == []
    assert [url for url in browser.asked if not url.startswith(("file:", "data:"))] == []


def test_sentences_wrap_and_rows_do_not(site, browser):
    """On a phone a verdict is read without scrolling, and the rows of a table stay rows."""
    browser.set_viewport_size({"width": 390, "height": 800})
    browser.goto((site / "start.html").as_uri())
    verdict = browser.locator("div.highlight-text pre", has_text="guideline for the ECE").first
    assert verdict.evaluate("block => block.scrollWidth <= block.clientWidth")
    table = browser.locator("div.highlight-text pre", has_text="gain in log loss").first
    assert table.evaluate("block => block.scrollWidth > block.clientWidth")
    source = (DOCS / "start.md").read_text()
    assert verdict.text_content().strip() in source  # wrapped for the eye, copied as it was


def test_the_cheat_sheet_opens(site, browser):
    """The link leads to the page to print, and is no download."""
    browser.goto((site / "cheatsheet.html").as_uri())
    browser.get_by_role("link", name="Open it").click()
    browser.wait_for_url("**/_static/cheatsheet.html")
    assert browser.title() == "believable: cheat sheet"


def test_a_file_can_be_audited_on_the_site(site, browser):
    """The page that the front page links to is built with the site, and works from the disk alone."""
    assert '<a href="calibration.html">' in (DOCS / "index.md").read_text()
    browser.wrong.clear()
    browser.goto((site / "calibration.html").as_uri())
    browser.get_by_role("button", name="Try an example").click()
    browser.wait_for_selector("#verdict")
    assert browser.wrong == []


def test_pictures_fit_a_screen(site, browser):
    """One frame is no taller than 36 em; a picture of many panels fills the width."""
    browser.set_viewport_size({"width": 1440, "height": 800})
    heights = {}
    for name in ("start", "which-fix"):
        browser.goto((site / f"{name}.html").as_uri())
        for picture in browser.locator("article img").all():
            heights[picture.get_attribute("src").split("/")[-1]] = picture.bounding_box()["height"]
    assert heights["reliability.png"] == pytest.approx(576, abs=1)
    assert heights["shapes.png"] > 700
