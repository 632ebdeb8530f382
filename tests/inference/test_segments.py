"""Segments found by a search: what is planted is found, alone; what all rows share, or chance explains, is not."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from functools import reduce
from itertools import combinations, product
from operator import add

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom, norm

import believable
from believable import Predictions, Summary, find_segments
from believable.errors import InputError, UndefinedError
from believable.inference.segments import Segment
from believable.stats import SegmentStats

N = 4000


def expit(z):
    return 1 / (1 + np.exp(-z))


def columns(rng, n=N):
    """A column of three levels, one of two, and a quantity, which is cut into four ranges."""
    return {
        "site": rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2]),
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(20, 80, n),
    }


def planted(where=None, seed=0, n=N, shift=1.2, slope=1.0):
    """Calibrated rows, but for those of a segment, whose log-odds are shifted and multiplied."""
    rng = np.random.default_rng(seed)
    by, z = columns(rng, n), rng.normal(-0.7, 1.3, n)
    wrong = np.zeros(n, bool) if where is None else where(by)
    y = (rng.random(n) < expit(np.where(wrong, slope * z + shift, z))).astype(int)
    return expit(z), y, by


def is_south(by):
    return by["site"] == "south"


def is_south_and_f(by):
    return is_south(by) & (by["sex"] == "f")


def names(found):
    return [one.name for one in found]


def same(found, expected, tolerance=1e-6):
    """The same segments, with equal numbers up to rounding."""
    assert (found.searched, found.n, found.min_rows) == (expected.searched, expected.n, expected.min_rows)
    assert len(found)
    for one, other in zip(found, expected, strict=True):
        mine, others = asdict(one), asdict(other)
        for name in ("where", "direction"):
            assert mine.pop(name) == others.pop(name)
        assert mine == pytest.approx(others, rel=tolerance, abs=1e-200)


@pytest.fixture(scope="module")
def data():
    return planted(is_south)


@pytest.fixture(scope="module")
def found(data):
    return find_segments(*data)


# --- what is found ----------------------------------------------------------------------------------------------------


def test_a_level_is_found(data, found):
    """Alone, although it is part of many combinations; with the numbers of its rows."""
    p, y, by = data
    here = by["site"] == "south"
    (one,) = found
    assert (one.name, one.where, one.direction) == ("site = south", {"site": "south"}, "under-predicted")
    assert one.n == here.sum()
    assert one.mean_score == pytest.approx(p[here].mean(), rel=1e-12)
    assert one.rate == pytest.approx(y[here].mean(), rel=1e-12)
    assert one.gap == pytest.approx(one.rate - one.expected, abs=1e-12)
    assert one.expected == pytest.approx(p[here].mean(), abs=0.03)
    assert 0 < one.low < one.gap < one.high
    assert one.slope_low < 1 < one.slope_high
    assert 0 < one.p_value <= one.adjusted <= 0.05


@pytest.mark.parametrize("shift", [1.5, -1.5])
def test_an_intersection_is_found_once(shift):
    """Neither its two columns, whose levels overlap with it, nor a part of it is found beside it."""
    found = find_segments(*planted(is_south_and_f, shift=shift))
    assert names(found) == ["site = south and sex = f"]
    assert found[0].direction == ("under-predicted" if shift > 0 else "over-predicted")


def test_three_columns_are_combined():
    """Ranges of a quantity too; with fewer columns, only parts of the truth can be found."""
    data = planted(lambda by: is_south_and_f(by) & (by["age"] <= 34), n=20_000, shift=2.0)
    assert [len(one.where) for one in find_segments(*data)] == [3]
    assert max(len(one.where) for one in find_segments(*data, depth=2)) == 2
    assert {len(one.where) for one in find_segments(*data, depth=1)} == {1}


def test_several_segments_are_found():
    """Each adds to the model, in which the others are tested."""
    rng = np.random.default_rng(1)
    by, z = columns(rng, 20_000), rng.normal(-0.7, 1.3, 20_000)
    truth = z + 0.9 * (by["site"] == "south") - 0.8 * ((by["site"] == "west") & (by["sex"] == "m"))
    found = find_segments(expit(z), rng.random(20_000) < expit(truth), by)
    assert sorted(names(found)) == ["site = south", "site = west and sex = m"]
    assert [one.p_value for one in found] == sorted(one.p_value for one in found)


@pytest.mark.parametrize(("slope", "direction"), [(0.3, "over-confident"), (2.5, "under-confident")])
def test_a_slope_is_found(slope, direction):
    """Where the rate rises too slowly or too fast, around the same average."""
    (one,) = find_segments(*planted(is_south, shift=-0.7 * (1 - slope), slope=slope))
    assert (one.name, one.direction) == ("site = south", direction)
    assert one.slope_low < slope < one.slope_high


def test_of_two_levels_the_wrong_one_is_named():
    """Each differs from the other as surely; the one whose scores are worse is meant."""
    for level in "fm":
        found = find_segments(*planted(lambda by, level=level: by["sex"] == level))
        assert names(found) == [f"sex = {level}"]


def test_missing_is_a_level():
    """NaN and None."""
    p, y, by = planted(is_south)
    for gone in (None, np.nan):
        site = np.where(is_south(by), gone, by["site"].astype(object))
        assert names(find_segments(p, y, {"site": site})) == ["site = missing"]


def test_classes():
    """Of a matrix, the probability of the predicted class counts."""
    rng = np.random.default_rng(2)
    matrix, site = rng.dirichlet(np.ones(3), N), rng.choice(["north", "south"], N)
    labels = np.array([rng.choice(3, p=row) for row in matrix])
    labels = np.where(site == "south", rng.integers(0, 3, N), labels)
    found, top = find_segments(matrix, labels, {"site": site}), matrix.argmax(axis=1)
    assert (names(found), found[0].direction) == (["site = south"], "over-predicted")
    same(found, find_segments(matrix[np.arange(N), top], (labels == top).astype(int), {"site": site}), 1e-9)


# --- what is not found ------------------------------------------------------------------------------------------------


def all_alike(rng, n=N):
    """Rows that are miscalibrated in the same way everywhere, though sites have different scores."""
    by = columns(rng, n)
    z = rng.normal(-0.7, 1.3, n) + 1.2 * (by["site"] == "south")
    return expit(z), (rng.random(n) < expit(0.5 * z + 0.4 * np.sin(2 * z) - 0.8)).astype(int), by


def test_an_error_of_all_rows_is_no_segment():
    """The verdict says it; no segment differs from the rest."""
    p, y, by = all_alike(np.random.default_rng(3), 20_000)
    assert believable.expected_calibration_error(p, y) > 0.1
    found = find_segments(p, y, by)
    assert len(found) == 0
    assert found.searched > 50


@pytest.mark.parametrize("rates", [np.zeros(N, int), np.ones(N, int)], ids=["no events", "only events"])
def test_outcomes_of_one_class_have_no_segments(rates):
    rng = np.random.default_rng(4)
    assert len(find_segments(rng.random(N), rates, columns(rng))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [600, 5000])
def test_chance_is_seldom_found(n):
    """Where there are no segments, anything is found in at most a share `rate` of all data sets (and 3 deviations)."""
    draws, rate = 300, 0.05
    false = sum(len(find_segments(*all_alike(np.random.default_rng(i), n), rate=rate)) > 0 for i in range(draws))
    assert false / draws <= rate + 3 * math.sqrt(rate * (1 - rate) / draws)


@pytest.mark.slow
def test_the_false_discovery_rate():
    """Of the segments found beside true ones, few are false on average; and what is true is found."""
    draws, rate, shares, hits = 100, 0.1, [], 0
    for seed in range(draws):
        found = names(find_segments(*planted(is_south, seed=seed, shift=0.8), rate=rate))
        shares.append(sum(name != "site = south" for name in found) / max(len(found), 1))
        hits += "site = south" in found
    assert np.mean(shares) <= rate + 3 * np.std(shares) / math.sqrt(draws)
    assert hits == draws


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1, 4])
@pytest.mark.parametrize(("shift", "slope"), [(0.8, 1.0), (0.0, 0.5), (-0.3, 1.8), (2.0, 0.2)])
def test_estimates_are_what_was_planted(share, shift, slope):
    """From rates without noise: gap and slope are relative to the other rows, however few or many they are."""
    p, y, site = [], [], []
    for score, (place, size) in product([0.1, 0.3, 0.5, 0.7, 0.9], [("a", 10_000 * share), ("b", 10_000)]):
        z = 0.6 * math.log(score / (1 - score)) - 0.4  # all rows are miscalibrated
        rate = expit(slope * z + shift if place == "a" else z)
        p += [score] * size
        y += [1] * round(size * rate) + [0] * (size - round(size * rate))
        site += [place] * size
    rest = ["c", "d"] * (len(site) // 2)
    (one,) = find_segments(p, y, {"site": [s if s == "a" else r for s, r in zip(site, rest, strict=True)]}, rate=1e-6)
    common = [expit(0.6 * math.log(score / (1 - score)) - 0.4) for score in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert one.name == "site = a"
    assert one.expected == pytest.approx(np.mean(common), abs=2e-3)
    assert one.slope == pytest.approx(slope, abs=0.01)


def test_equal_scores_are_a_table_of_two_rates():
    """The gap is a difference of rates, and the p-value near that of Fisher's test of the table, doubled for slopes."""
    for n, k, rest_n, rest_k in ((500, 120, 700, 100), (40, 12, 400, 20), (35, 7, 300, 6)):
        y = np.repeat([1, 0, 1, 0], [k, n - k, rest_k, rest_n - rest_k])
        site = np.repeat(["a", "b"], [n, rest_n])
        (one,) = find_segments(np.full(len(y), rest_k / rest_n), y, {"site": site})
        assert (one.where, one.slope) == ({"site": "a"}, None)
        assert one.gap == pytest.approx(k / n - rest_k / rest_n, abs=2e-4)
        tail = hypergeom.sf(k - 1, n + rest_n, k + rest_k, n)
        assert 0.9 < one.p_value / (4 * tail) < 2.2


