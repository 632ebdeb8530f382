"""Errors of segments: a literal loop, the noise floor by a plain simulation, and intervals that contain the truth."""

from itertools import combinations, product
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from believable import Predictions, expected_calibration_error, segment_errors
from believable.errors import InputError, UndefinedError
from believable.stats import SegmentStats

METRICS = ("expected_calibration_error", "average_difference")
ASK = {"n_resamples": 100, "random_state": 0}
both = pytest.mark.parametrize("metric", METRICS)


def rows(n=400, seed=0, weighted=False, tied=False):
    """Two columns of two and three levels; one intersection is over-predicted."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 1) if tied else rng.random(n)
    by = {"sex": rng.choice(["f", "m"], n), "site": rng.choice(["a", "b", "c"], n)}
    y = rng.random(n) < np.where((by["sex"] == "f") & (by["site"] == "b"), 0.6 * p, p)
    return p, y.astype(int), by, rng.exponential(size=n) if weighted else np.ones(n)


# --- the literal definition -------------------------------------------------------------------------------------------


def literal_segments(by, depth, min_rows):
    """The rows of each combination of levels of one to `depth` columns that has enough of them, by name."""
    n, found = len(next(iter(by.values()))), {}
    for size in range(1, depth + 1):
        for names in combinations(by, size):
            for levels in product(*(sorted(set(by[name])) for name in names)):
                where = list(zip(names, levels, strict=True))
                here = [i for i in range(n) if all(by[name][i] == level for name, level in where)]
                if len(here) >= min_rows:
                    found[" and ".join(f"{name} = {level}" for name, level in where)] = here
    return found


def literal_error(p, y, w, metric, n_bins=10):
    """|sum of w (y - p)| over the rows of each bin of equal width, added, and divided by the weight."""
    bins = {}
    for a, b, c in zip(p, y, w, strict=True):
        k = 0 if metric == "average_difference" else next(k for k in range(n_bins) if a <= (k + 1) / n_bins)
        bins.setdefault(k, []).append(c * (b - a))
    return fsum(abs(fsum(gaps)) for gaps in bins.values()) / fsum(w)


def literal(p, y, w, segments, metric):
    """The error of each segment, the worst, the mean by rows, and the mean of segments."""
    errors = {name: literal_error(p[here], y[here], w[here], metric) for name, here in segments.items()}
    values = list(errors.values())
    counts = [len(here) for here in segments.values()]
    mean = fsum(n * e for n, e in zip(counts, values, strict=True)) / sum(counts)
    return errors, (max(values), mean, fsum(values) / len(values))


def three(found, what):
    """A number of the worst, the mean and the unweighted error."""
    return [getattr(one, what) for one in (found.worst, found.mean, found.unweighted)]


@both
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_definition(metric, weighted, depth):
    """Errors, rows, rates and means are those of the loop over segments, bins and rows."""
    p, y, by, w = rows(300, 1, weighted)
    segments = literal_segments(by, depth, 30)
    errors, values = literal(p, y, w, segments, metric)
    given = {"sample_weight": w} if weighted else {}
    found = segment_errors(p, y, by, metric=metric, depth=depth, **given, **ASK)
    assert {one.name: one.n for one in found.segments} == {name: len(here) for name, here in segments.items()}
    for one in found.segments:
        here = segments[one.name]
        shown = (errors[one.name], np.average(p[here], weights=w[here]), np.average(y[here], weights=w[here]))
        assert (one.error, one.mean_score, one.rate) == pytest.approx(shown, rel=1e-11, abs=1e-13)
    assert three(found, "value") == pytest.approx(values, rel=1e-11)
    assert float(found) == found.worst.value == found.segments[0].error
    assert found.left_out == len(literal_segments(by, depth, 1)) - len(segments)


def test_is_the_error_of_its_rows():
    """The error of a segment is the ECE of its rows, with any number of bins."""
    p, y, by, w = rows(300, 2, weighted=True)
    found = segment_errors(p, y, by, n_bins=7, sample_weight=w, **ASK)
    for one in found.segments:
        ((column, level),) = one.where.items()
        here = by[column] == level
        expected = expected_calibration_error(p[here], y[here], n_bins=7, sample_weight=w[here])
        assert one.error == pytest.approx(expected, rel=1e-11)


# --- the noise floor --------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("case", ["distinct", "tied", "heavy rows", "rare"])
def test_noise_floor(metric, case):
    """The floor, its 95th percentile and the p-value are those of labels drawn from the scores, by a plain loop."""
    rng = np.random.default_rng(3)
    p, y, by, w = rows(200, 4, tied=case == "tied")
    if case == "heavy rows":
        w = np.where(rng.random(200) < 0.1, 20.0, 1.0)
    if case == "rare":
        p = p**6
        y = (rng.random(200) < p).astype(int)
    found = segment_errors(p, y, by, metric=metric, depth=2, sample_weight=w, n_resamples=4000, random_state=0)
    segments = literal_segments(by, 2, 30)
    drawn = [literal(p, (rng.random(200) < p).astype(int), w, segments, metric) for _ in range(300)]
    values = np.array([value for _, value in drawn])
    noise = 4 * values.std(axis=0) / np.sqrt(300)
    assert np.all(np.abs(three(found, "floor") - values.mean(axis=0)) < noise)
    assert np.all(np.abs(three(found, "q95") - np.quantile(values, 0.95, axis=0)) < 3 * noise)
    p_values = np.mean(values >= three(found, "value"), axis=0)
    assert three(found, "p_value") == pytest.approx(p_values, abs=0.12)
    for one in found.segments:
        shown = np.array([errors[one.name] for errors, _ in drawn])
        assert one.floor == pytest.approx(shown.mean(), abs=4.5 * shown.std() / np.sqrt(300))


# --- intervals --------------------------------------------------------------------------------------------------------


def truth_of(name, n, rng):
    """Scores, true probabilities and columns: calibrated, wrong in a segment, wrong everywhere, or rare events."""
    p = rng.random(n) if name != "rare" else rng.random(n) ** 6
    by = {"sex": rng.integers(0, 2, n), "site": rng.integers(0, 5, n)}
    q = {
        "calibrated": p,
        "a segment": np.where((by["sex"] == 0) & (by["site"] == 1), 0.5 * p, p),
        "everywhere": 0.2 + 0.6 * p,
        "rare": np.where(by["site"] == 1, 0.3 * p, p),
    }[name]
    return p, q, by


def true_errors(found, p, q, by, w):
    """Errors of the segments that were found, with probabilities in place of outcomes."""
    segments = literal_segments(by, 2, 30)
    each = (segments[one.name] for one in found.segments)
    return np.array([literal_error(p[here], q[here], w[here], found.metric) for here in each])


@pytest.mark.slow
@both
@pytest.mark.parametrize("name", ["calibrated", "a segment", "everywhere", "rare"])
def test_intervals_contain_the_truth(name, metric):
    """At least 93 % of intervals contain the true worst and mean error; lower ends of segments hold together."""
    sets, n = 60, 600
    inside, together, above = np.zeros(3), 0, []
    for seed in range(sets):
        rng = np.random.default_rng([6, seed])
        p, q, by = truth_of(name, n, rng)
        w = np.where(rng.random(n) < 0.3, 3.0, 1.0)
        y = (rng.random(n) < q).astype(int)
        found = segment_errors(p, y, by, metric=metric, depth=2, sample_weight=w, **ASK)
        errors = true_errors(found, p, q, by, w)
        share = np.array([one.n for one in found.segments])
        truth = np.array([errors.max(), errors @ share / share.sum(), errors.mean()])
        low, high = np.array(three(found, "low")) - 1e-9, np.array(three(found, "high")) + 1e-9
        inside += (low <= truth) & (truth <= high)
        together += all(one.low <= error + 1e-9 for one, error in zip(found.segments, errors, strict=True))
        above += [error <= one.high + 1e-9 for one, error in zip(found.segments, errors, strict=True)]
    assert np.all(inside >= 0.93 * sets)
    assert together >= 0.93 * sets
    assert np.mean(above) >= 0.95


def test_intervals_contain_the_value_or_less():
    """Ends are ordered, and in [0, 1]; what is far above the floor has a lower end above 0."""
    p, y, by, _ = rows(2000, 7)
    found = segment_errors(p, y, by, depth=2, **ASK)
    for one in (found.worst, found.mean, found.unweighted, *found.segments):
        assert 0 <= one.low <= one.high <= 1
    assert found.segments[0].name == "sex = f and site = b"
    assert found.worst.low == found.segments[0].low > 0.05
    assert found.worst.high == max(one.high for one in found.segments)
    assert found.worst.p_value == pytest.approx(1 / 101)


def test_one_row_bounds_no_error():
    """A segment in which one row has nearly all the weight may be as wrong as Wilson's limits of one row allow."""
    p, by = np.full(200, 0.7), {"site": np.repeat(["heavy", "light"], 100)}
    w = np.where(np.arange(200) == 0, 1e6, 1.0)
    found = segment_errors(p, np.arange(200) % 10 < 7, by, sample_weight=w, **ASK)
    (heavy,) = (one for one in found.segments if one.name == "site = heavy")
    z2 = 1.959964**2
    assert heavy.error == pytest.approx(0.3, abs=1e-4)
    assert heavy.high == pytest.approx(0.7 - 1 / (1 + z2), abs=1e-3)  # the lower limit, of one event in one row
    assert heavy.high == found.worst.high


