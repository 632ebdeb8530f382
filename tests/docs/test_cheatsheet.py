"""The cheat sheet is true and fits on one page: its calls and commands run, and it is what its script writes."""

from __future__ import annotations

import re
from typing import get_args

import numpy as np
import pytest
from scripts import make_cheatsheet as sheet
from sklearn.linear_model import LogisticRegression

import believable
from believable.readers import load_demo
from believable.report.verdicts import Answer
from tests.docs.test_readme import COMMANDS
from tests.needs import need

CALLS = [call for rows in sheet.CALLS.values() for _, call in rows]


@pytest.fixture(scope="module")
def names():
    """What the sheet's letters stand for: 300 rows of two models, a matrix, and what is in the library."""
    rng = np.random.default_rng(0)
    models, rows = load_demo(), slice(300)
    p, q, y = models["naive_bayes"].scores[rows], models["logistic"].scores[rows], models["logistic"].labels[rows]
    p = np.clip(p, 0.001, 0.999)  # of exactly 0 and 1, slopes warn
    given = {"p": p, "q": q, "y": y, "z": np.log(q / (1 - q)), "P": np.column_stack([1 - q, q]), "k": y.astype(int)}
    given |= {"region": rng.choice(["north", "south"], 300), "patient": np.arange(300) // 2}
    given |= {"columns": {"region": given["region"], "age": rng.integers(20, 80, 300)}}
    given |= {"X": rng.normal(size=(300, 2)), "model": LogisticRegression(), "days": [(p, y), (q, y)]}
    return {name: getattr(believable, name) for name in [*believable.__all__, "recalibrate"]} | given


@pytest.mark.slow
def test_the_calls_run(names, tmp_path, monkeypatch):
    """Every call runs as it stands, in order."""
    monkeypatch.chdir(tmp_path)
    for call in CALLS:
        exec(compile(call, call, "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "r.png", "map.json"}


def test_the_commands_are_those_of_the_readme():
    """Each of them is run where the README is tested."""
    run = {command.partition(" #")[0].strip() for command in COMMANDS}
    assert {command.partition(" #")[0].strip() for command in sheet.SHELL} <= run


def test_the_page_is_current():
    """`make docs` would change nothing, and everything shown comes from the tables."""
    assert sheet.PAGE.read_text() == sheet.page()
    shown = set(re.findall(r"<code>([a-z_]+)</code>", sheet.page()))
    assert {row.alias for row in believable.METRICS.values()} <= shown


def test_grades_are_those_of_the_verdict():
    """The guideline on the sheet is the one that a verdict prints."""
    bands = ", ".join(f"{where} {name}" for name, where in sheet.GRADES[:-1])
    said = str(believable.verdict(np.repeat([0.1, 0.9], 200), np.tile([0, 1], 200)))
    assert f"{bands}, otherwise poor" in said
    assert [name for name, _ in sheet.ANSWERS] == list(get_args(Answer))


def test_nothing_is_fetched():
    """The file stands alone."""
    assert not re.search(r"https?://|<script|<link|src=|url\(", sheet.page())


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_it_prints_on_one_page(paper):
    """On either paper it is one page, and nothing is cut or runs over its neighbour."""
    program = need("browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(sheet.PAGE.as_uri())
        page.emulate_media(media="print")
        over = page.evaluate(
            """() => [...document.querySelectorAll("main, main *")]
                .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth
                                || each.scrollHeight > each.clientHeight + 3 && each.matches("main, .columns, .columns > div"))
                .map(each => each.tagName + " " + each.textContent.slice(0, 60))"""
        )
        printed = page.pdf(format=paper, landscape=True, print_background=True)
        browser.close()
    assert over == []
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