@pytest.mark.parametrize(("events", "sign"), [(300, 1), (0, -1)])
def test_the_rate_elsewhere_is_uncertain_too(events, sign):
    """Where a segment has events only, or none, the interval is that of the other rows' rate, and there is no slope."""
    rng = np.random.default_rng(5)
    y = np.concatenate([np.repeat([1, 0], [events, 300 - events]), np.repeat([1, 0], 300)])
    p = np.full(900, 0.3) if events else rng.choice([0.3, 0.4], 900)
    (one,) = find_segments(p, y, {"site": np.repeat(["a", "b"], [300, 600])})
    assert one.slope is one.slope_low is one.slope_high is None
    deviation = norm.isf(0.025 / 2) * math.sqrt(0.5 * 0.5 / 600)  # one of two segments was found
    outer = one.high if sign > 0 else one.low
    assert one.gap == pytest.approx(sign * 0.5, abs=0.02)
    assert sign * (outer - one.gap) == pytest.approx(deviation, rel=0.05)


def literal_adjusted(p_values, searched):
    """Benjamini and Hochberg: the least p m / k over this and all larger p-values."""
    ranked = sorted(p_values)
    return [min(q * searched / (k + 1) for k, q in enumerate(ranked) if q >= p) for p in p_values]


def test_adjusted_p_values():
    """They allow for all segments searched, and are at most the rate."""
    rng = np.random.default_rng(6)
    by, z = columns(rng), rng.normal(size=N)
    truth = z + 0.5 * (by["site"] == "south") - 0.5 * (by["sex"] == "f") + 0.5 * (by["age"] > 65)
    found = find_segments(expit(z), rng.random(N) < expit(truth), by, rate=0.2)
    assert len(found) >= 3
    adjusted = [one.adjusted for one in found]
    assert adjusted == pytest.approx(literal_adjusted([one.p_value for one in found], found.searched), rel=1e-9)
    assert adjusted == sorted(adjusted)
    assert adjusted[-1] <= 0.2


