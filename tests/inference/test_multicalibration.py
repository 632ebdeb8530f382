"""The multicalibration error: that of MCGrad, a literal loop, and a p-value that allows for the number of segments."""

import json
from itertools import combinations, product
from math import fsum, inf, sqrt
from pathlib import Path

import numpy as np
import pytest

from believable import Predictions, kuiper_calibration_error, kuiper_test, multicalibration_error
from believable.errors import InputError, UndefinedError
from believable.stats import SegmentStats
from tests.oracle.record_multicalibration import digest, tables

KEPT = json.loads((Path(__file__).parent.parent / "oracle" / "values" / "multicalibration.json").read_text())
TABLES = tables()
ASK = {"n_resamples": 99, "random_state": 0}


def rows(n=400, seed=0, weighted=False, tied=False):
    """Two columns of two and three levels; one intersection is over-predicted."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 1) if tied else rng.random(n)
    by = {"sex": rng.choice(["f", "m"], n), "site": rng.choice(["a", "b", "c"], n)}
    y = rng.random(n) < np.where((by["sex"] == "f") & (by["site"] == "b"), 0.6 * p, p)
    return p, y.astype(int), by, rng.exponential(size=n) if weighted else np.ones(n)


# --- the literal definition -------------------------------------------------------------------------------------------


def literal_segments(by, depth):
    """The rows of each segment: all rows, then those of each combination of levels of up to `depth` columns."""
    n = len(next(iter(by.values())))
    for size in range(depth + 1):
        for names in combinations(by, size):
            for levels in product(*(sorted(set(by[name])) for name in names)):
                where = dict(zip(names, levels, strict=True))
                yield where, [i for i in range(n) if all(by[name][i] == level for name, level in where.items())]


def literal_segment(p, y, w):
    """Range of the cumulative gap from 0, and its standard deviation."""
    total = fsum(w)
    sums = [0.0] + [
        fsum(c * (b - a) for a, b, c in zip(p, y, w, strict=True) if a <= s) / total for s in sorted(set(p))
    ]
    return max(sums) - min(sums), sqrt(fsum(c * c * a * (1 - a) for a, c in zip(p, w, strict=True))) / total


def literal(p, y, by, w, depth=3, min_rows=10):
    """Rows, range and standard deviation of every segment, by its name."""
    found = {}
    for where, here in literal_segments(by, depth):
        if len(here) >= min_rows:
            name = " and ".join(f"{column} = {level}" for column, level in where.items()) or "all rows"
            found[name] = (len(here), *literal_segment(p[here].tolist(), y[here].tolist(), w[here].tolist()))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_definition(weighted, tied, depth):
    """All numbers are those of the loop over segments, rows and distinct scores."""
    p, y, by, w = rows(200, 1, weighted, tied)
    expected = literal(p, y, by, w, depth)
    found = multicalibration_error(p, y, by, depth=depth, sample_weight=w if weighted else None, **ASK)
    assert {one.name: one.n for one in found.segments} == {name: n for name, (n, _, _) in expected.items()}
    for one in found.segments:
        assert (one.ecce, one.deviation) == pytest.approx(expected[one.name][1:], rel=1e-11)
    most = max(ecce / deviation for _, ecce, deviation in expected.values())
    rate = w @ y / w.sum()
    assert found.sigmas == pytest.approx(most, rel=1e-11)
    assert found.value == float(found) == pytest.approx(most * expected["all rows"][2], rel=1e-11)
    assert found.relative == pytest.approx(found.value / min(rate, 1 - rate), rel=1e-11)
    assert found.sigmas == found.worst.sigmas == found.worst.ecce / found.worst.deviation


def test_all_rows():
    """Without columns of segments, it is the Kuiper error, with the p-value of Kuiper's test."""
    p, y, _, w = rows(300, 2, weighted=True)
    found = multicalibration_error(p, y, {}, depth=0, sample_weight=w, **ASK)
    assert found.value == pytest.approx(kuiper_calibration_error(p, y, sample_weight=w), rel=1e-12)
    test = kuiper_test(p, y, sample_weight=w, method="asymptotic")
    assert (found.sigmas, found.unadjusted) == pytest.approx((test.statistic, test.p_value))


# --- MCGrad -----------------------------------------------------------------------------------------------------------


def test_tables_are_those_of_the_oracle():
    """The tables are made again as MCGrad saw them."""
    assert digest() == KEPT["inputs_sha256"]


