"""The grouping loss: a literal loop, 0 without differences, the known variance of simulations, and a lower bound."""

from itertools import product
from math import fsum, sqrt

import numpy as np
import pytest

from believable import Predictions, grouping_loss
from believable.errors import InputError, UndefinedError
from believable.stats import SegmentStats

ASK = {"n_resamples": 100, "random_state": 0}


def rows(n=400, seed=0, tied=False, weighted=False, correlated=False):
    """Two columns of three and two levels; in one intersection, events are more frequent."""
    rng = np.random.default_rng(seed)
    by = {"site": rng.choice(["a", "b", "c"], n), "sex": rng.choice(["f", "m"], n)}
    p = rng.random(n) ** np.where(by["site"] == "a", 3, 1) if correlated else rng.random(n)
    p = np.round(p, 1) if tied else p
    y = rng.random(n) < np.where((by["site"] == "b") & (by["sex"] == "f"), 0.3 + 0.7 * p, p)
    return p, y.astype(int), by, rng.exponential(size=n) if weighted else np.ones(n)


# --- the literal definition -------------------------------------------------------------------------------------------


def literal_bins(p, count):
    """Ranges of equally many rows, in ascending order of score; equal scores stay together."""
    last = {score: rank for rank, score in enumerate(sorted(p))}
    return [last[score] * count // len(p) for score in p]


def literal_regions(bins, by):
    """The rows of each combination of levels, by bin."""
    found = {}
    for i, cell in enumerate(zip(bins, *by.values(), strict=True)):
        found.setdefault(cell[0], {}).setdefault(cell[1:], []).append(i)
    return {b: list(regions.values()) for b, regions in found.items()}


def kept(w, rows_of, hat):
    """The share of the squares of residuals that is left: that of 1 - H, with the hat matrix H."""
    squares = [w[i] ** 2 * fsum(((i == j) - hat(i, j)) ** 2 for j in rows_of) for i in rows_of]
    return fsum(squares) / fsum(w[i] ** 2 for i in rows_of)


def literal_bin(p, y, w, regions):
    """Its estimate, with a line and the noise from residuals; the two terms of the paper; and the calibration loss."""
    inside = [i for region in regions for i in region]
    weight = fsum(w[inside])
    mean, rate = fsum(w[inside] * p[inside]) / weight, fsum(w[inside] * y[inside]) / weight
    spread = sqrt(fsum(w[i] * (p[i] - mean) ** 2 for i in inside) / weight)
    curved = spread > 1e-9
    z = {i: (p[i] - mean) / spread if curved else 0.0 for i in inside}
    slope = fsum(w[i] * y[i] * z[i] for i in inside) / weight
    line = {i: rate + slope * z[i] for i in inside}
    middle = [fsum(w[i] * z[i] for i in region) / fsum(w[region]) for region in regions]
    between = fsum(fsum(w[region]) / weight * m**2 for region, m in zip(regions, middle, strict=True))
    rows_within = fsum(fsum(w[region]) ** 2 / fsum(w[region] ** 2) - 1 for region in regions)
    lost = (1 - between) / rows_within if curved else 0.0
    of_line = kept(w, inside, lambda i, j: w[j] * (1 + z[i] * z[j]) / weight)
    squares = {i: w[i] ** 2 * (y[i] - line[i]) ** 2 / weight**2 / of_line for i in inside}
    of_rate, of_slope = fsum(squares.values()), fsum(squares[i] * z[i] ** 2 for i in inside)
    explained = fsum(w[i] ** 2 * (y[i] - rate) ** 2 for i in inside) / weight**2
    explained /= kept(w, inside, lambda i, j: w[j] / weight)
    value = 0.0
    for region, m in zip(regions, middle, strict=True):
        total = fsum(w[region])
        around = total**2 * kept(w, region, lambda i, j, total=total: w[j] / total)
        gap = fsum(w[i] * (y[i] - line[i]) for i in region) / total
        noise = fsum(w[i] ** 2 * (y[i] - line[i] - gap) ** 2 for i in region) / around / (1 - lost)
        value += total / weight * (gap**2 - noise) + fsum(
            squares[i] * (1 + 2 * z[i] * m - between * z[i] ** 2) for i in region
        )
        gap = fsum(w[i] * (y[i] - rate) for i in region) / total
        noise = fsum(w[i] ** 2 * (y[i] - rate - gap) ** 2 for i in region) / around
        explained += total / weight * (gap**2 - noise)
    calibration = (rate - mean) ** 2 - of_rate + (((spread - slope) ** 2 - of_slope) if curved else 0.0)
    return weight, value, explained, slope**2 - of_slope if curved else 0.0, calibration


def literal(p, y, w, bins, by):
    """The mean over bins of the estimate, of the terms of the paper, and of the calibration loss."""
    found = np.array([literal_bin(p, y, w, regions) for regions in literal_regions(bins, by).values()])
    return found[:, 1:].T @ found[:, 0] / found[:, 0].sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_definition(weighted, correlated, tied):
    """All numbers are those of the loop over bins, regions and rows."""
    p, y, by, w = rows(240, 1, tied, weighted, correlated)
    w = np.where(w > 0, 1 + w / 4, 0)  # not so different that a region has fewer effective rows than asked for
    found = grouping_loss(p, y, by, n_bins=2, min_rows=2, sample_weight=w if weighted else None, **ASK)
    w = w if weighted else np.ones(len(p))
    bins = literal_bins(p, 2)
    shown = (found.value, found.explained, found.induced, found.calibration_loss)
    assert shown == pytest.approx(literal(p, y, w, bins, by), rel=1e-9, abs=1e-13)
    assert found.n_bins == len(set(bins))
    assert found.n_regions == sum(map(len, literal_regions(bins, by).values()))
    assert found.left_out == 0
    assert (found.n, float(found), found.typical) == (240, found.value, sqrt(max(found.value, 0)))


def test_one_score_per_bin_is_the_formula_of_the_paper():
    """Then it is sum of W_r / W ((rate_r - rate_b)^2 - rate_r (1 - rate_r) / (n_r - 1)), plus the noise of rate_b."""
    rng = np.random.default_rng(2)
    p = np.repeat([0.2, 0.5, 0.7], 100)
    site = np.tile(["a", "b", "b", "c"], 75)
    y = (rng.random(300) < np.where(site == "a", p + 0.2, p)).astype(int)
    found = grouping_loss(p, y, {"site": site}, **ASK)
    expected = 0.0
    for score in (0.2, 0.5, 0.7):
        rate = y[p == score].mean()
        expected += rate * (1 - rate) / 99 / 3
        for level in "abc":
            here = y[(p == score) & (site == level)]
            noise = here.mean() * (1 - here.mean()) / (len(here) - 1)
            expected += len(here) / 300 * ((here.mean() - rate) ** 2 - noise)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert (found.value, found.induced) == pytest.approx((found.explained, 0), rel=1e-12)
    assert (found.n_bins, found.n_regions) == (3, 9)


def test_is_0_on_average():
    """Over all labels that a constant rate may give, times their probabilities, the estimate is 0, with weights too."""
    w, by = np.array([1.0, 2, 1, 3, 1, 1, 2]), {"site": list("aaabbbb")}
    for rate in (0.5, 0.15):
        mean = 0.0
        for labels in product([0, 1], repeat=7):
            chance = rate ** sum(labels) * (1 - rate) ** (7 - sum(labels))
            found = grouping_loss([0.3] * 7, labels, by, min_rows=2, sample_weight=w, **ASK)
            mean += chance * found.value
        assert mean == pytest.approx(0, abs=1e-12)


# --- bins and regions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "min_rows", "bins"), [(79, 10, 1), (80, 10, 2), (120, 10, 3), (799, 10, 3), (800, 10, 4)]
)
def test_bins(n, min_rows, bins):
    """A bin has the rows of 20 regions, or of four in up to three bins; there are at most `n_bins`."""
    p, y, by, _ = rows(n, 3)
    assert grouping_loss(p, y, by["sex"], min_rows=min_rows, **ASK).n_bins == bins
    assert grouping_loss(p, y, by["sex"], min_rows=min_rows, sample_weight=np.full(n, 0.1), **ASK).n_bins == bins
    assert grouping_loss(p, y, by["sex"], min_rows=min_rows, n_bins=2, **ASK).n_bins == min(bins, 2)


