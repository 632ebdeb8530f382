"""The page in Chromium, opened from a file: from a dropped table to the answer that Python gives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from believable import Audit, audit, load_recalibrator
from believable.readers import load
from believable.readers.levels import as_subgroups
from believable.report.browser import audit_page
from believable.report.html import as_page
from tests.needs import need

NAMES = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"a' & {{7*7}} ${alert(3)}")


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    program = need("browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "calibration.html"
    path.write_text(audit_page(), encoding="utf-8")
    return path


@pytest.fixture
def page(browser, page_file):
    """A fresh page; afterwards nothing may have gone wrong, and nothing may have been asked of a network."""
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(60_000)
    made.on("console", lambda message: wrong.append(f"console: {message.text}"))
    made.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    made.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    made.on(
        "request", lambda request: request.url.startswith((page_file.as_uri(), "blob:")) or wrong.append(request.url)
    )
    made.goto(page_file.as_uri())
    yield made
    context.close()
    assert wrong == []


DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "text/csv" }));
  const event = (type) => document.getElementById("drop").dispatchEvent(
    new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  event("dragover");
  event("drop");
}"""


def drop(page, name: str, text: str) -> None:
    page.evaluate(DROP, [name, text])


def answer(page) -> str:
    """Wait for the answer, and return it as one sentence after the other."""
    page.wait_for_selector("#verdict, #wrong:not([hidden])")
    assert page.locator("#wrong").is_hidden(), page.locator("#wrong").inner_text()
    return page.evaluate("believable.shown.text.headline")


def sentence(page) -> str:
    """Wait for the sentence that says what is wrong."""
    page.wait_for_selector("#wrong:not([hidden])")
    return page.locator("#wrong").inner_text()


def table(n: int = 1200, seed: int = 0) -> str:
    """Scores that are too extreme, with two sites and weights."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=n)
    score = 1 / (1 + np.exp(-2 * logit))
    outcome = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    site = rng.choice(["north", "south"], n)
    rows = zip(score.round(6).tolist(), outcome, site, rng.integers(1, 4, n), strict=True)
    return "score,outcome,site,weight\n" + "".join(f"{a!r},{b},{c},{d}\n" for a, b, c, d in rows)


def classes(n: int = 600) -> str:
    """Scores of three classes that are too extreme."""
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(n, 3))
    rate, said = (np.exp(k * logits) / np.exp(k * logits).sum(axis=1, keepdims=True) for k in (1, 2))
    names = ("cat", "dog", "owl")
    rows = [",".join([*(repr(float(one)) for one in said[i]), names[rng.choice(3, p=rate[i])]]) for i in range(n)]
    return "p_cat,p_dog,p_owl,animal\n" + "\n".join(rows) + "\n"


def answers(n: int = 500) -> str:
    """Confidences in answers, in clusters."""
    rng = np.random.default_rng(3)
    confidence = rng.beta(5, 2, n)
    right = rng.random(n) < 0.9 * confidence
    rows = zip((100 * confidence).round(1).tolist(), right, rng.integers(0, 60, n), strict=True)
    return "confidence,correct,question\n" + "".join(f"{a} %,{str(b).lower()},q{c}\n" for a, b, c in rows)


def by_python(path: Path, **options) -> Audit:
    loaded = load(path, **options)
    by, said = as_subgroups(loaded.by)
    return audit(
        loaded.predictions,
        clusters=loaded.clusters,
        by=by or None,
        title=loaded.title,
        taken=loaded.taken,
        notes=(*loaded.notes, *said),
        dropped=dict(loaded.dropped),
        progress=False,
        random_state=0,
    )


def words_of(page, selector: str) -> str:
    """The text of an element, without what only some pages have to say."""
    text = page.locator(selector).inner_text().replace("\N{NO-BREAK SPACE}", " ")
    return " ".join(text.replace(", before recalibration", "").split())  # said where there is an after


# --- the answer -------------------------------------------------------------------------------------------------------


def test_a_dropped_file_is_answered_as_by_python(page, tmp_path):
    """The columns are found by name; the answer and its evidence are the sentences of Python."""
    path = tmp_path / "scores.csv"
    path.write_text(table())
    drop(page, path.name, path.read_text())
    found = by_python(path)
    assert answer(page) == found.verdict.headline
    assert page.evaluate("believable.shown.text.details") == found.verdict.details()
    assert words_of(page, "#facts-line").endswith("read: scores score, labels outcome")
    assert words_of(page, "#verdict-title")[2:] == found.verdict.headline.split(". ")[0]
    shown = page.evaluate(
        "[...document.querySelectorAll('.keys li')].map(li => [li.dataset.key, li.querySelector('strong').textContent])"
    )
    assert dict(shown)["ece"] == f"{found['ece'].value:.4f}"
    assert dict(shown)["auc"] == f"{found['auc'].value:.4f}"


def test_columns_that_are_chosen(page, tmp_path):
    """Weights, subgroups and the label that counts as 1; a sentence asks for what is missing."""
    path = tmp_path / "chosen.csv"
    path.write_text(table().replace("score,outcome", "risk,outcome").replace(",1,", ",yes,").replace(",0,", ",no,"))
    drop(page, path.name, path.read_text())
    assert "no column has one of the usual names for scores" in sentence(page)
    page.select_option("#prob", "=risk")
    page.click("#columns button[type=submit]")
    assert "holds text (no, yes): name the one that counts as 1 with “Counts as 1”" in sentence(page)
    page.select_option("#positive", "yes")
    page.select_option("#weight", "weight")
    page.locator("#by label", has_text="site").click()
    page.click("#columns button[type=submit]")
    found = by_python(path, prob="risk", label="outcome", pos_label="yes", weight="weight", by="site")
    assert answer(page) == found.verdict.headline
    assert page.locator("#subgroups tbody tr").count() == 2
    page.locator("#small-groups button").first.click()
    assert "site = " in words_of(page, "#live-said")


def test_pasted_columns(page):
    """With or without a header, from a spreadsheet or with spaces; the page says how it read them."""
    rows = [line.split(",")[:2] for line in table(300).splitlines()]
    page.click("#paste summary")
    page.fill("#pasted", "\n".join("\t".join(row) for row in rows))
    page.click("#read-pasted")
    first = answer(page)
    for text in ("\n".join("  ".join(row) for row in rows[1:]), "\n".join(f"{b};{a}" for a, b in rows[1:])):
        page.click("#another")
        page.fill("#pasted", text)
        page.click("#read-pasted")
        page.wait_for_selector("#do:has-text('has no header')")
        assert answer(page) == first


def test_keyboard_alone(page):
    """The example, its columns and a map can be reached without a mouse."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "example"
    page.keyboard.press("Enter")
    said = answer(page)
    assert page.locator("#heard").inner_text() == f"Done. {said}"
    page.focus("#again")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "prob"