@pytest.mark.parametrize("record", KEPT["records"], ids=lambda record: record["input"])
def test_is_that_of_mcgrad(record):
    """The error, its normalisations, MCGrad's p-value, and the rows, error and sigmas of every segment."""
    table, recorded = TABLES[record["input"]], record["value"]
    names = {
        "max_depth": "depth",
        "max_values_per_segment_feature": "max_levels",
        "min_samples_per_segment": "min_rows",
    }
    texts = {name: [None if x is None else str(x) for x in column] for name, column in table.categorical.items()}
    found = multicalibration_error(
        table.p,
        table.y,
        {**texts, **table.numeric},
        sample_weight=table.w,
        **{names[name]: choice for name, choice in table.options.items()},
        **ASK,
    )
    values = {
        "mce": found.value,
        "mce_relative": 100 * found.relative,
        "mce_sigma": found.sigmas,
        "mce_pvalue": found.unadjusted,
        "global_ecce": found.whole.ecce,
        "global_ecce_relative": 100 * found.whole.ecce / min(rate := np.average(table.y, weights=table.w), 1 - rate),
        "global_ecce_sigma": found.whole.sigmas,
        "global_ecce_pvalue": found.whole.p_value,
    }
    assert values == pytest.approx({name: recorded[name] for name in values}, rel=1e-9, abs=1e-15)
    theirs = sorted((list(one["where"]), one["rows"], one["ecce"], one["sigma"]) for one in recorded["segments"])
    mine = sorted((list(one.where), one.n, one.ecce, one.sigmas) for one in found.segments)
    if record["input"] == "rows without weight":  # MCGrad counts them, and has a segment of them alone
        theirs, mine = ([[*one[:1], 0, *one[2:]] for one in side if one[3]] for side in (theirs, mine))
    assert [one[:2] for one in mine] == [one[:2] for one in theirs]
    assert [x for one in mine for x in one[2:]] == pytest.approx([x for one in theirs for x in one[2:]], rel=1e-9)


# --- the p-value ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["distinct", "tied", "heavy rows", "certain scores", "rare"])
def test_p_value(case):
    """It is the share of drawn labels whose largest number of sigmas is as large, by a plain loop."""
    rng = np.random.default_rng(3)
    p, y, by, w = rows(48, 4, tied=case == "tied")  # not more distinct scores than ranges
    if case == "heavy rows":
        w = np.where(rng.random(48) < 0.2, 30.0, 1.0)
    if case == "certain scores":
        p[:16] = np.round(p[:16])
        y[:16] = p[:16]
    if case == "rare":
        p = p / 10
        y = (np.arange(48) % 16 == 3).astype(int)
    found = multicalibration_error(p, y, by, sample_weight=w, min_rows=5, n_resamples=2000, random_state=0)
    shared = [here for _, here in literal_segments(by, 3) if len(here) >= 5]

    def most_sigmas(labels):
        of = (literal_segment(p[here].tolist(), labels[here].tolist(), w[here].tolist()) for here in shared)
        return max(ecce / deviation if deviation else 0.0 for ecce, deviation in of)

    observed = most_sigmas(y)
    assert found.sigmas == pytest.approx(observed, rel=1e-11)
    drawn = [most_sigmas((rng.random(48) < p).astype(int)) for _ in range(400)]
    expected = np.mean(np.array(drawn) >= observed - 1e-9)
    assert found.p_value == pytest.approx(expected, abs=4 * sqrt(max(expected * (1 - expected), 0.005) / 400) + 0.005)
    assert found.p_value > found.unadjusted


@pytest.mark.slow
def test_p_value_is_uniform_if_the_scores_are_calibrated():
    """At most about 5 % of calibrated sets have a p-value below 0.05, with 60 segments; MCGrad's rejects far more."""
    rng = np.random.default_rng(5)
    sets, n = 200, 500
    mine = theirs = 0
    for _ in range(sets):
        p = rng.random(n) ** 3
        by = {name: rng.integers(0, 3, n) for name in "abc"}
        w = rng.exponential(size=n)
        found = multicalibration_error(p, rng.random(n) < p, by, sample_weight=w, n_resamples=199, random_state=rng)
        mine += found.p_value <= 0.05
        theirs += found.unadjusted <= 0.05
    assert 2 <= mine <= 20  # of 200 with a chance of 5 %, more come once in 1,000
    assert theirs > 80


# --- laws -------------------------------------------------------------------------------------------------------------


def numbers(found):
    """All that does not depend on draws, by the names of segments."""
    return {one.name: (one.n, one.ecce, one.deviation) for one in found.segments} | {
        "error": (found.value, found.relative)
    }