def test_a_curve_of_few_rows_is_no_grouping_loss():
    """Levels with other scores do not seem to differ because C is curved: the few rows are in three bins."""
    values = []
    for seed in range(60):
        rng = np.random.default_rng([4, seed])
        site = rng.integers(0, 3, 300)
        p = 1 / (1 + np.exp(-rng.normal(2.5 * (site - 1), 0.7)))
        values.append(grouping_loss(p, rng.random(300) < p**3, site, **ASK).value)
    assert np.mean(values) == pytest.approx(0, abs=4 * np.std(values) / sqrt(60))
    assert np.mean(values) < 0.001  # it is 0.01 in one bin


def test_regions_that_are_small_are_joined():
    """They join those that differ in the last column only, then all others in the bin."""
    p, y = np.full(100, 0.5), np.tile([0, 1, 0, 0, 1], 20)
    first = np.repeat(["a", "b", "c"], [60, 35, 5])
    last = np.concatenate([np.repeat(["u", "v"], 30), np.repeat(["u", "v", "w"], [25, 6, 4]), ["u"] * 5])
    found = grouping_loss(p, y, {"first": first, "last": last}, **ASK)
    joined = np.concatenate([np.repeat([0, 1], 30), np.repeat([2, 3], [25, 10]), [4] * 5])  # au, av, bu, bv + bw, cu
    value = literal(p, y, np.ones(100), np.zeros(100), {"region": joined})[0]
    assert found.n_regions == 5
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.left_out == 0


