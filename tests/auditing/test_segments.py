"""Segments that a search found, in the audit and in its reports."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from believable import Audit, Predictions, audit
from believable.auditing.slices import SliceKey
from believable.errors import InputError, UndefinedError
from believable.inference.segments import find_segments
from believable.readers import Loaded
from believable.report.parts import FoundSegment, SegmentSearch
from believable.stats import SegmentStats, Summary
from tests.auditing.data import few_metrics

N = 6000


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Metrics that only take time here are left out."""
    with pytest.MonkeyPatch.context() as patch:
        few_metrics(patch)
        yield


def planted(factor=0.55, n=N, seed=0):
    """Scores that are right, except those of young rows in the south, which are too high."""
    rng = np.random.default_rng(seed)
    p, site, age = rng.random(n), rng.choice(["north", "south", "west"], n), rng.integers(20, 80, n)
    wrong = (site == "south") & (age <= 34)
    y = (rng.random(n) < np.where(wrong, factor * p, p)).astype(int)
    return p, y, {"site": site, "age": age}


@pytest.fixture(scope="module")
def found():
    p, y, by = planted()
    return audit(p, y, by=by, find_segments=True, fix=False)


def test_records_are_those_of_the_search(found):
    """Each number is that of `find_segments` on the same columns."""
    p, y, by = planted()
    expected = find_segments(p, y, by)
    assert found.segments.searched == expected.searched
    assert found.segments.columns == expected.columns == ("site", "age")
    for record, one in zip(found.segments.found, expected, strict=True):
        names = (
            "where",
            "n",
            "mean_score",
            "rate",
            "expected",
            "gap",
            "low",
            "high",
            "p_value",
            "adjusted",
            "direction",
        )
        assert [getattr(record, name) for name in names] == [getattr(one, name) for name in names]
    assert list(found.segments.found[0].where) == ["site", "age"]


def test_the_records_describe_the_rows(found):
    """Rows, average prediction and observed rate, counted one by one."""
    p, y, by = planted()
    one = found.segments.found[0]
    most = int(one.where["age"].removeprefix("up to "))
    rows = [i for i in range(N) if by["site"][i] == "south" and by["age"][i] <= most]
    assert one.n == len(rows)
    assert one.mean_score == pytest.approx(sum(p[i] for i in rows) / len(rows), rel=1e-12)
    assert one.rate == pytest.approx(sum(y[i] for i in rows) / len(rows), rel=1e-12)
    assert one.gap == pytest.approx(one.rate - one.expected, abs=1e-15)


def test_subgroups_are_the_levels_that_were_searched(found):
    """Numbers are cut into ranges, as in the search, and a note says where."""
    names = {(part.column, part.name) for part in found.subgroups}
    assert {name for column, name in names if column == "site"} == {"north", "south", "west"}
    assert len({name for column, name in names if column == "age"}) == 4
    assert any("age was cut into ranges at" in note for note in found.segments.notes)


def test_the_answer_names_the_segment(found):
    """Rather than a subgroup that contains it; the diagram begins with it, and the advice is about it."""
    name = found.segments.found[0].name
    assert found.verdict.findings[0].about == name
    assert found.verdict.headline.split(". ")[1].startswith(f"For {name}, on average it says ")
    assert name in found.advice[0]
    one = found.slices[1]
    assert f"{one.column} = {one.level}" == name
    start = json.loads(re.search(r'id="audit">(.*?)</script>', found.to_html(), re.DOTALL)[1])["start"]
    assert start == 1


def test_all_reports_show_the_segment(found):
    """Text, short text, Markdown and HTML have the segment, its rates and what was searched."""
    one = found.segments.found[0]
    for report in (found.to_text(), found.to_markdown()):
        assert one.name in report.replace("\\", "")
        assert f"{one.rate:.4f}" in report
        assert f"Searched: {found.segments.searched} segments of at least 30 rows by site, age." in report
    assert f"{one.name} ({one.n:,} rows): average prediction " in str(found)
    page = found.to_html()
    section = page.split('<section id="segments"')[1].split("</section>")[0]
    for words in ("south", f"{one.rate:.4f}", f"{one.expected:.4f}", "lower rate", "svg", "Searched: "):
        assert words in section