def same(one, other):
    mine, others = numbers(one), numbers(other)
    assert mine.keys() == others.keys()
    for name, values in mine.items():
        assert values == pytest.approx(others[name], rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("tied", [False, True])
def test_rows_and_weights(tied):
    """The order of rows, the scale of weights, rows of weight 0, and the columns' order of names do not matter."""
    p, y, by, w = rows(300, 6, weighted=True, tied=tied)
    found = multicalibration_error(p, y, by, sample_weight=w, **ASK)
    order = np.random.default_rng(7).permutation(300)
    permuted = {name: column[order] for name, column in by.items()}
    shuffled = multicalibration_error(p[order], y[order], permuted, sample_weight=w[order], **ASK)
    same(found, shuffled)
    assert shuffled.p_value == pytest.approx(found.p_value, abs=0.15)
    for scale in (1e-9, 1e9):
        scaled = multicalibration_error(p, y, by, sample_weight=scale * w, **ASK)
        same(found, scaled)
        assert scaled.p_value == found.p_value
    more = {name: np.append(column, ["new"] * 20) for name, column in by.items()}
    with_nothing = np.append(w, np.zeros(20))
    extended = multicalibration_error(
        np.append(p, p[:20]), np.append(y, 1 - y[:20]), more, sample_weight=with_nothing, **ASK
    )
    same(found, extended)


def test_a_segment_of_little_weight_keeps_its_digits():
    """Its range is that of its rows alone, though other rows have a billion times the weight."""
    p, y, by, _ = rows(300, 8)
    w = np.where(by["site"] == "b", 1e-9, 1.0)
    here = by["site"] == "b"
    alone = kuiper_calibration_error(p[here], y[here])
    found = multicalibration_error(p, y, by, sample_weight=w, **ASK)
    (one,) = (one for one in found.segments if one.where == {"site": "b"})
    assert one.ecce == pytest.approx(alone, rel=1e-11)


def test_at_least_the_error_of_all_rows():
    """All rows are a segment, too."""
    for seed in range(5):
        found = multicalibration_error(*rows(200, seed)[:3], **ASK)
        assert found.value >= found.whole.ecce
        assert found.segments[0] == found.whole
        assert found.worst in found.segments


# --- statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_statistic(weighted):
    """One cell for each score: the statistic has the numbers of the rows; parts that are added have them, too."""
    p, y, by, w = rows(300, 9, weighted, tied=True)
    parts = [Predictions(p[i::2], y[i::2], sample_weight=w[i::2]) for i in (0, 1)]
    columns = [{name: column[i::2] for name, column in by.items()} for i in (0, 1)]
    first = SegmentStats.of(parts[0], columns[0])
    added = first + SegmentStats.of(parts[1], columns[1], like=first)
    found = multicalibration_error(p, y, by, sample_weight=w, **ASK)
    same(found, multicalibration_error(added, **ASK))
    whole = multicalibration_error(SegmentStats.of(Predictions(p, y, sample_weight=w), by), **ASK)
    same(found, whole)
    assert whole.p_value == multicalibration_error(added, **ASK).p_value
    same(
        multicalibration_error(p, y, {"site": by["site"]}, sample_weight=w, **ASK),
        multicalibration_error(added, by="site", **ASK),
    )


def test_statistic_is_coarser():
    """Of cells with several scores, the cumulative gap is known at their ends only: its range is smaller."""
    p, y, by, _ = rows(1000, 10)
    stats = SegmentStats.of(Predictions(p, y), by)
    cell, n = stats.grid.assign(p), len(p)
    of_rows, of_cells = (numbers(multicalibration_error(*given, **ASK)) for given in ((p, y, by), (stats,)))
    sums = [0.0] + [fsum((y - p)[cell <= end]) / n for end in sorted(set(cell.tolist()))]
    assert of_cells["all rows"][1] == pytest.approx(max(sums) - min(sums), rel=1e-9)
    assert all(of_cells[name][1] <= of_rows[name][1] + 1e-12 for name in of_rows.keys() - {"error"})


# --- columns and ends -------------------------------------------------------------------------------------------------


def test_missing_levels():
    """Missing values are a level, of texts and of numbers."""
    rng = np.random.default_rng(11)
    p, y, _, _ = rows(300, 11)
    site = np.where(rng.random(300) < 0.2, None, "a")
    age = np.where(rng.random(300) < 0.2, np.nan, rng.integers(20, 80, 300))
    found = multicalibration_error(p, y, {"site": site, "age": age}, **ASK)
    one = {one.name: one for one in found.segments}
    assert one["site = missing"].n == np.equal(site, None).sum()
    assert one["age = missing"].ecce == pytest.approx(kuiper_calibration_error(p[np.isnan(age)], y[np.isnan(age)]))
    assert found.notes[0].startswith("column age was cut into ranges at ")


def test_min_rows():
    """Segments with fewer rows do not count."""
    p, y, by, _ = rows(300, 12)
    found = multicalibration_error(p, y, by, min_rows=60, **ASK)
    everything = multicalibration_error(p, y, by, min_rows=1, **ASK)
    assert [one for one in everything.segments if one.n >= 60] == list(found.segments)
    assert len(found.segments) < len(everything.segments)


def test_certain_scores():
    """Scores of 0 and 1 that are right have error 0; a wrong one can never come by chance."""
    p, y, by, _ = rows(300, 13)
    certain = by["site"] == "c"
    p, y = np.where(certain, y, p), y.copy()
    right = multicalibration_error(p, y, by, **ASK)
    (one,) = (one for one in right.segments if one.where == {"site": "c"})
    assert (one.ecce, one.deviation, one.sigmas, one.p_value) == (0, 0, 0, 1)
    y[np.flatnonzero(certain)[0]] ^= 1
    wrong = multicalibration_error(p, y, by, **ASK)
    assert wrong.value == wrong.relative == wrong.sigmas == inf
    assert (wrong.p_value, wrong.unadjusted) == (0.01, 0)
    nothing = multicalibration_error(y, y, by, **ASK)
    assert (nothing.value, nothing.relative, nothing.p_value, nothing.unadjusted) == (0, 0, 1, 1)


def test_certain_scores_with_weights_that_were_added_elsewhere():
    """Sums of w and of w y that differ by rounding alone are no error of scores of 1."""
    p, y, by, w = np.ones(60), np.ones(60), {"site": np.repeat(["a", "b"], 30)}, np.full(60, 0.1)
    stats = SegmentStats.of(Predictions(p, y, sample_weight=w), by)
    saved = {**stats.to_dict(), "wy": np.nextafter(stats.wy, 0).tolist()}
    found = multicalibration_error(SegmentStats.from_dict(saved), **ASK)
    assert (found.sigmas, found.p_value) == (0, 1)


def test_one_class():
    """Without events, the relative error is infinite, and everything else is a number."""
    p, _, by, _ = rows(100, 14)
    found = multicalibration_error(p, np.zeros(100), by, **ASK)
    assert found.relative == inf
    assert found.whole.ecce == pytest.approx(p.mean())


def test_extreme_scores():
    """Scores next to 0 and 1 have a finite number of sigmas and a p-value."""
    p, _, by, _ = rows(200, 15)
    for scores in (p * 1e-12, p * 1e-300, 1 - p * 1e-12):
        found = multicalibration_error(scores, scores > 0.5, by, **ASK)
        assert 0 <= found.value < 1e-9
        assert found.p_value > 0.5


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"by": None}, InputError, "by is missing"),
        ({"by": {"site": ["a"] * 7}}, InputError, "by 'site' has 7 entries, but the predictions have 100 rows"),
        ({"by": {"site": ["a"] * 100}}, UndefinedError, "there are no segments: column site is 'a' in every row"),
        ({"min_rows": 101}, InputError, "min_rows must be at most the number of rows, 100, got 101"),
        ({"depth": -1}, InputError, "depth"),
        ({"max_levels": 1}, InputError, "max_levels"),
        ({"n_resamples": 0}, InputError, "n_resamples"),
        ({"random_state": "x"}, InputError, "random_state"),
    ],
)
def test_what_is_refused(change, error, sentence):
    """What cannot be meant is refused with a sentence."""
    p, y, by, _ = rows(100, 16)
    with pytest.raises(error, match=sentence):
        multicalibration_error(p, y, **{"by": by, **ASK, **change})


def test_statistics_know_their_columns():
    """A statistic has weights and outcomes already, and only the columns that it counted."""
    p, y, by, w = rows(100, 17)
    stats = SegmentStats.of(Predictions(p, y), by)
    with pytest.raises(InputError, match="sample_weight"):
        multicalibration_error(stats, sample_weight=w)
    with pytest.raises(InputError, match="by names 'age', but the statistic counted by sex, site"):
        multicalibration_error(stats, by="age")


# --- the object -------------------------------------------------------------------------------------------------------


def test_object():
    """It is a number, a table and a text; the same seed gives the same one."""
    p, y, by, _ = rows(300, 18)
    found = multicalibration_error(p, y, by, **ASK)
    assert found.p_value == multicalibration_error(p, y, by, **ASK).p_value
    columns = found.to_dict()
    assert columns["name"] == [one.name for one in found.segments]
    assert found.to_frame("pandas")["ecce"].tolist() == columns["ecce"]
    lines = str(found).splitlines()
    assert lines[0].startswith(
        f"multicalibration error {found.value:.4g} ({found.sigmas:.3g} standard deviations, p = "
    )
    assert lines[2].startswith(found.worst.name)
    assert lines[-1] == "and 2 more segments"