def test_intervals_allow_for_the_search():
    """Among more segments, and with a higher level, they are wider; estimates stay."""
    p, y, by = planted(is_south)
    few, many = find_segments(p, y, {"site": by["site"]})[0], find_segments(p, y, by)[0]
    sure = find_segments(p, y, by, level=0.999)[0]
    for narrow, wide in ((few, many), (many, sure)):
        assert wide.low < narrow.low
        assert narrow.high < wide.high
        assert wide.slope_low < narrow.slope_low
        assert wide.gap == pytest.approx(narrow.gap, abs=1e-4)  # with more columns, mean scores of cells are finer


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-8.0, -1.0, 1.0, 3.0, 50.0])
def test_intervals_hold_the_truth(shift):
    """Also where nearly all rows, or hardly any, have an event; nominally, 1.7 % miss it."""
    n, draws, missed, slopes = 2000, 120, 0, 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        z, site = rng.normal(-0.5, 1.5, n), rng.choice(["a", "b", "c"], n)
        truth = expit(z + shift * (site == "a"))
        (one, *_) = find_segments(expit(z), rng.random(n) < truth, {"site": site})
        gap = (truth - expit(z))[site == "a"].mean()
        missed += one.name == "site = a" and not one.low <= gap <= one.high
        slopes += one.slope is not None and one.name == "site = a" and not one.slope_low <= 1 <= one.slope_high
    assert missed <= 7
    assert slopes <= 7


