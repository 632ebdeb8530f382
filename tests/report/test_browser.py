"""The page in a browser: what it shows is what Python computes, and nothing in a file can harm it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from believable import Audits, Predictions, audit, audit_models
from believable.curves.binned import table_of
from believable.metrics.binned_error import binned_error
from believable.report.by_chance import expected_by_chance
from believable.report.document import Audit
from believable.report.html import as_page
from believable.report.html.words import number
from believable.report.verdicts import Finding
from tests.needs import need

UNIFORM = (2, 7, 12, 21, 35, 60)  # none of them was computed when the page was written
QUANTILE = (2, 3, 11, 17, 40)
NAMES = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"double' & {{7*7}} ${alert(3)}",
    "right to left שלום, 😀 \u2028 " + "and very long " * 12,
)
WIDTH, HEIGHT = 1280, 800


# --- the pages --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    """One browser for all of them; what needs it asks for it first, so that nothing is computed where there is none."""
    program = need("browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def event(browser) -> Audit:
    """One event, with weights, subgroups and a fix."""
    rng = np.random.default_rng(0)
    p, w = rng.random(1500), rng.exponential(size=1500)
    y = rng.random(1500) < 0.2 + 0.5 * p
    by = {"site": rng.choice(["north", "south"], 1500), "<b>age</b>": rng.choice(["<40", "40+"], 1500)}
    found = audit(p, y, by=by, sample_weight=w, title="One event", progress=False)
    assert found.fix is not None
    assert found.fix.map is not None
    return found


@pytest.fixture(scope="module")
def classes(browser) -> Audit:
    """Classes and subgroups with hostile names."""
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(900, 4))
    rate = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(4, p=row) for row in rate])
    sharp = np.exp(2 * logits)
    predictions = Predictions(sharp / sharp.sum(axis=1, keepdims=True), np.array(NAMES)[labels], classes=list(NAMES))
    by = {NAMES[0]: rng.choice(np.array(NAMES[1:]), 900)}
    return audit(predictions, by=by, fix=False, title=NAMES[0], taken=NAMES[1], notes=NAMES, dropped={NAMES[2]: 2})


@pytest.fixture(scope="module")
def rare(browser) -> Audit:
    """Events so rare that all scores lie below 0.05."""
    rng = np.random.default_rng(2)
    p = 0.05 * rng.random(600)
    return audit(p, rng.random(600) < p, fix=False, title="Rare")


@pytest.fixture
def show(browser, tmp_path):
    """Opens the page of an audit; afterwards nothing may have gone wrong in any that was opened."""
    opened, wrong = [], []

    def opens(found: Audit | Audits, **options):
        path = tmp_path / f"{len(opened)}.html"
        path.write_text(found.to_html(), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": WIDTH, "height": HEIGHT}} | options)
        opened.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == path.as_uri() or wrong.append(f"request: {request.url}"))
        page.goto(path.as_uri())
        return page

    yield opens
    for context in opened:
        context.close()
    assert wrong == []


def python_numbers(slice_, bins, strategy, level):
    """What the page should show, from the same packed cells."""
    cells = slice_.cells.cells()
    stats = cells.coarsen(bins if strategy == "uniform" else cells.quantile_edges(bins))
    table = table_of(stats, level)
    full = table.n > 0
    columns = {"conf": table.conf, "acc": table.acc, "lower": table.low, "upper": table.high, "n": table.n}
    columns |= {"low": table.edges[:, 0], "high": table.edges[:, 1], "w": table.weight}
    return {
        "ece": binned_error(stats),
        "mce": binned_error(stats, "max"),
        "rmsce": binned_error(stats, 2),
        "chance": expected_by_chance(cells, stats),
        "n": int(cells.n.sum()),
        "weight": float(cells.w.sum()),
        "base": float(cells.wy.sum() / cells.w.sum()),
        "mean": float(cells.wp.sum() / cells.w.sum()),
        "bins": {name: column[full] for name, column in columns.items()},
    }


ALL_NUMBERS = """([slice, asked]) => asked.map(([strategy, bins]) => {
    believable.set({...slice, strategy, bins});
    return {...believable.numbers(), shown: document.getElementById("live-ece").textContent};
})"""


@pytest.mark.slow
@pytest.mark.parametrize("which", ["event", "classes"])
def test_every_number_is_that_of_python(which, request, show):
    """Every class, subgroup and stage, at numbers of bins that nobody computed before: equal to 1e-9."""
    found = request.getfixturevalue(which)
    page = show(found)
    asked = [*(("uniform", m) for m in UNIFORM), *(("quantile", m) for m in QUANTILE)]
    assert len(found.slices) > 8
    for one in found.slices:
        group = None if one.column is None else {"column": one.column, "level": one.level}
        selection = {"class": one.class_name, "group": group, "stage": one.stage}
        for (strategy, m), got in zip(asked, page.evaluate(ALL_NUMBERS, [selection, asked]), strict=True):
            expected = python_numbers(one, m, strategy, found.verdict.level)
            bins = expected.pop("bins")
            where = f"{selection}, {m} {strategy} bins"
            for name, value in expected.items():
                assert got[name] == pytest.approx(value, rel=1e-9, abs=1e-12), f"{name} of {where}"
            assert got["shown"] == number(got["ece"])
            assert len(got["bins"]) == len(bins["n"]), where
            for name, column in bins.items():
                assert [each[name] for each in got["bins"]] == pytest.approx(column, rel=1e-9, abs=1e-9), (
                    f"{name} of {where}"
                )


@pytest.mark.slow
@pytest.mark.parametrize("which", ["event", "classes"])
def test_the_page_begins_with_the_headline(which, request, show):
    """The first number is the audit's, with its bins, and says so."""
    found = request.getfixturevalue(which)
    page = show(found)
    assert page.evaluate("believable.numbers().ece") == pytest.approx(found.verdict.ece, abs=1e-7)
    assert page.text_content("#live-bins") == found.verdict.bins
    assert page.text_content("#live-chance") == number(found.verdict.floor)
    assert "These are the numbers of the answer above." in page.text_content("#live-note")
    assert page.text_content("#verdict-title").strip().endswith(found.verdict.headline.partition(". ")[0])
    assert page.evaluate("document.querySelector('#picture').getBoundingClientRect().bottom") <= HEIGHT
    page.check("[name=strategy][value=quantile]")
    assert "Computed in this page" in page.text_content("#live-note")


