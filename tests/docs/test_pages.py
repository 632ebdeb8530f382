"""The pages are true: their code runs, prints what is shown below it, and draws the pictures they show."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from scripts import pages

from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"


PAGES = pages.all_pages()
OWN_NEEDS = [
    (page, word) for page in PAGES for word in sorted({w for b in pages.blocks(page.read_text()) for w in b.needs})
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a page where all that it needs is installed, once, with torch's generator put back afterwards."""
    done = {}

    def once(page):
        needed = {word: need(word) for word in pages.needs(page.read_text())}
        if page not in done:
            folder = tmp_path_factory.mktemp(page.stem)
            with needed["torch"].random.fork_rng(devices=[]) if "torch" in needed else nullcontext():
                done[page] = folder, pages.run(page, folder)
        return done[page]

    return once


def check(page, block, output):
    """What is shown below a block is what it printed."""
    if block.shown is not None and not pages.same(block.shown, output):
        assert output == block.shown, f"{page.name}, line {block.line}: `make docs PAGES=...` rewrites what is shown"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_pages(page, run):
    """Every block runs; what is shown is what was printed; every picture of the page's own was drawn by its code."""
    folder, printed = run(page)
    for block, output in zip(pages.blocks(page.read_text()), printed, strict=True):
        if output is not None:
            check(page, block, output)
    for written, kept in pages.pictures(page).items():
        assert (folder / written).exists() or None in printed, written
        assert kept.exists(), f"{kept.name}: `make docs` draws it"


@pytest.mark.parametrize(("page", "word"), OWN_NEEDS, ids=[f"{page.stem}-{word}" for page, word in OWN_NEEDS])
def test_blocks_with_needs_of_their_own(page, word, run):
    """They run too, where what they need is installed."""
    need(word)
    _, printed = run(page)
    for block, output in zip(pages.blocks(page.read_text()), printed, strict=True):
        if (
            word in block.needs and output is not None
        ):  # None where another of its needs is missing, which has its own test
            check(page, block, output)


def test_a_need_of_a_block_is_its_own(tmp_path):
    """A block whose needs are not met is left out, and the others run; the line above it stays where it is."""
    page = tmp_path / "page.md"
    text = "# Page\n\n<!-- needs: no_such_thing -->\n```python\nprint(1)\n```\n\n```text\n7\n```\n\n```python\nprint(2)\n```\n\n```text\n```\n"
    page.write_text(text)
    assert pages.run(page, tmp_path) == [None, "2\n"]
    pages.rewrite(page)
    assert page.read_text() == text[: -len("```\n")] + "2\n```\n"
    page.write_text(text.replace("no_such_thing", "json"))
    assert [block.line for block in pages.blocks(page.read_text())] == [5, 13]
    pages.rewrite(page)
    assert "<!-- needs: json -->\n```python\nprint(1)\n```\n\n```text\n1\n```\n" in page.read_text()


@pytest.mark.parametrize("page", [*DOCS.rglob("*.md"), ROOT / "README.md"], ids=lambda page: page.name)
def test_blocks_are_run_or_say_that_they_are_not_code(page):
    """A block is code that is run, output, or in a language that something else in the suite runs."""
    others = {"portable.md": {"js", "sql"}}
    others |= {f"{name}.md": {"yaml"} for name in ("github-actions", "junit", "pre-commit")}
    others["prometheus.md"] = {"promql"}  # evaluated in tests/streams/test_prometheus.py
    known = {"python", "sh", "text", "console", "json", "html", "{toctree}", "{eval-rst}"} | others.get(
        page.name, set()
    )
    fences = re.findall(r"^```(\S*)[^\n]*$", page.read_text(), re.MULTILINE)
    assert {fence for fence in fences if fence and not fence.startswith("{")} <= known


def test_a_page_reads_data_of_its_own(tmp_path):
    """The JSON file that stands beside a page and has its name lies in the folder where it is run."""
    page, folder = tmp_path / "some-page.md", tmp_path / "folder"
    folder.mkdir()
    page.write_text('```python\nfrom pathlib import Path\nprint(Path("some-page.json").read_text())\n```\n')
    page.with_suffix(".json").write_text("{}")
    assert pages.run(page, folder) == ["{}\n"]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_no_sentence_is_taken_for_a_comment(page):
    """No line of prose begins with %, which the site would leave out."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if line.startswith("%")] == []


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