# --- simulations with a known variance --------------------------------------------------------------------------------


def simulated(n, rng, difference, correlated=False):
    """Scores, outcomes, and a column of two levels whose rates differ by plus and minus `difference`."""
    site = rng.integers(0, 2, n)
    p = 0.2 + 0.6 * (rng.beta(1 + site, 2 - site) if correlated else rng.random(n))
    return p, (rng.random(n) < p + difference * np.where(site == 1, 1, -1)).astype(int), {"site": site}


@pytest.mark.parametrize("difference", [0, 0.05, 0.15])
def test_known_variance(difference):
    """It is the square of the difference, and the interval contains it."""
    found = grouping_loss(*simulated(40_000, np.random.default_rng(5), difference), **ASK)
    assert found.value == pytest.approx(difference**2, abs=0.0008)
    assert found.low <= difference**2 <= found.high
    assert (found.p_value < 0.02) == (difference > 0)
    assert found.typical == pytest.approx(difference, abs=0.01)
    assert found.calibration_loss == pytest.approx(0, abs=0.0003)
    assert found.floor[0] < 0 < found.floor[1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1000, 10_000])
@pytest.mark.parametrize("correlated", [False, True])
def test_no_difference(n, correlated):
    """Without differences, the estimate is 0 on average, between the ends of the floor in 95 %, and p is uniform."""
    sets = 200 if n < 5000 else 80
    values, inside, small, zero = [], 0, 0, 0
    for seed in range(sets):
        found = grouping_loss(*simulated(n, np.random.default_rng([6, seed, n]), 0, correlated), **ASK)
        values.append(found.value)
        inside += found.floor[0] <= found.value <= found.floor[1]
        small += found.p_value <= 0.05
        zero += found.low == 0
    assert np.mean(values) == pytest.approx(0, abs=3 * np.std(values) / sqrt(sets))
    assert inside >= 0.9 * sets
    assert small <= 0.1 * sets
    assert zero >= 0.95 * sets - 3


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1000, 10_000])
@pytest.mark.parametrize("difference", [0.05, 0.15])
def test_intervals_contain_the_variance(n, difference):
    """The estimate has no bias, and at least 93 % of intervals contain the variance of the simulation."""
    sets = 200 if n < 5000 else 80
    values, inside = [], 0
    for seed in range(sets):
        found = grouping_loss(*simulated(n, np.random.default_rng([7, seed, n]), difference), **ASK)
        values.append(found.value)
        inside += found.low <= difference**2 <= found.high
    assert np.mean(values) == pytest.approx(difference**2, abs=3.5 * np.std(values) / sqrt(sets))
    assert inside >= 0.93 * sets