def test_round_trip_and_older_files(found):
    """JSON holds the search, and audits that were saved before there was one still load."""
    assert Audit.from_json(found.to_json()) == found
    saved = found.to_dict()
    del saved["segments"]
    older = Audit.from_dict(saved)
    assert older.segments is None
    assert "Segments that differ" not in older.to_text() + older.to_html() + str(older)


def test_nothing_found_is_no_proof():
    """A calibrated model: a sentence says how much was searched, in every report."""
    p, y, by = planted(factor=1.0, seed=3)
    quiet = audit(p, y, by=by, find_segments=True, fix=False)
    assert quiet.segments.found == ()
    words = "No segment clearly differs from the other rows. Searched: "
    for report in (str(quiet), quiet.to_text(), quiet.to_markdown(), quiet.to_html()):
        assert words in report
        assert "no proof that all are alike" in report


def test_without_the_option_nothing_is_searched():
    """`by` alone gives subgroups, as before; the option must be given as a truth value."""
    p, y, by = planted(n=500)
    plain = audit(p, y, by={"site": by["site"]}, fix=False)
    assert plain.segments is None
    assert not any(one.level and " and " in one.level for one in plain.slices)
    with pytest.raises(InputError, match="find_segments must be True or False, got 'yes'"):
        audit(p, y, by=by, find_segments="yes")
    with pytest.raises(InputError, match="by is missing: pass the columns of segments"):
        audit(p, y, find_segments=True)


def test_columns_without_segments_are_named():
    """A constant column and one that identifies rows are left out of both tables, with a sentence."""
    p, y, by = planted(n=1500)
    by |= {"name": [f"row {i}" for i in range(1500)], "country": ["CH"] * 1500}
    result = audit(p, y, by=by, find_segments=True, fix=False)
    assert result.segments.columns == ("site", "age")
    assert {part.column for part in result.subgroups} == {"site", "age"}
    said = " ".join(result.segments.notes)
    assert "Column name has 1,500 values in 1,500 rows: it identifies rows" in said
    assert "Column country is 'CH' in every row" in said
    with pytest.raises(UndefinedError, match="there are no segments: column country is 'CH' in every row"):
        audit(p, y, by={"country": by["country"]}, find_segments=True)


def test_missing_values_are_a_level():
    """None in a column of text makes a subgroup and can make a segment."""
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    site = rng.choice(np.array(["a", "b", None], object), 4000)
    unknown = np.array([one is None for one in site])
    y = (rng.random(4000) < np.where(unknown, 0.6 * p, p)).astype(int)
    result = audit(p, y, by={"site": site}, find_segments=True, fix=False)
    assert [one.where for one in result.segments.found] == [{"site": "missing"}]
    assert ("site", "missing", int(unknown.sum())) in {(part.column, part.name, part.n) for part in result.subgroups}


