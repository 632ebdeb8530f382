"""The page is one file that needs nothing else, and the cell of a notebook is a fragment without a script."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from believable import Predictions, audit
from believable.readers import load_demo
from believable.report.document import Audit
from believable.report.html import as_cell, as_page
from believable.report.html.sections import _key_number, key_numbers
from believable.report.html.svg import bar, next_round_number
from believable.report.html.words import name, number, share
from tests.needs import real_data

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"double' single & {{7*7}} ${x} $title %s {0}",
    "emoji 😀 line \u2028 paragraph \u2029 null \x00 bell \x07.",
    "right to left שלום \u202e override",
    "very long " + "name" * 100,
)
VOID = {"meta", "input", "hr", "br"}


def some_classes(k, n=2000, seed=0, names=None, **options):
    """An over-confident model of k classes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k))
    rate = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(k, p=row) for row in rate])
    sharp = np.exp(2 * logits)
    names = [f"class {j}" for j in range(k)] if names is None else list(names)
    predictions = Predictions(sharp / sharp.sum(axis=1, keepdims=True), np.array(names)[labels], classes=names)
    return audit(predictions, progress=False, **options)


@pytest.fixture(scope="module")
def hostile() -> Audit:
    """Everything that can come from a file, as nasty as it gets."""
    by = {HOSTILE[0]: np.resize(np.array(HOSTILE[1:4]), 600)}
    found = some_classes(6, 600, names=HOSTILE, by=by, fix=False, title=HOSTILE[1], taken=HOSTILE[2], notes=HOSTILE)
    return replace(found, other=HOSTILE[0], dropped={HOSTILE[1]: 3}, left_out=HOSTILE[0], package=HOSTILE[0])


@pytest.fixture(scope="module")
def demo() -> Audit:
    """The model of the demo, with a fix and another to compare with."""
    models = load_demo()
    return audit(models["naive_bayes"], compare_with=models["logistic"], title="naive Bayes", progress=False)