CASES = {
    "one event": (table, {}, {}),
    "weights and subgroups": (table, {"weight": "weight", "by": "site"}, {}),
    "classes": (classes, {"label": "animal"}, {"label": "animal"}),
    "answers in clusters": (answers, {"cluster": "question"}, {}),
}


@pytest.mark.parametrize(("made", "options", "first"), CASES.values(), ids=CASES)
def test_the_sections_are_those_of_the_report(page, tmp_path, browser, made, options, first):
    """Python gives the same answer, and its report of the numbers of the page has the words of the page."""
    path = tmp_path / "scores.csv"
    path.write_text(made())
    drop(page, path.name, path.read_text())
    if first:
        sentence(page)
    else:
        answer(page)
        page.click("#again")
    for name in ("label", "weight", "cluster"):
        if name in options:
            page.select_option(f"#{name}", options[name])
    if "by" in options:
        page.locator("#by label", has_text=options["by"]).click()
    page.click("#columns button[type=submit]")
    page.wait_for_selector("#columns", state="hidden")
    python = by_python(path, **options).verdict
    assert answer(page) == python.headline
    assert page.evaluate("believable.shown.text.details") == python.details()
    with page.expect_download() as download:
        page.click("#save-audit")
    found = Audit.from_json(Path(download.value.path()).read_text())
    assert found.verdict.headline == page.evaluate("believable.shown.text.headline")
    report = tmp_path / "report.html"
    report.write_text(as_page(found), encoding="utf-8")
    other = browser.new_page(viewport={"width": 1280, "height": 900})
    other.goto(report.as_uri())
    page.evaluate("document.getElementById('save-chosen')?.remove()")  # which only the page can offer
    for section in ("#verdict", "#evidence", "#numbers", "#table", "#all", "#do", "#classes", "#subgroups"):
        if other.locator(section).count():
            assert words_of(page, section) == words_of(other, section), section
    other.close()


def test_maps_are_downloaded_and_loaded_in_python(page, tmp_path):
    """Each of them, by the button in its row; the diagram can be seen after each."""
    path = tmp_path / "scores.csv"
    path.write_text(table())
    drop(page, path.name, path.read_text())
    answer(page)
    scores = load(path).predictions.scores
    for method in ("temperature", "platt", "beta", "isotonic"):
        with page.expect_download() as download:
            page.click(f"[data-map={method}]")
        assert download.value.suggested_filename == f"{method}.json"
        loaded = load_recalibrator(Path(download.value.path()))
        after = loaded.transform(scores)
        assert after.shape == scores.shape
        assert not np.array_equal(after, scores)
        page.click(f"[data-method={method}]")
        assert page.evaluate("believable.page.state.stage") == method
        assert "after " in words_of(page, "#live-said")


# --- what may be in a file --------------------------------------------------------------------------------------------


