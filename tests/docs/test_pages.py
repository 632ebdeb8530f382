"""The pages are true: their code runs, prints what is shown below it, and draws the pictures they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import pages

from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"


def run(page, folder):
    """Run a page where all that it needs is installed, with torch's generator put back afterwards."""
    words = pages.needs(page.read_text())
    needed = {word: need(word) for word in words}
    if "torch" not in needed:
        return pages.run(page, folder)
    with needed["torch"].random.fork_rng(devices=[]):
        return pages.run(page, folder)


@pytest.mark.parametrize("page", pages.all_pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_pages(page, tmp_path):
    """Every block runs; what is shown is what was printed; every picture of the page's own was drawn by its code."""
    printed = run(page, tmp_path)
    for block, output in zip(pages.blocks(page.read_text()), printed, strict=True):
        if block.shown is not None and not pages.same(block.shown, output):
            assert output == block.shown, (
                f"{page.name}, line {block.line}: `make docs PAGES=...` rewrites what is shown"
            )
    for written, kept in pages.pictures(page).items():
        assert (tmp_path / written).exists(), written
        assert kept.exists(), f"{kept.name}: `make docs` draws it"


@pytest.mark.parametrize("page", [*DOCS.rglob("*.md"), ROOT / "README.md"], ids=lambda page: page.name)
def test_blocks_are_run_or_say_that_they_are_not_code(page):
    """A block is code that is run, output, or in a language that something else in the suite runs."""
    others = {"portable.md": {"js", "sql"}}
    known = {"python", "sh", "text", "console", "json", "html", "{toctree}", "{eval-rst}"} | others.get(
        page.name, set()
    )
    fences = re.findall(r"^```(\S*)[^\n]*$", page.read_text(), re.MULTILINE)
    assert {fence for fence in fences if fence and not fence.startswith("{")} <= known


def test_every_kept_picture_is_shown():
    """No picture is left over in docs/images."""
    text = "".join(page.read_text() for page in [ROOT / "README.md", *DOCS.rglob("*.md")])
    assert [path.name for path in (DOCS / "images").rglob("*.*") if path.name not in text] == []


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("ece 0.1108 of 10", "ece 0.1109 of 10", True),
        ("ece 0.1108 of 10", "ece 0.1110 of 10", False),
        ("ece 0.1108 of 10", "ece 0.1108 of 11", False),
        ("p = 2.1e-05", "p = 2.2e-05", True),
        ("ece 0.1", "mce 0.1", False),
    ],
)
def test_outputs_are_compared_to_their_last_digit(shown, printed, equal):
    """Rounding may differ by one unit of the last digit shown, and words and counts not at all."""
    assert pages.same(shown, printed) is equal
