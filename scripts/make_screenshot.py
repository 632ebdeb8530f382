"""Draw docs/images/report.png: the top of a report, in a browser. `make docs` runs it where one is found."""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pages

import believable
from believable.readers import load_demo

PICTURE = pages.DOCS / "images" / "report.png"
WIDTH, HEIGHT = 1180, 690


def make(program: str) -> None:
    """Write the report, open it, and keep what is seen first."""
    from playwright.sync_api import sync_playwright

    found = believable.audit(load_demo()["naive_bayes"], title="Naive Bayes: odd or even?", progress=False)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report, shot = Path(folder) / "report.html", Path(folder) / "report.png"
        found.to_html(report)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_timeout(300)
        page.screenshot(path=shot)
        browser.close()
        pages._keep(shot, PICTURE)


if __name__ == "__main__":
    browser = shutil.which("chromium")
    if browser is None or find_spec("playwright") is None:
        print("docs/images/report.png: left as it is, there is no browser to draw it")
    else:
        make(browser)