def test_lower_bound():
    """More columns show more of it; a column that says nothing shows nothing; the bound of the paper is lower."""
    rng = np.random.default_rng(8)
    n = 40_000
    by = {"a": rng.integers(0, 2, n), "b": rng.integers(0, 2, n), "noise": rng.integers(0, 4, n)}
    p = 0.3 + 0.4 * rng.beta(1 + by["a"], 2 - by["a"])
    y = rng.random(n) < p + 0.1 * np.where(by["b"] == 1, 1, -1) + 0.05 * np.where(by["noise"] == 0, 3, -1) * by["a"]
    few, more, every = (
        grouping_loss(p, y, {name: by[name] for name in names}, **ASK) for names in (["a"], ["a", "b"], list(by))
    )
    assert few.value < more.value - 0.005 < more.value < every.value - 0.002
    found = grouping_loss(p, rng.random(n) < p, by, **ASK)
    assert found.value == pytest.approx(0, abs=0.0008)
    for one in (few, more, every, found):
        assert one.explained - one.induced < one.value


# --- laws -------------------------------------------------------------------------------------------------------------


def numbers(found):
    """All that does not depend on draws."""
    names = ("value", "explained", "induced", "calibration_loss", "n", "n_bins", "n_regions", "left_out")
    return [getattr(found, name) for name in names]


@pytest.mark.parametrize("tied", [False, True])
def test_rows_and_weights(tied):
    """The order of rows, the scale of weights and rows of weight 0 do not matter."""
    p, y, by, w = rows(500, 9, tied, weighted=True)
    found = grouping_loss(p, y, by, sample_weight=w, **ASK)
    order = np.random.default_rng(10).permutation(500)
    permuted = {name: column[order] for name, column in by.items()}
    shuffled = grouping_loss(p[order], y[order], permuted, sample_weight=w[order], **ASK)
    assert numbers(shuffled) == pytest.approx(numbers(found), rel=1e-9, abs=1e-13)
    for scale in (1e-9, 0.1, 1e9):
        scaled = grouping_loss(p, y, by, sample_weight=scale * w, **ASK)
        assert numbers(scaled) == pytest.approx(numbers(found), rel=1e-9, abs=1e-13)
        assert (scaled.low, scaled.high, scaled.p_value) == pytest.approx((found.low, found.high, found.p_value))
    more = {name: np.append(column, ["new"] * 50) for name, column in by.items()}
    nothing = np.append(w, np.zeros(50))
    extended = grouping_loss(np.append(p, p[:50]), np.append(y, y[:50]), more, sample_weight=nothing, **ASK)
    assert numbers(extended) == pytest.approx(numbers(found), rel=1e-9, abs=1e-13)


def test_scores_that_rank_alike():
    """A calibration map that moves all scores along a line changes the calibration loss alone."""
    p, y, by, _ = rows(500, 11)
    one, other = grouping_loss(p, y, by, **ASK), grouping_loss(0.3 + 0.1 * p, y, by, **ASK)
    assert numbers(one)[:3] == pytest.approx(numbers(other)[:3], rel=1e-8)
    assert other.calibration_loss > one.calibration_loss + 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_statistic(weighted):
    """One cell for each score: the statistic has the numbers of the rows, whether it was added up or not."""
    p, y, by, w = rows(600, 12, tied=True)
    w = np.where(by["site"] == "a", 2.5, 1.0) if weighted else w
    found = grouping_loss(p, y, by, sample_weight=w, **ASK)
    parts = [Predictions(p[i::2], y[i::2], sample_weight=w[i::2]) for i in (0, 1)]
    columns = [{name: column[i::2] for name, column in by.items()} for i in (0, 1)]
    first = SegmentStats.of(parts[0], columns[0])
    added = grouping_loss(first + SegmentStats.of(parts[1], columns[1], like=first), **ASK)
    whole = grouping_loss(SegmentStats.of(Predictions(p, y, sample_weight=w), by), **ASK)
    assert numbers(whole) == pytest.approx(numbers(found), rel=1e-9, abs=1e-13)
    assert numbers(added) == pytest.approx(numbers(whole), rel=1e-9, abs=1e-13)
    assert (added.low, added.high, added.p_value) == pytest.approx((whole.low, whole.high, whole.p_value))


