"""The smooth calibration error against a Gaussian reflected by hand, image by image."""

import json
from dataclasses import replace
from itertools import pairwise
from math import fsum, pi, sqrt
from pathlib import Path

import numpy as np
import pytest

from believable import CellStats, Predictions, _kernels, smooth_calibration_error, smooth_calibration_error_detail
from believable.errors import InputError, UndefinedError
from believable.metrics.smooth_calibration_error import MAX_ROWS_TO_SORT
from believable.stats.source import count_points
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, close, over, pairs
from tests.needs import need
from tests.oracle.inputs import inputs

WITHIN = 1e-6
RNG = np.random.default_rng(20240601)


def residuals(group):
    """Sum of w (y - p) / W at each distinct score."""
    total = fsum(w for _, _, w in group)
    found: dict[float, list[float]] = {}
    for p, y, w in group:
        found.setdefault(p, []).append(w * (y - p))
    return {p: fsum(terms) / total for p, terms in found.items()}


def size(group, s, n=16_000):
    """The integral of |sum of residuals times reflected Gaussians| over [0, 1], by trapezoids; images beyond 9 s left out."""
    t = np.arange(n + 1) / n
    curve = np.zeros(n + 1)
    turns = int(4.5 * s) + 1
    for p, residual in residuals(group).items():
        for image in [2 * turn + sign * p for turn in range(-turns, turns + 1) for sign in (1, -1)]:
            near = slice(*np.searchsorted(t, [image - 9 * s, image + 9 * s]))
            curve[near] += residual * np.exp(-((t[near] - image) ** 2) / (2 * s * s)) / (s * sqrt(2 * pi))
    height = np.abs(curve)
    return float((height.sum() - (height[0] + height[-1]) / 2) / n)


def fixed_point(group):
    """The s with size(s) = s, by halving."""
    low, high = 0.0, 1.0
    for _ in range(22):
        middle = (low + high) / 2
        low, high = (middle, high) if size(group, middle, 4000) > middle else (low, middle)
    return (low + high) / 2


def is_fixed_point(group, s):
    """Whether the size crosses s within 1e-6 of s."""
    below = s <= WITHIN or size(group, s - WITHIN) >= s - WITHIN
    return below and size(group, s + WITHIN) <= s + WITHIN


@over(BINARY, SOFT)
def test_definition(ask, data):
    """It is the bandwidth at which the smoothed residuals have the size of the bandwidth, to 1e-6."""
    assert is_fixed_point(pairs(data)[0], ask(smooth_calibration_error, data))


@over(BINARY, SOFT)
@pytest.mark.parametrize("s", [0.01, 0.1, 0.7])
def test_bandwidth(ask, data, s):
    """With a bandwidth of one's own it is the size of the residuals smoothed by that."""
    assert ask(smooth_calibration_error, data, bandwidth=s) == pytest.approx(size(pairs(data)[0], s), abs=5e-7)


@over({name: MATRIX[name] for name in ("random", "argmax ties and weights")})
@choices(
    {},
    {"notion": "classwise"},
    {"notion": "top_label"},
    {"notion": "top_r", "r": 2},
    {"notion": "within_top_r", "r": 2},
    name="view",
)
def test_matrix(ask, data, view):
    """Groups that are kept apart have a value each, averaged by weight."""
    groups = [group for group in pairs(data, **view) if group]
    weights = [fsum(w for _, _, w in group) for group in groups]
    expected = fsum(w * fixed_point(group) for w, group in zip(weights, groups, strict=True)) / fsum(weights)
    assert ask(smooth_calibration_error, data, **view) == pytest.approx(expected, abs=2e-6)


@over({"multilabel ties": MULTILABEL["multilabel ties"]})
def test_multilabel(ask, data):
    """Independent columns have a value each, and their mean counts."""
    expected = np.mean([fixed_point(group) for group in pairs(data)])
    assert ask(smooth_calibration_error, data) == pytest.approx(expected, abs=2e-6)