def test_other_bins_than_cells_are_made_of(event, show):
    """Nine bins cannot be made of 840 cells: the page shows the nearest it can, and says so."""
    nine = replace(event, verdict=replace(event.verdict, n_bins=9))
    page = show(nine)
    assert page.text_content("#live-bins") == "8 uniform bins"
    assert "9 bins" in page.text_content("#live-note")
    many = replace(event, verdict=replace(event.verdict, n_bins=100, strategy="quantile"))
    assert show(many).text_content("#live-bins") == "100 quantile bins"


# --- controls ---------------------------------------------------------------------------------------------------------


def test_controls_work_by_keyboard(event, show):
    """The slider, the choices and the boxes are reached with the tab key and moved with the arrows."""
    page = show(event)
    slider = page.locator("#bins")
    page.locator("[name=strategy]:checked").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "bins"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("believable.state.bins") == 12
    assert slider.get_attribute("aria-valuetext") == "12 bins"
    page.keyboard.press("Home")
    assert page.text_content("#live-bins") == "2 uniform bins"
    page.keyboard.press("End")
    assert page.text_content("#live-bins") == "60 uniform bins"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    assert page.text_content("#live-bins") == "40 quantile bins"
    page.locator("#group").focus()
    page.keyboard.press("ArrowDown")
    group = page.evaluate("believable.state.group")
    assert group == 0
    chosen = event.slices[2]  # after all rows, before and after
    assert page.text_content("#live-of") == f"{chosen.column} = {chosen.level}, before recalibration"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("believable.state.stage") == "after"
    expected = python_numbers(event.slices[3], 40, "quantile", 0.95)
    assert page.text_content("#live-ece") == number(expected["ece"])
    assert page.text_content("#live-base") == number(expected["base"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "band"
    assert page.locator(".chance").count() == 1
    page.keyboard.press("Space")
    assert page.locator(".chance").count() == 0
    page.click("#reset")
    assert page.text_content("#live-bins") == "10 uniform bins"
    assert page.locator(".chance").count() == 1


def key_numbers_shown(page):
    """The value of each key number, by its alias."""
    return dict(
        page.locator(".keys li").evaluate_all(
            "all => all.map((one) => [one.dataset.key, one.querySelector('strong').textContent])"
        )
    )


def test_key_numbers_follow_what_is_looked_at(event, classes, show):
    """Those of the audit for all rows, whatever the bins; of a subgroup what its cells say, and nothing else."""
    page = show(event)
    of_audit = key_numbers_shown(page)
    page.evaluate("believable.set({bins: 20})")
    assert key_numbers_shown(page) == of_audit
    page.select_option("#group", index=1)
    shown = key_numbers_shown(page)
    assert shown["ece"] == page.text_content("#live-ece") != of_audit["ece"]
    assert shown["smece"] == "–"
    assert shown["brier"] not in ("–", of_audit["brier"])
    assert page.text_content("[data-key=ece] .what small") == "20 uniform bins"
    assert page.text_content("#keys-of") == " of " + page.text_content("#live-of")
    assert not page.is_visible("#numbers .legend")
    page.click("#reset")
    assert key_numbers_shown(page) == of_audit
    page = show(classes)
    page.select_option("#group", index=1)
    shown = key_numbers_shown(page)
    assert shown["acc"] == page.text_content("#live-base")
    assert {shown[alias] for alias in ("brier", "nll", "sce", "tlce")} == {"–"}  # cells of confidences cannot tell
    page.select_option("#group", index=0)
    page.select_option("#class", index=1)
    assert "–" not in (key_numbers_shown(page)[alias] for alias in ("ece", "brier", "nll"))


def test_an_infinite_log_loss_is_infinite(event, show):
    """An event that had probability 0, or a non-event that had 1, costs infinitely much; the word says so."""
    page = show(event)
    certain = {"n": [3, 3], "w": [3, 3], "w2": [3, 3]}
    wrong = {"index": [0, 300], "wp": [0, 1.07], "wy": [1, 1]}, {"index": [300, 841], "wp": [1.07, 3], "wy": [1, 2]}
    right = {"index": [0, 300], "wp": [0, 1.07], "wy": [0, 1]}
    shown = "(cells) => Draw.number(Statistic.scores(cells).nll)"
    assert [page.evaluate(shown, certain | cells) for cells in wrong] == ["infinite", "infinite"]
    assert float(page.evaluate(shown, certain | right)) < 1


def test_confidences_are_called_confidences(classes, event, show):
    """Of the predicted class: confidence and accuracy; of one class, or of one event: prediction and observed rate."""
    page = show(classes)

    def terms():
        heads = page.locator("#bins-table .sort").all_text_contents()
        return [heads[0], *heads[2:4], *(page.text_content(f"#mark-{way}") for way in ("high", "low"))]

    of_confidence = ["Confidences", "Average confidence", "Accuracy", "over-confident", "under-confident"]
    of_scores = ["Scores", "Average prediction", "Observed rate", "over-predicts", "under-predicts"]
    assert terms() == of_confidence
    assert [page.text_content(f"#name-{one}") for one in ("mean", "base")] == ["average confidence", "accuracy"]
    page.select_option("#class", index=1)
    assert terms() == of_scores
    page = show(event)
    assert terms() == of_scores


def test_controls_that_cannot_work_say_why(event, show):
    """In words beside them, for everybody, and only as long as that is so."""
    page = show(event)
    assert page.get_by_role("slider", name="Number of bins").count() == 1
    assert not page.is_visible("#controls-why")
    page.select_option("#group", index=1)
    assert page.text_content("#controls-why") == "Curves are drawn for all rows before recalibration only."
    page.click("#reset")
    assert not page.is_visible("#controls-why")


def test_points_agree_with_the_evidence(event, show):
    """In the bins of the answer, a point is marked only in ranges that the evidence calls wrong."""
    page = show(event)
    rows = page.locator("#bins-table tbody tr").evaluate_all(
        "all => all.map((row) => [Number(row.cells[0].dataset.v), row.cells[6].textContent])"
    )
    marked = [low for low, words in rows if "predicts" in words]
    assert marked
    for low in marked:
        assert any(one.low < low + 0.1 and low < one.high for one in event.verdict.ranges)


def test_intervals_of_the_answer_allow_for_clusters(event, show):
    """In the bins of the answer the intervals are those of the audit; other bins are computed by row."""
    wide = tuple(replace(row, low=0.0, high=1.0) for row in event.table)
    page = show(replace(event, n_clusters=40, table=wide))
    assert "95 % interval 0.0000 to 1.0000" in page.locator("#picture .point").first.get_attribute("aria-label")
    page.evaluate("believable.set({bins: 20})")
    assert "95 % interval 0.0000 to 1.0000" not in page.locator("#picture .point").first.get_attribute("aria-label")


def test_selections_that_are_not_kept_cannot_be_chosen(classes, show):
    """A class within a subgroup that was left out is greyed."""
    few = [one for one in classes.slices if one.class_name is None or one.column is None]
    page = show(replace(classes, slices=tuple(few), left_out="Classes within subgroups are left out."))
    assert page.locator("#class option:disabled").count() == 0
    page.select_option("#group", index=1)
    assert page.locator("#class option:disabled").count() == len(NAMES)
    page.select_option("#group", index=0)
    page.select_option("#class", index=2)
    assert page.locator("#group option:disabled").count() == 3
    assert "left out" in page.text_content(".live")
    refused = "() => { try { believable.set({group: 0}); return ''; } catch (error) { return error.message; } }"
    assert page.evaluate(refused) == "the page does not hold this selection"


def test_small_diagrams_choose(classes, show):
    """A click on a small diagram looks at that class, another at all of them again; the arrows of focus stay there."""
    page = show(classes)
    assert page.locator("#small-classes button").count() == len(NAMES)
    page.locator("#small-classes button").nth(1).click()
    assert page.evaluate("believable.state.class") == 1
    assert page.locator("#small-classes button").nth(1).get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.keyboard.press("Enter")
    assert page.evaluate("believable.state.class") is None


def test_it_begins_with_what_the_answer_is_about(event, classes, show):
    """The diagram of a class or subgroup that the headline names; of all rows where it names none, or one left out."""
    assert show(event).evaluate("believable.state.group") is None
    part, label = event.subgroups[1], classes.parts[1].name
    about = f"{part.column} = {part.name}"
    named = Finding("subgroup", "use with care", f"For {about}, it is wrong.", about)
    page = show(replace(event, verdict=replace(event.verdict, findings=(named,))))
    assert page.text_content("#live-of").startswith(about)
    page.select_option("#group", "")
    page.click("#reset")
    assert page.text_content("#live-of").startswith(about)
    of_class = Finding("class", "use with care", "It is wrong.", f"class {label}")
    page = show(replace(classes, verdict=replace(classes.verdict, findings=(of_class,))))
    assert page.text_content("#live-of") == f"all rows, class {label}"
    missing = Finding("class", "use with care", "It is wrong.", "class that was left out")
    page = show(replace(classes, verdict=replace(classes.verdict, findings=(missing,))))
    assert page.text_content("#live-of") == "all rows"


def test_curves_are_of_all_rows(event, show):
    """Curves are drawn where asked, and not for subgroups, which they are not about."""
    page = show(event)
    assert page.locator("#picture .curve").count() == 0
    page.check("#smoothed")
    page.check("#corp")
    assert page.locator("#picture .curve").count() == 2
    page.select_option("#group", index=1)
    assert page.locator("#picture .curve").count() == 0
    assert page.is_disabled("#corp")


@pytest.mark.slow
def test_rare_events_are_zoomed(rare, event, show):
    """Scores that all lie at the left end get quantile bins and axes of their own; others the whole square."""
    page = show(rare)
    assert page.text_content("#live-bins") == "10 quantile bins"
    assert "nearly all rows lie in 1 of the 10 uniform bins of the answer" in page.text_content("#live-note")
    assert page.locator("#picture .point").count() == 10
    assert page.text_content("[data-key=ece] strong") == number(rare.verdict.ece)
    assert page.is_checked("#zoom")
    assert max(map(float, page.locator("#picture .grid text:not(.label)").all_text_contents())) < 0.2
    page.uncheck("#zoom")
    assert max(map(float, page.locator("#picture .grid text:not(.label)").all_text_contents())) == 1
    assert not show(event).is_visible("#zoom")


# --- looking closely --------------------------------------------------------------------------------------------------


def test_points_say_what_they_are(event, show):
    """Focus and mouse show range, rows, mean score, rate and interval; arrows move on, escape hides."""
    page = show(event)
    tip = page.locator(".tip")
    assert not tip.is_visible()
    points = page.locator("#picture .point")
    bins = page.evaluate("believable.numbers().bins")
    assert points.count() == len(bins) == 10
    points.first.focus()
    page.keyboard.press("ArrowRight")
    words = tip.text_content()
    for part in ("Scores 0.1 to 0.2", f"{bins[1]['n']} rows", number(bins[1]["conf"]), number(bins[1]["acc"]),
                 f"{number(bins[1]['lower'])} to {number(bins[1]['upper'])}"):  # fmt: skip
        assert part in words
        assert part in points.nth(1).get_attribute("aria-label")
    assert page.locator("#picture [tabindex='0']").count() == 1
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    points.nth(4).hover()
    assert "Scores 0.4 to 0.5" in tip.text_content()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= WIDTH


def test_the_band_is_where_chance_puts_the_points(event, show):
    """Mean score, give or take 1.96 standard deviations of the sum of outcomes of its cells."""
    page = show(event)
    got = page.evaluate(
        """() => {
            const cells = Statistic.unpack(JSON.parse(document.getElementById("audit").textContent).slices[0].data);
            return Statistic.uniformBins(cells, 4).map((bin) => Draw.byChance(cells, bin));
        }"""
    )
    cells = event.slices[0].cells.cells()
    for k, (low, high) in enumerate(got):
        here = (cells.index > 210 * k) & (cells.index <= 210 * (k + 1))
        w, conf = cells.w[here], cells.wp[here] / cells.w[here]
        middle = cells.wp[here].sum() / w.sum()
        half = 1.959963984540054 * np.sqrt((cells.w2[here] * conf * (1 - conf)).sum()) / w.sum()
        assert (low, high) == pytest.approx((max(middle - half, 0), min(middle + half, 1)), abs=1e-12)


@pytest.mark.slow
def test_tables_are_sorted_by_their_heads(event, show):
    """A head sorts by its numbers, again the other way, also by keyboard, and the order outlives a change of bins."""
    page = show(event)
    counts = "#bins-table tbody td:nth-child(2)"

    def column():
        return [int(words.replace(",", "")) for words in page.locator(counts).all_text_contents()]

    head = page.locator("#bins-table th").nth(1)
    page.locator("#bins-table .sort").nth(1).click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    page.evaluate("believable.set({bins: 20})")
    assert len(column()) == 20
    assert column() == sorted(column())
    for k in range(page.locator("table.sortable").count()):
        table = page.locator("table.sortable").nth(k)
        shown = sorted(table.locator("tbody tr").all_text_contents())
        for i in range(table.locator(".sort").count()):
            table.locator(".sort").nth(i).evaluate("each => each.click()")
        assert sorted(table.locator("tbody tr").all_text_contents()) == shown


def test_every_number_is_explained_on_demand(event, show):
    """Each question mark opens its words, by keyboard too, and escape closes them."""
    page = show(event)
    marks = page.locator(".ask")
    assert marks.count() > 20
    first = page.locator("#numbers .keys .ask").first
    first.focus()
    page.keyboard.press("Enter")
    words = page.locator("#why-ece")
    assert words.is_visible()
    assert "Mean gap between predicted probability and observed frequency" in words.text_content()
    page.keyboard.press("Escape")
    assert not words.is_visible()
    missing = "() => [...document.querySelectorAll('.ask')].filter((each) => !each.popoverTargetElement).length"
    assert page.evaluate(missing) == 0


def test_the_map_can_be_taken_along(event, show):
    """The download is the map that was learnt."""
    page = show(event)
    with page.expect_download() as started:
        page.click("#save-map")
    assert started.value.suggested_filename == "map.json"
    assert json.loads(started.value.path().read_text()) == json.loads(event.fix.map)


# --- anywhere ---------------------------------------------------------------------------------------------------------


def test_hostile_names_stay_text(classes, show):
    """Nothing runs, nothing is loaded, and the names stand where names stand."""
    page = show(classes)
    assert page.text_content("h1") == NAMES[0]
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    options = page.locator("#class option").evaluate_all("all => all.slice(1).map((each) => each.title)")
    assert sorted(options) == sorted(NAMES)
    for i in range(1, len(NAMES) + 1):
        page.select_option("#class", index=i)
        assert options[i - 1] in page.text_content("#live-of")
    page.select_option("#group", index=1)
    page.locator("#picture .point").first.focus()
    assert page.evaluate("document.querySelectorAll('b, i:not(.marks i), u, object, iframe').length") == page.evaluate(
        "document.querySelectorAll('.notions b').length"
    )


def test_the_policy_stops_what_escaping_would_miss(event, browser, tmp_path):
    """Were a script to get into the page all the same, the browser would not run it."""
    path = tmp_path / "page.html"
    path.write_text(as_page(event).replace("<main>", "<main><script>window.harmed = true</script>"), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("[window.harmed, typeof window.believable]") == [None, "object"]
    context.close()


@pytest.mark.parametrize("which", ["event", "classes"])
def test_a_phone_shows_it_without_scrolling_sideways(which, request, show):
    """At 390 pixels nothing is wider than the screen, in any state."""
    page = show(request.getfixturevalue(which), viewport={"width": 390, "height": 844}, has_touch=True)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 390
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate("believable.set({bins: 40, strategy: 'quantile', zoom: true})")
    page.select_option("#group", index=1)
    assert page.evaluate(width) <= 390
    assert page.locator("#picture svg").bounding_box()["width"] > 300


def test_dark_and_print(event, show):
    """Dark where asked, with light ink; on paper always black on white, with everything open and no controls."""
    page = show(event, color_scheme="dark")
    shade = "(name) => getComputedStyle(document.querySelector(name))[%r].match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)"
    assert page.evaluate(shade % "backgroundColor", "body") < 150
    assert page.evaluate(shade % "color", "body") > 600
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(shade % "backgroundColor", "body") == 3 * 255
    assert page.evaluate(shade % "color", "body") < 200
    for part in ("#controls", "#copy-command", ".hint >> nth=0"):
        assert not page.is_visible(part)
    assert page.is_visible("#why-ece")
    assert len(page.pdf()) > 20_000


@pytest.mark.slow
def test_eight_models_on_one_page(browser, show):
    """Every answer and the diagram on the first screen of a desk; no name, however long, widens a phone."""
    rng = np.random.default_rng(3)
    p = rng.random(800)
    two = audit_models({"a": p, "b": p**2}, rng.random(800) < p, fix=False)
    names = (NAMES[0], NAMES[3], "forest", "a very long name without any detail " * 4, "e", "f", "g", "h")
    eight = Audits(
        audits=tuple(replace(two[i % 2], title=title) for i, title in enumerate(names)),
        score=two.score,
        behind=two.behind * 7,
    )
    page = show(eight, viewport={"width": 1400, "height": 900})
    assert page.locator(".models h3").count() == page.locator(".marks li svg").count() == 8
    for part in (".models li:last-child .badge", "figure svg"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 900
    assert [words.strip() for words in page.locator(".several thead th").all_text_contents()][2] == "forest"
    assert page.locator(".ask, script").count() == 0
    phone = show(eight, viewport={"width": 390, "height": 844})
    phone.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_it_can_be_read_without_javascript(event, show):
    """Verdict, numbers, tables and a still picture; no control that would do nothing."""
    page = show(event, java_script_enabled=False)
    for part in ("#verdict .lead", "#numbers .keys", "#picture svg", "#bins-table", "#from dl"):
        assert page.is_visible(part)
    for part in ("#controls", ".live", ".buttons"):
        assert not page.is_visible(part)