BAD = {
    "a.csv": (
        "p,y\n0.5,1\nx,0\n",
        "a.csv (scores p, labels y): column 'p' must hold numbers, got the text 'x' at row 1 (line 3).",
    ),
    "b.csv": (
        "p,y\n0.5,1\n0.2,2\n",
        "b.csv (scores p, labels y): labels must be 0 or 1, got 2 at row 1 (line 3); name the label that counts as 1 with “Counts as 1”.",
    ),
    "c.csv": ("0.5,1\n0.25,0\n", "c.csv: the first line must be a header with the names of the columns, got 0.5, 1."),
    "d.csv": ("", "d.csv is empty."),
    "e.xlsx": ("PK", "e.xlsx is a spreadsheet, which cannot be read: save it as csv."),
    "f.csv": (
        "p,y\n85,1\n10,0\n",
        "f.csv (scores p, labels y): predictions must lie in [0, 1], got 85 at row 0 (line 2); these look like percentages: choose “percentages”, or “logits” for logits.",
    ),
    "g.csv": ('p,y\n0.5,1\n"0.2,0\n', "g.csv has a quotation mark after line 2 that is never closed."),
}


def test_bad_files_get_a_sentence(page):
    """What, where, and what to do; the next file is read all the same."""
    for name, (text, said) in BAD.items():
        drop(page, name, text)
        page.wait_for_function("said => document.getElementById('wrong').textContent === said", arg=said)


def test_rows_with_missing_values(page):
    """The sentence names the control that leaves them out, which is shown; the bins can be chosen there, too."""
    rows = table(300).splitlines()
    text = "\n".join([*rows, ",1,north,1", "0.5,,south,2"])
    drop(page, "gaps.csv", text)
    assert "choose “Leave out rows with missing values”" in sentence(page)
    page.check("#drop-missing")
    page.fill("#n-bins", "7")
    page.select_option("#spacing", "quantile")
    page.uncheck("#try-fix")
    page.click("#columns button[type=submit]")
    page.wait_for_selector("#verdict")
    assert "missing score: 1; missing label: 1" in words_of(page, "#from")
    assert "7 quantile bins" in words_of(page, "#live-said")
    assert "it was not requested" in words_of(page, "#fix")


def test_hostile_names_stay_text(page):
    """Names of columns, classes, subgroups and files are shown as they are written, wherever they appear."""
    rng = np.random.default_rng(1)
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    prefixed = ['"p_' + name.replace('"', '""') + '"' for name in NAMES]
    rows = []
    for _ in range(300):
        p = rng.dirichlet(np.ones(3))
        rows.append(",".join([*(repr(float(one)) for one in p), quoted[rng.choice(3, p=p)], quoted[rng.integers(2)]]))
    text = ",".join([*prefixed, "y", quoted[0]]) + "\n" + "\n".join(rows) + "\n"
    drop(page, f"{NAMES[0]}.csv", text)
    answer(page)
    page.click("#again")
    page.locator("#by label", has_text=NAMES[0]).last.click()
    page.click("#columns button[type=submit]")
    page.wait_for_selector("#subgroups")
    assert words_of(page, "#facts-line h2") == f"{NAMES[0]}.csv"
    for name in NAMES:
        assert name in words_of(page, "#classes")
    assert f"{NAMES[0]} = {NAMES[1]}" in words_of(page, "#subgroups")
    assert page.locator("img").count() == 0
    assert page.locator("main script").count() == 0


def test_a_long_file_leaves_the_page_awake(page, tmp_path):
    """While 100,000 rows are audited, frames are drawn, and the work can be cancelled and begun again."""
    text = table(100_000)
    page.evaluate(
        "() => { window.frames = 0; const busy = document.getElementById('progress');"
        " const tick = () => { frames += !busy.hidden; requestAnimationFrame(tick); }; requestAnimationFrame(tick); }"
    )
    drop(page, "long.csv", text)
    page.wait_for_selector("#progress:not([hidden])")
    page.click("#cancel")
    assert page.locator("#heard").inner_text() == "Cancelled."
    assert page.locator("#verdict").count() == 0
    drop(page, "long.csv", text)
    answer(page)
    assert page.evaluate("believable.shown.n") == 100_000
    assert page.evaluate("frames") > 5  # a page that did the work itself would stand still


def test_where_workers_are_not_allowed(browser, page_file):
    """The page does the work itself."""
    context = browser.new_context()
    context.add_init_script("window.Worker = class { constructor() { throw new Error('no workers'); } }")
    page = context.new_page()
    page.goto(page_file.as_uri())
    drop(page, "scores.csv", table(200))
    answer(page)
    context.close()


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(browser, page_file, width, scheme):
    """Tables scroll in their own boxes."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.click("#example")
    page.wait_for_selector("#verdict")
    page.click("#again")
    page.click("#more summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 200) == (scheme == "dark")
    context.close()


def test_its_parts_are_announced(page):
    """Every control has a name, and what happens is said in a live region."""
    page.click("#example")
    answer(page)
    page.click("#again")
    page.click("#more summary")
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, input:not([type=file]), textarea')].filter(each =>"
        " !each.labels?.length && !each.textContent.trim() && !each.ariaLabel).map(each => each.outerHTML)"
    )
    assert nameless == []
    assert page.get_attribute("#heard", "role") == "status"
    assert page.get_attribute("#wrong", "role") == "alert"
    names = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert sorted(names) == sorted(set(names))