def test_scores_of_0_and_1_count_in_full():
    """The kernel at the ends is reflected, not cut: all residuals of one sign keep their mean."""
    for scores, labels, error in (([0.0, 0.0], [1, 0], 0.5), ([1.0], [0], 1.0), ([0.0, 0.25], [1, 0.75], 0.75)):
        data = Predictions(scores, labels, soft_labels=True)
        assert smooth_calibration_error(data) == pytest.approx(error, rel=1e-9)
        for s in (1e-3, 0.05, 0.5, 5):
            assert smooth_calibration_error(data, bandwidth=s) == pytest.approx(error, rel=1e-9)


def test_constant_scores():
    """At one score it is the distance from the mean outcome, whatever the bandwidth."""
    assert smooth_calibration_error([0.3] * 10, [1] * 4 + [0] * 6) == close(0.1)
    assert smooth_calibration_error([0.3] * 10, [1] * 3 + [0] * 7) == pytest.approx(0, abs=1e-15)
    assert smooth_calibration_error([0.7], [1]) == close(0.3)


def test_small_errors_are_found():
    """Soft labels that are off by a little, up and down in turn, are told to 1e-6 as well."""
    p = np.linspace(0.1, 0.9, 40)
    for off in (3e-3, 3e-4, 2e-5, 4e-7, 0.0):
        data = Predictions(p, p + off * (-1) ** np.arange(40), soft_labels=True)
        found = smooth_calibration_error(data)
        expected = off if off < 1e-3 else fixed_point([(x, y, 1.0) for x, y in zip(p, data.labels, strict=True)])
        assert found == pytest.approx(expected, abs=2e-6)


def test_no_growth_with_the_bandwidth():
    """More smoothing never shows more error, and ends at the mean residual."""
    for data in BINARY.values():
        found = Predictions(data.scores, data.labels, sample_weight=data.weights)
        sizes = [smooth_calibration_error(found, bandwidth=s) for s in (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1, 3)]
        assert all(b <= a + 1e-7 for a, b in pairwise(sizes))
        assert sizes[-1] == pytest.approx(abs(fsum(residuals(pairs(data)[0]).values())), abs=1e-12)


def test_many_rows_need_no_order():
    """Pairs spread over a grid, unsorted, give what their points give; of a matrix, and with weights too."""
    n = MAX_ROWS_TO_SORT + 1
    p = RNG.random(n)
    p[:200], p[200:400] = 0, 1
    y = (RNG.random(n) < p**1.2).astype(int)
    w = RNG.random(n)
    matrix = RNG.dirichlet(np.ones(3), n)
    for scores, labels, weights, view in (
        (p, y, None, {}),
        (p.astype(np.float32), y, w, {}),
        (matrix, y, w, {}),
        (matrix, y, None, {"notion": "classwise"}),
        (matrix, y, None, {"notion": "top_r", "r": 2}),
    ):
        data = Predictions(scores, labels, sample_weight=weights)
        for s in (None, 0.02, 2e-4):
            found = smooth_calibration_error(data, bandwidth=s, **view)
            points = count_points(data, **view)
            expected = [
                _kernels.smooth_error(group.score, group.excess, group.total)
                if s is None
                else _kernels.smooth_error_at(group.score, group.excess, group.total, s)
                for group in points
            ]
            assert found == pytest.approx(np.mean(expected), abs=3e-7)


def test_replicates():
    """Many replicates at once are what each of them is alone, whether their weights differ or not."""
    p = np.round(RNG.random(300), 2)
    points = count_points(Predictions(p, RNG.random(300) < p))[0]
    wy = RNG.binomial(points.n, points.score, (30, len(points.n))).astype(float)
    w = RNG.poisson(points.n, (30, len(points.n))).astype(float)
    for many in (replace(points, wy=wy), replace(points, wy=np.minimum(w, wy), w=w)):
        excess, total = many.excess, np.broadcast_to(many.total, 30)
        found = _kernels.smooth_error(many.score, excess, many.total)
        at = _kernels.smooth_error_at(many.score, excess, many.total, 0.05)
        assert found.shape == at.shape == (30,)
        for i in range(30):
            assert found[i] == pytest.approx(float(_kernels.smooth_error(many.score, excess[i], total[i])), rel=1e-10)
            assert at[i] == pytest.approx(float(_kernels.smooth_error_at(many.score, excess[i], total[i], 0.05)))