@pytest.mark.parametrize("n_bins", [3, 15, 50])
@pytest.mark.parametrize("correlated", [False, True])
def test_statistic_of_any_scores(n_bins, correlated):
    """Of cells with several scores, it is close to that of the rows, even if a bin has only one cell."""
    for difference in (0, 0.1):
        p, y, by = simulated(20_000, np.random.default_rng(13), difference, correlated)
        stats = SegmentStats.of(Predictions(p, y), by)
        of_rows, of_cells = (grouping_loss(*given, n_bins=n_bins, **ASK) for given in ((p, y, by), (stats,)))
        assert of_cells.value == pytest.approx(of_rows.value, abs=0.0003)
        assert of_cells.value == pytest.approx(of_rows.value, rel=0.03, abs=0.0003 if difference == 0 else 0)
        assert (of_cells.p_value < 0.02) == (difference > 0)


# --- columns and ends -------------------------------------------------------------------------------------------------


def test_missing_levels():
    """Missing values are a level; numbers are cut into ranges, with a note."""
    rng = np.random.default_rng(14)
    n = 8000
    p, age = 0.2 + 0.6 * rng.random(n), np.where(rng.random(n) < 0.5, np.nan, rng.integers(20, 80, n))
    y = rng.random(n) < p + np.where(np.isnan(age), 0.15, -0.15)
    found = grouping_loss(p, y, {"age": age}, n_ranges=2, **ASK)
    assert found.value == pytest.approx(0.15**2, abs=0.004)
    assert found.n_regions == 3 * found.n_bins
    assert found.notes[0].startswith("column age was cut into ranges at ")


def test_ends_of_data():
    """One class, scores of 0 and 1 that are right, and scores next to 0 have a value, an interval and a p-value."""
    p, y, by, _ = rows(200, 15)
    rare = np.zeros(200)
    rare[7] = 1
    for scores, labels in [(p, np.zeros(200)), (p, np.ones(200)), (y, y), (p * 1e-12, np.zeros(200)), (p, rare)]:
        found = grouping_loss(scores, labels, by, **ASK)
        assert np.isfinite(numbers(found)).all()
        assert 0 <= found.low <= found.high < 0.2
        assert 0.05 < found.p_value <= 1
    assert grouping_loss(y, y, by, **ASK).value == pytest.approx(0, abs=1e-15)


def test_weights_of_few_effective_rows():
    """A bin with few effective rows has a line, too: scores that differ between levels are no grouping loss."""
    values = []
    for seed in range(80):
        rng = np.random.default_rng([16, seed])
        site = rng.integers(0, 2, 400)
        p = 1 / (1 + np.exp(-rng.normal(4 * site - 2, 0.5)))
        w = np.where(np.arange(400) < 3, 150.0, 1.0)
        values.append(grouping_loss(p, rng.random(400) < p, site, min_rows=5, sample_weight=w, **ASK).value)
    assert np.mean(values) == pytest.approx(0, abs=3 * np.std(values) / sqrt(80))


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"by": None}, InputError, "by is missing"),
        ({"by": {}}, InputError, "by has no columns: pass at least one column of segments"),
        ({"by": {"site": ["a"] * 7}}, InputError, "by 'site' has 7 entries, but the predictions have 100 rows"),
        ({"by": {"site": ["a"] * 100}}, UndefinedError, "there are no segments: column site is 'a' in every row"),
        ({"min_rows": 1}, InputError, "min_rows"),
        ({"min_rows": 101}, InputError, "min_rows must be at most the number of rows, 100, got 101"),
        (
            {"min_rows": 100},
            UndefinedError,
            "no two regions of 100 rows have similar scores: choose a smaller min_rows",
        ),
        ({"level": 0}, InputError, "level"),
        ({"n_bins": 0}, InputError, "n_bins"),
        ({"n_resamples": 99}, InputError, "n_resamples"),
    ],
)
def test_what_is_refused(change, error, sentence):
    """What cannot be meant is refused with a sentence."""
    p, y, by, _ = rows(100, 17)
    with pytest.raises(error, match=sentence):
        grouping_loss(p, y, **{"by": by, **ASK, **change})


# --- the object -------------------------------------------------------------------------------------------------------


def test_object():
    """It is a number and a text; the same seed gives the same one."""
    p, y, by, _ = rows(600, 18)
    found = grouping_loss(p, y, by, **ASK)
    assert found == grouping_loss(p, y, by, **ASK)
    lines = str(found).splitlines()
    assert lines[0].startswith(f"grouping loss, lower bound {found.value:.4g} (95 % interval {found.low:.4g} … ")
    assert lines[1].startswith(
        f"calibration loss {found.calibration_loss:.4g}; 600 rows, {found.n_regions} regions by site"
    )