class Reader(HTMLParser):
    """Elements, their attributes and their text; unbalanced ones are an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> in the wrong place"

    def handle_data(self, data):
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")

    def all(self, tag):
        return [attributes for found, attributes in self.elements if found == tag]


def data_of(page):
    """What the script reads."""
    return json.loads(re.search(r'<script type="application/json" id="audit">(.*?)</script>', page, re.S)[1])


@pytest.mark.slow
def test_a_page_says_what_the_audit_says(demo):
    """Verdict, key numbers, advice, tables and provenance are in the HTML itself, before any script runs."""
    read = Reader(as_page(demo))
    for words in (
        demo.verdict.label,
        *demo.verdict.headline.split(". ", 1),
        *demo.advice,
        *demo.caveats,
        demo.fix.advice,
        demo.no_fix,
    ):
        assert words in read.text
    for one in demo.metrics:
        assert number(one.value) in read.text
    assert "10 uniform bins" in read.text
    for said in (demo.advice[0], demo.fix.advice, demo.verdict.headline.split(". ", 1)[1]):
        assert read.text.count(said) == 1
    captions = sum(tag == "caption" for tag, _ in read.elements)
    assert captions == 5  # changes, tried, comparison, bins, numbers


@pytest.mark.slow
@pytest.mark.parametrize("which", ["demo", "hostile"])
def test_a_page_is_well_formed_and_accessible(which, request):
    """Elements are balanced, ids are unique and pointed to, headings go down in steps of one, pictures have words."""
    read = Reader(as_page(request.getfixturevalue(which)))
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in read.elements:
        for pointer in ("popovertarget", "aria-labelledby"):
            assert attributes.get(pointer) is None or attributes[pointer] in ids
        target = attributes.get("href")
        assert target is None or target.removeprefix("#") in ids
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert read.all("html")[0]["lang"] == "en"
    for picture in read.all("svg"):
        assert picture.get("aria-hidden") == "true" or picture.get("aria-label")


@pytest.mark.parametrize("which", ["demo", "hostile"])
def test_a_page_needs_no_network(which, request):
    """No address stands in it but the section marks, and its policy forbids all that is not inside."""
    page = as_page(request.getfixturevalue(which))
    assert not re.search(r"(?i)https?:|//[a-z]+\.[a-z]|@import|url\((?!#)", page.split('id="audit">')[0])
    read = Reader(page)
    for tag, attributes in read.elements:
        assert "src" not in attributes
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
        assert not any(key.startswith("on") for key in attributes)
    policy = next(one["content"] for one in read.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


def test_names_from_a_file_stay_text(hostile):
    """A class called <script> makes no element, ends none, and is shown as it is."""
    page = as_page(hostile)
    read = Reader(page)
    assert len(read.all("script")) == 2
    assert len(read.all("style")) == 1
    assert not read.all("img")
    for words in HOSTILE[:3]:
        assert words in read.text
    assert "49" not in re.findall(r"double' single & (\S+)", read.text)
    assert "null \ufffd bell \ufffd." in read.text  # HTML has no such characters
    assert HOSTILE[5][:120] + "…" in read.text  # endless names are cut where they stand alone


def test_the_data_of_a_page_cannot_end_its_element(hostile):
    """Angle brackets, ampersands and line separators are escaped in the JSON, and it reads back as it was."""
    page = as_page(hostile)
    raw = re.search(r'id="audit">(.*?)</script>', page, re.S)[1]
    assert not set(raw) & set("<>&\u2028\u2029")
    data = json.loads(raw)
    assert set(data["classes"]) == set(HOSTILE)
    assert {(one["column"], one["level"]) for one in data["groups"]} == {(HOSTILE[0], level) for level in HOSTILE[1:4]}


def test_a_lone_surrogate_does_not_break_a_page(demo):
    """What cannot be written as UTF-8 is replaced."""
    page = as_page(replace(demo, title="half \ud83d pair"))
    page.encode("utf-8")
    assert "half ? pair" in page


def test_no_result_is_embedded(demo):
    """The script gets cells, curves and the map, and nothing that was computed for some number of bins."""
    data = data_of(as_page(demo))
    assert set(data) == {
        "bins", "strategy", "kind", "confidence", "clustered", "pooled", "level", "classes", "groups", "start", "slices",
        "lines", "map",
    }  # fmt: skip
    assert {key for one in data["slices"] for key in one} == {"class", "group", "stage", "data"}
    assert [one["data"] for one in data["slices"]] == [one.cells.data for one in demo.slices]
    assert (data["bins"], data["strategy"]) == (10, "uniform")
    assert json.loads(data["map"]) == json.loads(demo.fix.map)


def test_what_cannot_be_drawn_is_left_out(demo):
    """A curve with a hole, or with nothing, is no reason to fail."""
    nan, inf = float("nan"), float("inf")
    hole = replace(demo.lines[0], x=(0.1, 0.2, 0.3), y=(0.1, nan, 0.3), low=(0.0, 0.1, 0.2), high=(0.2, 0.3, inf))
    data = data_of(as_page(replace(demo, lines=(hole, replace(hole, y=(nan, nan, nan))))))
    assert data["lines"][0] == {"method": "smoothed", "x": [0.1], "y": [0.1], "low": [0.0], "high": [0.2]}
    assert data["lines"][1]["x"] == []


@pytest.mark.slow
def test_a_page_of_ten_classes_is_small():
    """Below 300 KB with ten classes, before and after, whole and in subgroups."""
    found = some_classes(10, 3000, by={"half": np.arange(3000) % 2, "fifth": np.arange(3000) % 5})
    assert "after" in {one.stage for one in found.slices}
    assert found.left_out  # it is as large as it gets
    assert len(as_page(found).encode()) < 300_000


@pytest.mark.slow
def test_a_page_of_a_real_network_is_small():
    """Below 300 KB for ten thousand pictures in ten classes."""
    with np.load(real_data() / "cifar10_lenet5.npz") as arrays:
        found = audit(arrays["probs"], arrays["labels"], by=np.arange(10_000) % 2, progress=False)
    assert len(as_page(found).encode()) < 300_000


ODD = {
    "five rows": lambda: audit([0.1, 0.4, 0.35, 0.8, 0.9], [0, 0, 1, 1, 1], progress=False),
    "one score": lambda: audit(np.full(50, 0.3), np.arange(50) % 4 == 0, fix=False),
    "perfect": lambda: audit([0.0, 1.0] * 20, [0, 1] * 20, pairs=True, fix=False),
    "two rows": lambda: audit([0.2, 0.7], [0, 1], fix=False, n_bins=9, strategy="quantile"),
    "labels": lambda: audit(
        Predictions(np.tile([[0.2, 0.9]], (30, 1)), np.tile([[0, 1]], (30, 1)), multilabel=True), fix=False
    ),
}


@pytest.mark.parametrize("which", ODD)
def test_small_and_odd_audits_have_a_page(which):
    """Few rows, one score, infinite intervals, no fix: still a page and a cell."""
    found = ODD[which]()
    read = Reader(as_page(found))
    assert all(words in read.text for words in found.verdict.headline.split(". ", 1))
    assert "nan" not in read.text.split("Skip to")[1].split("const")[0]
    read = Reader(as_cell(found))
    assert all(words in read.text for words in found.verdict.headline.split(". ", 1))


def test_a_cell_is_small_and_has_no_script(demo, hostile):
    """A few kilobytes, no script, no style sheet, nothing that the file could have put there."""
    assert len(as_cell(demo)) < 12_000
    assert demo._repr_html_() == as_cell(demo)
    read = Reader(as_cell(hostile))
    tags = {tag for tag, _ in read.elements}
    assert tags <= {
        "div",
        "p",
        "span",
        "strong",
        "bdi",
        "ul",
        "li",
        "table",
        "tr",
        "th",
        "td",
        "svg",
        "rect",
        "path",
        "text",
        "title",
        "circle",
        "code",
    }
    assert hostile.verdict.label in read.text
    assert number(hostile.verdict.ece) in read.text


def test_an_audit_read_back_makes_the_same_page(demo):
    """The page is a function of the audit's data alone."""
    assert as_page(Audit.from_json(demo.to_json())) == as_page(demo)