def test_cells():
    """Cells of a fine grid answer like the data."""
    data = Predictions(RNG.random(2000), RNG.integers(0, 2, 2000))
    assert smooth_calibration_error(CellStats.of(data)) == pytest.approx(smooth_calibration_error(data), abs=1e-6)


def test_detail():
    """The detail holds the value and its bandwidth, and is about one group."""
    scores, labels = [0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0]
    found = smooth_calibration_error_detail(scores, labels)
    assert found.value == found.bandwidth == float(found) == smooth_calibration_error(scores, labels)
    fixed = smooth_calibration_error_detail(Predictions(scores, labels), bandwidth=0.2)
    assert (fixed.value, fixed.bandwidth) == (smooth_calibration_error(scores, labels, bandwidth=0.2), 0.2)
    matrix = np.eye(3)[[0, 1, 2]]
    assert smooth_calibration_error_detail(matrix, [0, 1, 2]).value == 0
    with pytest.raises(UndefinedError, match="bandwidth of the smooth calibration error needs one set of scores"):
        smooth_calibration_error_detail(matrix, [0, 1, 2], notion="classwise")


@pytest.mark.parametrize("bandwidth", [0, 1e-9, -1, np.nan, np.inf, "wide", 1000])
def test_bad_bandwidth(bandwidth):
    """A bandwidth is a number from 1e-6 to 100."""
    with pytest.raises(InputError, match="bandwidth must be a number from 1e-06 to 100, got"):
        smooth_calibration_error([0.1, 0.9], [0, 1], bandwidth=bandwidth)


SAVED = json.loads((Path(__file__).parent.parent / "oracle" / "values" / "relplot.json").read_text())["records"]


@pytest.mark.parametrize("name", sorted({record["input"] for record in SAVED}))
def test_relplot(name):
    """relplot agrees where it is right: no scores of 0 or 1, bandwidths that its cut kernel allows."""
    given = inputs()[name]
    if np.any((given.p == 0) | (given.p == 1)):
        return
    for record in (record for record in SAVED if record["input"] == name):
        if record["quantity"] == "smECE_sigma" and record["args"]["sigma"] <= 0.15:
            found = smooth_calibration_error(given.p, given.y, bandwidth=record["args"]["sigma"])
            assert found == pytest.approx(record["value"], rel=6e-3)
        elif record["quantity"].startswith("smECE ("):  # the upper end of the last of ten bisections
            assert -2e-4 <= record["value"][1] - smooth_calibration_error(given.p, given.y) <= 1 / 1024 + 2e-4


@pytest.mark.parametrize("sigma", [0.05, 0.25, 0.4])
def test_relplot_cuts_its_kernel_off(sigma):
    """At a distance of 1/2, which makes large errors of both signs too large; ours has the whole Gaussian."""
    relplot = need("relplot")
    p = (np.arange(40) + 0.5) / 40
    y = (p < 0.5).astype(int)  # reversed scores
    t, whole, cut, mass = (np.arange(4000) + 0.5) / 4000, np.zeros(4000), np.zeros(4000), np.zeros(4000)
    for score, outcome in zip(p, y, strict=True):
        for image in [2 * turn + sign * score for turn in range(-3, 4) for sign in (1, -1)]:
            kernel = np.exp(-((t - image) ** 2) / (2 * sigma * sigma)) / (sigma * sqrt(2 * pi))
            whole += kernel * (outcome - score)
            mass += kernel * (np.abs(t - image) <= 0.5)
            cut += kernel * (np.abs(t - image) <= 0.5) * (outcome - score)
    ours, theirs = smooth_calibration_error(p, y, bandwidth=sigma), relplot.smECE_sigma(p, y, sigma=sigma)
    assert ours == pytest.approx(np.abs(whole).mean() / 40, rel=1e-5)
    assert theirs == pytest.approx(np.abs(cut).sum() / mass.sum(), rel=5e-3)  # their grid
    assert (theirs > 1.05 * ours) == (sigma > 0.2)