# --- what does not matter ---------------------------------------------------------------------------------------------


def test_the_order_of_rows_and_columns_does_not_matter(data, found):
    p, y, by = data
    order = np.random.default_rng(7).permutation(N)
    same(find_segments(p[order], y[order], {name: values[order] for name, values in by.items()}), found)
    same(find_segments(p, y, dict(reversed(by.items()))), found)


def test_the_unit_of_weights_does_not_matter(data, found):
    """Weights that are all equal are none."""
    p, y, by = data
    w = np.random.default_rng(8).exponential(size=N)
    weighted = find_segments(p, y, by, sample_weight=w)
    for unit in (1e-9, 7, 1e9):
        same(find_segments(p, y, by, sample_weight=unit * w), weighted)
        same(find_segments(p, y, by, sample_weight=np.full(N, unit)), found)


def test_rates_with_weights_are_those_of_repeated_rows(data):
    """What is estimated is the same; how sure it is, is not, as weights are no rows."""
    p, y, by = data
    w = np.random.default_rng(9).integers(1, 4, N)
    weighted = find_segments(p, y, by, sample_weight=w)[0]
    repeated = find_segments(np.repeat(p, w), np.repeat(y, w), {k: np.repeat(v, w) for k, v in by.items()})[0]
    assert weighted.where == repeated.where
    assert weighted.mean_score == pytest.approx(repeated.mean_score, rel=1e-12)
    assert weighted.rate == pytest.approx(repeated.rate, rel=1e-12)
    assert weighted.expected == pytest.approx(repeated.expected, abs=2e-3)
    assert weighted.p_value > repeated.p_value
    assert weighted.high - weighted.low > repeated.high - repeated.low


def test_rows_without_weight_do_not_count(data):
    """They may have any outcome and level."""
    p, y, by = data
    w = (np.arange(N) % 3 > 0).astype(float)
    kept, wrong = w > 0, np.where(w > 0, y, 1 - y)
    there = find_segments(p[kept], y[kept], {name: values[kept] for name, values in by.items()})
    same(find_segments(p, wrong, by, sample_weight=w), there)