def test_a_summary_is_searched_by_single_columns():
    """Its subgroups are the segments; without any, there is nothing to search."""
    p, y, by = planted()
    site = by["site"]
    y = np.where((site == "west") & (np.random.default_rng(1).random(N) < 0.4), 0, y)
    summary = Summary.of(Predictions(p, y), by={"site": site})
    result = audit(summary, find_segments=True, fix=False)
    assert [one.where for one in result.segments.found][:1] == [{"site": "west"}]
    assert result.segments.searched == 3
    assert Audit.from_json(result.to_json()) == result
    with pytest.raises(InputError, match="searched in the subgroups of a summary, and it counted none"):
        audit(Summary.of(Predictions(p, y)), find_segments=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_statistic_can_be_searched_instead(dtype):
    """Counted elsewhere from the same rows: beside a summary it brings intersections; other rows are refused."""
    p, y, by = planted()
    rows = Predictions(p.astype(dtype), y)
    stats = SegmentStats.of(rows, by)
    result = audit(Summary.of(rows), find_segments=stats, fix=False)
    assert len(result.segments.found[0].where) == 2
    assert result.segments == audit(rows, find_segments=stats, fix=False).segments
    about = result.segments.found[0].name
    assert result.verdict.findings[0].about == about
    assert (
        result.verdict.findings[0].words == audit(rows, by=by, find_segments=True, fix=False).verdict.findings[0].words
    )
    assert result.advice[0].endswith("fits one to counts of believable.engines.segment_stats.")
    with pytest.raises(InputError, match="find_segments counts 6,000 rows, but the predictions have 5,999"):
        audit(p[1:], y[1:], find_segments=stats)


def test_scores_on_edges_beside_a_summary():
    """The mean of an entry of float32 scores may lie beyond an edge that is rounded to float32."""
    p, y, by = planted()
    rows = Predictions(np.round(p, 2).astype(np.float32), y)
    found = audit(Summary.of(rows), find_segments=SegmentStats.of(rows, by), fix=False)
    assert found.verdict.findings[0].about == found.segments.found[0].name


def test_loaded_files_bring_their_columns():
    """`Loaded` is audited by its own columns; rows of weight 0 do not count."""
    p, y, by = planted()
    w = np.ones(N)
    w[:500] = 0
    one = Loaded(Predictions(p, y), "file", "scores p", by=by)
    assert audit(one, find_segments=True, fix=False).segments.columns == ("site", "age")
    weighted = audit(p, y, by=by, find_segments=True, sample_weight=w, fix=False)
    rest = audit(
        p[500:], y[500:], by={name: values[500:] for name, values in by.items()}, find_segments=True, fix=False
    )
    assert [a.where for a in weighted.segments.found] == [b.where for b in rest.segments.found]
    assert [a.n for a in weighted.segments.found] == [b.n for b in rest.segments.found]


def test_a_matrix_is_searched_by_its_predicted_class():
    """The rate is then the accuracy; independent labels have none."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1.0] * 3, 3000)
    site = rng.choice(["a", "b"], 3000)
    y = np.array([rng.choice(3, p=row) for row in q])
    wrong = (site == "b") & (rng.random(3000) < 0.5)
    y[wrong] = rng.integers(0, 3, wrong.sum())
    result = audit(Predictions(q, y), by={"site": site}, find_segments=True, fix=False)
    assert {one.where["site"] for one in result.segments.found} <= {"a", "b"}
    assert result.segments.found
    labels = (rng.random((100, 3)) < 0.5).astype(int)
    with pytest.raises(UndefinedError, match="segments need one score per row"):
        audit(Predictions(rng.random((100, 3)), labels, multilabel=True), by=site[:100], find_segments=True)


def test_many_columns_are_combined_less():
    """Thirteen columns: pairs only, and a note says so."""
    rng = np.random.default_rng(0)
    p = rng.random(600)
    y = (rng.random(600) < p).astype(int)
    by = {f"c{i}": rng.choice(["a", "b"], 600) for i in range(13)}
    result = audit(p, y, by=by, find_segments=True, fix=False)
    assert result.segments.searched == 13 * 2 + 13 * 12 // 2 * 4
    assert "pairs of columns, but no three columns" in " ".join(result.segments.notes)


# --- words ------------------------------------------------------------------------------------------------------------


def record(**changes):
    usual = {"where": {"a": "b"}, "n": 1200, "mean_score": 0.5, "rate": 0.4, "expected": 0.52, "gap": -0.12}
    usual |= {"low": -0.15, "high": -0.09, "p_value": 1e-6, "adjusted": 1e-4, "direction": "over-predicted"}
    return FoundSegment(**usual | changes)


@pytest.mark.parametrize(
    ("direction", "words", "way"),
    [
        (
            "over-predicted",
            "average prediction 50.0 %, observed rate 40.0 %; 52.0 % in other rows with the same scores",
            "lower rate",
        ),
        (
            "under-predicted",
            "average prediction 50.0 %, observed rate 40.0 %; 52.0 % in other rows with the same scores",
            "higher rate",
        ),
        ("over-confident", "its observed rate rises less with the score than in other rows", "rises less"),
        ("under-confident", "its observed rate rises more with the score than in other rows", "rises more"),
    ],
)
def test_segments_in_words(direction, words, way):
    one = record(direction=direction)
    assert words in one.in_words
    assert one.way == way


def test_searches_in_words():
    search = SegmentSearch((), ("a", "b"), 1, 30, 0.05, 0.95)
    assert search.in_words.startswith("No segment clearly differs from the other rows. Searched: 1 segment of at least")
    search = SegmentSearch((record(),), ("a",), 2100, 30, 0.05, 0.95)
    assert search.in_words.startswith("Searched: 2,100 segments of at least 30 rows by a.")


def test_slices_are_named_after_segments():
    """The column and the level together are the name of the segment, whatever its columns are called."""
    for where in ({"a": "1"}, {"a = b": "1", "c": "2"}, {"x": "up to 3", "y": "b", "z": "c"}):
        column, level = SliceKey(None, where).names
        assert f"{column} = {level}" == record(where=where).name