def test_numbers_and_names_as_words():
    """Four digits, two that count for small ones, a proper minus; names are isolated and cut."""
    assert [number(x) for x in (0.12345, -0.5, 0.00012, 0.0, None, float("nan"), float("inf"), -float("inf"))] == [
        "0.1235", "−0.5000", "0.00012", "0.0000", "–", "–", "infinite", "−infinite",
    ]  # fmt: skip
    assert name("<b>") == "<bdi>&lt;b&gt;</bdi>"
    assert name("x" * 121) == f'<bdi title="{"x" * 121}">{"x" * 120}…</bdi>'


def test_what_four_digits_round_to_nothing_is_nothing():
    """No number has an exponent; how often a rare event happens keeps two digits that count."""
    assert [number(x) for x in (2.6e-5, -2.6e-5, 4.99e-5, 5.1e-5, 0.00009999)] == [
        "0.0000", "0.0000", "0.0000", "0.000051", "0.00010",
    ]  # fmt: skip
    assert [share(x) for x in (2.6e-5, -2.6e-5, 1e-12, 0.5, None)] == [
        "0.000026",
        "−0.000026",
        "0.00000000",
        "0.5000",
        "–",
    ]


def test_a_best_value_inside_the_range_is_on_the_axis(demo):
    """The bar of the slope reaches 1, which is marked, however far off the slope is."""
    slope = demo["slope"]
    assert slope.high < 0.5
    shown = key_numbers(replace(demo, metrics=(slope,)))
    assert "0<span>1</span>" in shown
    assert re.search(r'class="target" x1="98.5%"', shown)
    assert "best is 1" in shown
    ratio = replace(slope, name="observed_expected_ratio", alias="oe", value=0.4, low=0.3, high=0.5)
    assert 'class="target"' in _key_number(ratio, (0.0, 0.5))
    assert 'class="target"' not in _key_number(demo["ece"], (0.0, 0.5))


def test_clusters_that_the_live_numbers_do_not_know(demo):
    """The page says that intervals by row may be too narrow, where there are clusters, and only there."""
    sentence = "treat rows as independent, so they may be too narrow."
    assert sentence not in as_page(demo)
    assert f"{sentence} The answer and the key numbers allow for the 40 clusters." in as_page(
        replace(demo, n_clusters=40)
    )


def test_bars_stay_inside():
    """What lies outside the scale is drawn at its end."""
    drawn = bar(7.0, -3.0, float("inf"), 0.5, 9.0, (0.0, 1.0))
    assert all(0 <= float(x) <= 100 for x in re.findall(r'="([\d.]+)%"', drawn))
    assert [next_round_number(x) for x in (0, 0.011, 0.1, 0.51, 1, 3.2)] == [1, 0.012, 0.1, 0.6, 1, 4]