def test_certain_scores():
    """Scores of 0 and 1 that are right have error 0 and an upper end that allows for few rows; wrong ones are errors."""
    n = 120
    by = {"site": np.repeat(["a", "b"], n // 2)}
    y = np.tile([0, 1], n // 2)
    right = segment_errors(y, y, by, **ASK)
    assert (right.worst.value, right.worst.low, right.worst.p_value) == (0, 0, 1)
    assert 0 < right.worst.high < 0.2
    wrong = segment_errors(y, np.where(np.arange(n) < 20, 1 - y, y), by, **ASK)
    assert wrong.worst.value == pytest.approx(1 / 3)
    assert wrong.worst.p_value == pytest.approx(1 / 101)
    assert 0.05 < wrong.worst.low < 1 / 3 < wrong.worst.high


# --- laws -------------------------------------------------------------------------------------------------------------


def numbers(found, *, draws=False):
    """The numbers of each segment by its name, and of the three summaries."""
    names = ("n", "mean_score", "rate", "error", *(("floor", "low", "high") if draws else ()))
    made = {one.name: [getattr(one, name) for name in names] for one in found.segments}
    return made | {what: three(found, what) for what in ("value", *(("low", "high", "floor") if draws else ()))}


def same(one, other, **options):
    mine, others = (numbers(found, **options) for found in (one, other))
    assert mine.keys() == others.keys()
    for name, values in mine.items():
        assert values == pytest.approx(others[name], rel=1e-9, abs=1e-12)


@both
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(1e-6, 1e6))
def test_scale_of_weights(metric, seed, scale):
    """Weights that are all multiplied change nothing."""
    p, y, by, w = rows(120, seed, weighted=True)
    one, other = (
        segment_errors(p, y, by, metric=metric, depth=2, min_rows=10, sample_weight=v, **ASK) for v in (w, scale * w)
    )
    same(one, other, draws=True)


@both
def test_order_weights_and_repetitions(metric):
    """The order of rows does not matter; a row of weight 2 is a row twice; one of weight 0 is none."""
    p, y, by, _ = rows(300, 8)
    given = {"metric": metric, "depth": 2, **ASK}
    found = segment_errors(p, y, by, **given)
    order = np.random.default_rng(9).permutation(300)
    same(found, segment_errors(p[order], y[order], {name: column[order] for name, column in by.items()}, **given))
    times = np.random.default_rng(10).integers(0, 3, 300)
    repeated = {name: np.repeat(column, times) for name, column in by.items()}
    twice = segment_errors(np.repeat(p, times), np.repeat(y, times), repeated, min_rows=1, **given)
    weighted = segment_errors(p, y, by, sample_weight=times, min_rows=1, **given)
    mine, others = ({one.name: (one.error, one.rate) for one in found.segments} for found in (twice, weighted))
    assert mine.keys() == others.keys()
    assert all(mine[name] == pytest.approx(others[name]) for name in mine)
    assert weighted.n == np.count_nonzero(times)


# --- statistics -------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistic(metric, weighted, dtype):
    """One cell for each score: the statistic has the errors of the rows, even if the scores are edges of bins."""
    p, y, by, w = rows(300, 11, weighted, tied=True)
    p = p.astype(dtype)
    given = {"metric": metric, "depth": 2, **ASK}
    found = segment_errors(p, y, by, sample_weight=w, **given)
    parts = [Predictions(p[i::2], y[i::2], sample_weight=w[i::2]) for i in (0, 1)]
    columns = [{name: column[i::2] for name, column in by.items()} for i in (0, 1)]
    first = SegmentStats.of(parts[0], columns[0])
    added = segment_errors(first + SegmentStats.of(parts[1], columns[1], like=first), **given)
    whole = segment_errors(SegmentStats.of(Predictions(p, y, sample_weight=w), by), **given)
    same(found, whole)
    same(whole, added, draws=True)
    of_site = segment_errors(SegmentStats.of(Predictions(p, y, sample_weight=w), by), by="site", **given)
    same(of_site, segment_errors(p, y, {"site": by["site"]}, sample_weight=w, **given))


@both
def test_statistic_of_any_scores(metric):
    """The average difference has no bins, and is that of the rows; cells belong to the bin of their mean score."""
    p, y, by, w = rows(1000, 12, weighted=True)
    stats = SegmentStats.of(Predictions(p, y, sample_weight=w), by)
    found = segment_errors(stats, metric=metric, **ASK)
    if metric == "average_difference":
        same(found, segment_errors(p, y, by, metric=metric, sample_weight=w, **ASK))
    code = {name: stats.codes[i] for i, name in enumerate(stats.names)}
    for one in found.segments:
        ((column, level),) = one.where.items()
        here = code[column] == stats.levels_of(column).index(level)
        bins = np.ceil(10 * stats.wp[here] / stats.w[here]) if metric == METRICS[0] else np.zeros(here.sum())
        gap = (stats.wy - stats.wp)[here]
        error = fsum(abs(fsum(gap[bins == k])) for k in set(bins.tolist())) / stats.w[here].sum()
        assert one.error == pytest.approx(error, rel=1e-10)


# --- columns and ends -------------------------------------------------------------------------------------------------


def test_missing_levels():
    """Missing values are a level, of texts and of numbers; numbers are cut into ranges, with a note."""
    rng = np.random.default_rng(13)
    p, y, _, _ = rows(400, 13)
    site = np.where(rng.random(400) < 0.3, None, "a")
    age = np.where(rng.random(400) < 0.2, np.nan, rng.integers(20, 80, 400))
    found = segment_errors(p, y, {"site": site, "age": age}, n_ranges=2, metric="average_difference", **ASK)
    errors = {one.name: one.error for one in found.segments}
    for name, here in (("site = missing", np.equal(site, None)), ("age = missing", np.isnan(age))):
        assert errors[name] == pytest.approx(abs((y - p)[here].mean()))
    assert [len(found.segments), len(found.notes)] == [5, 1]
    assert found.notes[0].startswith("column age was cut into ranges at ")


def test_min_rows():
    """Segments with fewer rows are left out, and counted."""
    p, y, by, _ = rows(300, 14)
    found = segment_errors(p, y, by, depth=2, min_rows=60, **ASK)
    everything = segment_errors(p, y, by, depth=2, min_rows=1, **ASK)
    assert {one.name for one in found.segments} == {one.name for one in everything.segments if one.n >= 60}
    assert found.left_out == len(everything.segments) - len(found.segments) > 0
    assert f"{found.left_out} with fewer rows are left out" in str(found)


def test_ends_of_data():
    """One class, one score, and as many segments as two rows each make, have numbers in their ranges."""
    p, y, by, _ = rows(60, 15)
    pairs = {"pair": [f"pair {i // 2}" for i in range(60)]}
    cases = [(p, np.zeros(60), by), (np.full(60, 0.5), y, by), (p * 1e-12, np.zeros(60), by), (p, y, pairs)]
    for scores, labels, columns in cases:
        found = segment_errors(scores, labels, columns, min_rows=2, **ASK)
        table = [[one.error, one.floor, one.low, one.high] for one in found.segments]
        assert np.all((np.array(table) >= 0) & (np.array(table) <= 1))
        assert all(0 < one.p_value <= 1 for one in (found.worst, found.mean, found.unweighted))


def test_depth_beyond_the_columns():
    """More columns than there are cannot be combined: a larger depth changes nothing."""
    p, y, by, _ = rows(200, 16)
    same(segment_errors(p, y, by, depth=2, **ASK), segment_errors(p, y, by, depth=10, **ASK), draws=True)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"by": None}, InputError, "by is missing"),
        ({"by": {}}, InputError, "by has no columns: pass at least one column of segments"),
        ({"by": {"site": ["a"] * 7}}, InputError, "by 'site' has 7 entries, but the predictions have 100 rows"),
        ({"by": {"site": ["a"] * 100}}, UndefinedError, "there are no segments: column site is 'a' in every row"),
        ({"min_rows": 99}, UndefinedError, "no segment has 99 rows: choose a smaller min_rows"),
        ({"min_rows": 101}, InputError, "min_rows must be at most the number of rows, 100, got 101"),
        ({"metric": "brier"}, InputError, "metric"),
        ({"depth": 0}, InputError, "depth"),
        ({"level": 1.0}, InputError, "level"),
        ({"n_bins": 0}, InputError, "n_bins"),
        ({"n_resamples": 99}, InputError, "n_resamples"),
    ],
)
def test_what_is_refused(change, error, sentence):
    """What cannot be meant is refused with a sentence."""
    p, y, by, _ = rows(100, 17)
    with pytest.raises(error, match=sentence):
        segment_errors(p, y, **{"by": by, **ASK, **change})


# --- the object -------------------------------------------------------------------------------------------------------


def test_object():
    """It is a number, a table and a text; the same seed gives the same one."""
    p, y, by, _ = rows(600, 18)
    found = segment_errors(p, y, by, depth=2, **ASK)
    assert found.segments == segment_errors(p, y, by, depth=2, **ASK).segments
    errors = [one.error for one in found.segments]
    assert errors == sorted(errors, reverse=True) == found.to_dict()["error"]
    assert found.to_frame("pandas")["name"].tolist() == [one.name for one in found.segments]
    lines = str(found).splitlines()
    assert lines[0].startswith("expected_calibration_error over 11 segments of at least 30 rows")
    assert lines[1] == f"worst       {found.worst}"
    assert lines[-1] == "and 1 more segments"
