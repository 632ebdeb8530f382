"""Draw docs/images/report.png and page.png: the top of a report, and of the page for browsers, in a browser.

`make docs` runs it where one is found.
"""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pages

import believable
from believable.readers import load_demo
from believable.report.browser import audit_page

IMAGES = pages.DOCS / "images"
WIDTH, HEIGHT = 1180, 690


def make(program: str) -> None:
    """Write both, open them, and keep what is seen first."""
    from playwright.sync_api import sync_playwright

    found = believable.audit(load_demo()["naive_bayes"], title="Naive Bayes: odd or even?", progress=False)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, text in (("report", found.to_html()), ("page", audit_page())):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            _shot(page, Path(folder), name, text)
        browser.close()


def _shot(page: Any, folder: Path, name: str, text: str) -> None:
    """Draw docs/images/NAME.png from the text of a page; that for browsers shows its example."""
    file, shot = folder / f"{name}.html", folder / f"{name}.png"
    file.write_text(text, encoding="utf-8")
    page.goto(file.as_uri())
    if name == "page":
        page.get_by_role("button", name="Try an example").click()
        page.wait_for_selector("#verdict")
    page.wait_for_timeout(300)
    page.screenshot(path=shot)
    pages._keep(shot, IMAGES / f"{name}.png")


if __name__ == "__main__":
    browser = shutil.which("chromium")
    if browser is None or find_spec("playwright") is None:
        print("docs/images/report.png and page.png: left as they are, there is no browser to draw them")
    else:
        make(browser)