def test_a_few_heavy_rows_are_few_rows(data):
    """A segment needs as many rows of equal weight as rows."""
    p, y, by = data
    w = np.where(np.arange(N) < 5, 1e6, 1.0)
    found = find_segments(p, y, by, sample_weight=w)
    assert (len(found), found.searched) == (0, 0)


def test_a_statistic_is_as_good_as_rows(data, found):
    """Also one of parts, added, and one that was saved; or some of its columns."""
    p, y, by = data
    whole = SegmentStats.of(Predictions(p, y), by)
    same(find_segments(whole), found)
    parts = [slice(0, 700), slice(700, 2500), slice(2500, N)]
    counted = [
        SegmentStats.of(Predictions(p[part], y[part]), {name: values[part] for name, values in by.items()}, like=whole)
        for part in parts
    ]
    same(find_segments(reduce(add, counted)), found)
    same(find_segments(SegmentStats.from_dict(json.loads(json.dumps(whole.to_dict())))), found)
    same(find_segments(whole, by=["sex", "site"]), find_segments(p, y, {name: by[name] for name in ("sex", "site")}))


def test_a_summary_has_single_columns(data):
    """Which were counted one by one, as a note says."""
    p, y, by = data
    some = {name: by[name] for name in ("site", "sex")}
    found = find_segments(Summary.of(Predictions(p, y), by=some))
    assert (names(found), found.columns, found.searched) == (["site = south"], ("site", "sex"), 5)
    assert found.notes[-1].startswith("only single columns were searched, because the summary counted each by itself")
    assert found[0].gap == pytest.approx(find_segments(p, y, some, depth=1)[0].gap, abs=2e-3)
    assert names(find_segments(Summary.of(Predictions(p, y), by=some), by="site")) == ["site = south"]


def test_columns_may_come_in_any_form(data, found):
    """Data frames, series, lists, and a single column."""
    p, y, by = data
    same(find_segments(p, y, pd.DataFrame(by)), found)
    same(find_segments(Predictions(p, y), by={name: list(values) for name, values in by.items()}), found)
    assert names(find_segments(p, y, pd.Series(by["site"], name="place"))) == ["place = south"]
    assert names(find_segments(p, y, by["site"])) == ["group = south"]


def test_scores_of_0_and_1_and_next_to_them():
    """Logits without end, where scores were wrong and where they were right."""
    p, y, by = planted(is_south)
    for extreme in (0.0, 1e-300, 1e-17):
        score = np.where(p < 0.1, extreme, np.where(p > 0.8, 1 - extreme, p))
        found = find_segments(score, y, by)
        assert names(found) == ["site = south"]
        assert found[0].expected == pytest.approx(p[is_south(by)].mean(), abs=0.03)
    assert len(find_segments(y.astype(float), y, by)) == 0


# --- what is searched -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "min_rows"), [(1, None), (2, 150), (3, 1), (3, 700)])
def test_segments_that_are_searched(data, depth, min_rows):
    """Enough rows inside and outside, and fewer than each combination of fewer columns."""
    p, y, by = data
    by = by | {"copy": np.where(by["sex"] == "f", "x", "y")}  # which adds nothing to a combination with sex
    found = find_segments(p, y, by, depth=depth, min_rows=min_rows)
    cuts = [sorted(by["age"].tolist())[N * k // 4 - 1] for k in (1, 2, 3)]
    levels = by | {"age": np.searchsorted(cuts, by["age"])}
    fewest = 30 if min_rows is None else min_rows
    count = 0
    for size in range(1, depth + 1):
        for some in combinations(levels, size):
            rows = {}
            for i, key in enumerate(zip(*(levels[name].tolist() for name in some), strict=True)):
                rows.setdefault(key, []).append(i)
            for key, members in rows.items():
                wider = [
                    sum(all(levels[some[k]][i] == key[k] for k in range(size) if k != left) for i in range(N))
                    for left in range(size)
                ]
                count += fewest <= len(members) <= N - fewest and all(len(members) < n for n in wider)
    assert found.searched == count
    assert found.min_rows == fewest
    assert all(one.n >= fewest for one in found)


def test_few_rows_are_not_searched():
    """By default 30, or a thousandth of all."""
    p, y, by = planted(is_south, n=50)  # which are not 30 inside and 30 outside
    assert find_segments(p, y, by).searched == 0
    p, y, by = planted(None, n=45_000)
    assert find_segments(p, y, {"site": by["site"]}).min_rows == 45


LEFT_OUT = {
    "constant": (np.full(N, "x"), "column bad is 'x' in every row: it has no segments, and was left out"),
    "missing": ([None] * N, "column bad is missing in every row: it has no segments, and was left out"),
    "as many levels as rows": (
        [f"row {i}" for i in range(N)],
        "column bad has 4,000 values in 4,000 rows: it identifies rows, so it was left out",
    ),
    "the outcome": (None, "column bad tells the outcome: every level has only events or only non-events. It was left"),
}


@pytest.mark.parametrize("bad", LEFT_OUT)
def test_columns_without_segments_are_left_out(data, found, bad):
    """A sentence says which and why; alone, they are an error that says the same."""
    p, y, by = data
    values, sentence = LEFT_OUT[bad]
    values = np.where(y == 1, "dead", "alive") if values is None else values
    beside = find_segments(p, y, by | {"bad": values})
    same(beside, found)
    assert beside.columns == ("site", "sex", "age")
    assert any(note.startswith(sentence) for note in beside.notes)
    assert sentence in str(beside)
    with pytest.raises(UndefinedError) as caught:
        find_segments(p, y, {"bad": values})
    assert str(caught.value).startswith(f"there are no segments: {sentence}")


def test_ranges_and_combined_levels_are_noted():
    p, y, by = planted(None)
    by = {"age": by["age"], "name": np.array([f"level {i % 300}" for i in range(N)])}
    found = find_segments(p, y, by, max_levels=20, n_ranges=3)
    assert [note.split(" ")[:4] for note in found.notes] == [
        ["column", "age", "was", "cut"],
        ["column", "name", "has", "many"],
    ]


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = {
    "no columns": ({}, None, "by is missing: pass the columns of segments, as a data frame or a mapping of names"),
    "no column in the mapping": ({}, {}, "there are no segments: no columns were given"),
    "wrong length": ({}, {"site": ["a", "b"]}, "by 'site' has 2 entries, but the predictions have 4000 rows"),
    "two dimensions": ({}, {"site": np.ones((N, 2))}, "by 'site' must be 1-D, one entry per row, got shape (4000, 2)"),
    "a name": ({}, "site", "by is the text 'site': pass the column itself, such as frame['site']"),
    "a name twice": (
        {},
        pd.DataFrame(np.full((N, 2), "x"), columns=["site", "site"]),
        "by has two columns named 'site': rename one of them",
    ),
    "depth 0": ({"depth": 0}, ..., "depth must be an integer from 1 to 3, got 0"),
    "depth 4": ({"depth": 4}, ..., "depth must be an integer from 1 to 3, got 4"),
    "no rows": ({"min_rows": 0}, ..., "min_rows must be an integer at least 1, got 0"),
    "more rows than there are": ({"min_rows": N + 1}, ..., "min_rows must be at most the number of rows, 4,000, got"),
    "rate 0": ({"rate": 0}, ..., "rate must lie strictly between 0 and 1, got 0"),
    "rate 5": ({"rate": 5}, ..., "rate must be a number from 0 to 1, got 5"),
    "level 1": ({"level": 1}, ..., "level must lie strictly between 0 and 1, got 1"),
    "one level": ({"max_levels": 1}, ..., "max_levels must be an integer from 2 to 32767, got 1"),
    "one range": ({"n_ranges": 1}, ..., "n_ranges must be an integer from 2 to 32767, got 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused(data, name):
    p, y, by = data
    options, columns, reason = REFUSED[name]
    with pytest.raises((InputError, UndefinedError)) as caught:
        find_segments(p, y, by if columns is ... else columns, **options)
    assert str(caught.value).startswith(reason)


def test_control_characters_are_not_printed():
    """A value of the data cannot move the cursor of a terminal, or change its colours."""
    p, y, by = planted(is_south)
    shown = str(find_segments(p, y, {"si\x1bte": np.where(is_south(by), "\x1b[31mred\a", "b")}))
    assert "si�te = �[31mred�" in shown
    assert all(line.isprintable() for line in shown.split("\n"))


def test_bad_predictions_are_refused(data):
    """Where they are, and what they look like."""
    p, y, by = data
    with pytest.raises(InputError, match=r"predictions must be finite, got NaN \(missing\) at row 7"):
        find_segments(np.where(np.arange(N) == 7, np.nan, p), y, by)
    with pytest.raises(InputError, match="these look like logits"):
        find_segments(np.log(p / (1 - p)), y, by)


def test_statistics_bring_their_own_outcomes(data):
    """And columns; a summary without subgroups has none."""
    p, y, by = data
    stats = SegmentStats.of(Predictions(p, y), by)
    with pytest.raises(InputError, match="a SegmentStats already contains outcomes and weights: leave actuals out"):
        find_segments(stats, y)
    with pytest.raises(InputError, match="by names 'place', but the statistic counted by site, sex, age"):
        find_segments(stats, by="place")
    with pytest.raises(UndefinedError, match="the summary counted no subgroups to search: count again with by="):
        find_segments(Summary.of(Predictions(p, y)))


# --- what it says -----------------------------------------------------------------------------------------------------


def test_table(found):
    """A line for each segment, and a sentence for each word that needs one."""
    (one,) = found
    first, head, line, *rest = str(found).splitlines()
    assert first == (
        f"1 of {found.searched} segments clearly differs from the other rows, by site, sex, age (at least 30 rows; "
        "false discovery rate 0.05, 95 % intervals)"
    )
    assert head.split() == "rows predicted observed elsewhere gap interval slope adjusted p".split()
    assert line.split() == [
        *("site", "=", "south", f"{one.n:,}", f"{one.mean_score:.4f}", f"{one.rate:.4f}", f"{one.expected:.4f}"),
        *(f"{one.gap:+.4f}", f"{one.low:+.4f}", "…", f"{one.high:+.4f}", f"{one.slope:.2f}", f"{one.adjusted:.2g}"),
        one.direction,
    ]
    assert rest == [
        "gap: observed rate minus that of other rows with the same scores (elsewhere)",
        "under-predicted: scores are too low, compared with other rows",
        *found.notes,
    ]
    assert repr(found) == str(found)


def test_nothing_found_is_said():
    """And whether anything could be."""
    p, y, by = planted(None, n=200)
    found = find_segments(p, y, {"site": by["site"]})
    assert str(found) == (
        "No segment clearly differs from the other rows: none of 3 segments by site (at least 30 rows)"
    )
    assert str(find_segments(p, y, {"site": by["site"]}, min_rows=150)) == (
        "No segment was tested by site: none has at least 150 rows, and as many outside it"
    )


def test_long_names_have_a_line_for_each_column():
    p, y, by = planted(is_south_and_f, shift=2.0)
    long = {"the hospital to which they were admitted": by["site"], "sex as recorded there": by["sex"]}
    lines = str(find_segments(p, y, long)).splitlines()
    assert lines[2].startswith("the hospital to which they were admitted =")
    assert "sex as recorded there = f" in [line.strip() for line in lines]


def test_a_sequence_and_its_columns(found):
    """Plain numbers by name, which JSON and data frames take."""
    assert found[0] is next(iter(found))
    assert len(found) == 1
    table = found.to_dict()
    assert list(table) == ["segment", *(one.name for one in fields(Segment) if one.name != "where")]
    assert table["segment"] == ["site = south"]
    assert table["gap"] == [found[0].gap]
    assert json.loads(json.dumps(table)) == table
    assert found.to_frame("pandas")["segment"].tolist() == ["site = south"]
