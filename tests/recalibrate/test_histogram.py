"""Histogram binning: the textbook loop, empty bins, edges, and scores without ends."""

from __future__ import annotations

import json

import numpy as np
import pytest

from believable import CellStats, Edges, Predictions
from believable.errors import InputError, SchemaError
from believable.recalibrate import HistogramBinning, load_recalibrator
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def literal(score, y, edges, new, w=None, smoothing=0.0):
    """For every new score: the frequency among calibration scores in the same ]low, high], or the score itself."""
    w = np.ones(len(y)) if w is None else w
    bounds = list(zip([-np.inf, *edges], [*edges, np.inf], strict=True))
    out = []
    for x in new:
        low, high = next((low, high) for low, high in bounds if low < x <= high)
        here = [i for i in range(len(y)) if low < score[i] <= high]
        weight, happened = sum(w[i] for i in here), sum(w[i] * y[i] for i in here)
        out.append((happened + smoothing) / (weight + 2 * smoothing) if here else x)
    return out


def quantile_edges(score, n_bins, w=None):
    """The scores at which the running weight first reaches j/M of all of it."""
    w = np.ones(len(score)) if w is None else w
    order = sorted(range(len(score)), key=lambda i: score[i])
    edges = set()
    for j in range(1, n_bins):
        reached = 0.0
        for i in order:
            reached += w[i]
            if reached >= (j / n_bins - 1e-9) * sum(w):
                edges.add(float(score[i]))
                break
    return sorted(edges)


GRID = np.linspace(0, 1, 101)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bins", [1, 3, 10, 25])
def test_uniform(n_bins, weighted):
    """Bins of equal width hold their weighted frequency; an empty bin leaves the score as it is."""
    p, y = binary(60)
    w = np.random.default_rng(0).random(60) if weighted else None
    model = HistogramBinning(strategy="uniform", n_bins=n_bins).fit(p, y, sample_weight=w)
    edges = [k / n_bins for k in range(1, n_bins)]
    np.testing.assert_allclose(model.transform(GRID), literal(p, y, edges, GRID, w), rtol=1e-13)
    occupied = model.maps_[0]["occupied"]
    assert n_bins < 25 or 0 < occupied.sum() < 25


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_quantile(n_bins, weighted):
    """Bins of equal weight never split equal scores."""
    p, y = binary(90)
    p = p.round(1)
    w = np.random.default_rng(0).random(90) if weighted else None
    model = HistogramBinning(n_bins=n_bins).fit(p, y, sample_weight=w)
    edges = [edge for edge in quantile_edges(p, n_bins, w) if edge < 1]
    np.testing.assert_allclose(model.transform(GRID), literal(p, y, edges, GRID, w), rtol=1e-13)
    assert model.maps_[0]["edges"].tolist() == list(Edges.quantile(p, n_bins, w).values[1:-1])


def test_smoothing():
    """Smoothing adds so many events and non-events to every bin that is not empty."""
    p, y = binary(60)
    model = HistogramBinning(strategy="uniform", n_bins=25, smoothing=0.5).fit(p, y)
    edges = [k / 25 for k in range(1, 25)]
    np.testing.assert_allclose(model.transform(GRID), literal(p, y, edges, GRID, smoothing=0.5), rtol=1e-13)
    rates = model.maps_[0]["rates"][model.maps_[0]["occupied"] == 1]
    assert rates.min() > 0
    assert rates.max() < 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fitted_on", ["float32", "float64"])
def test_scores_on_edges(dtype, fitted_on):
    """k/M is in the bin that it ends, in either type, whichever the map was learnt from."""
    tenths = np.arange(11) / 10
    scores, y = np.repeat(tenths, 2).astype(fitted_on), np.tile([0, 1], 11)
    y[2:4] = 1  # 0.1
    model = HistogramBinning(strategy="uniform", n_bins=10).fit(scores, y)
    assert model.transform(tenths.astype(dtype)).tolist() == [0.75, 0.75] + [0.5] * 9
    assert model.maps_[0]["edges"].tolist() == tenths[1:-1].tolist()


def test_zero_may_be_a_bin():
    """Where much weight is at 0, {0} is a quantile bin."""
    p = np.array([0.0] * 6 + [0.2, 0.4, 0.6, 0.8])
    y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 0, 1])
    model = HistogramBinning(n_bins=2).fit(p, y)
    assert model.maps_[0]["edges"].tolist() == [0.0]
    assert model.transform([0, 1e-300, 1]) == pytest.approx([1 / 6, 0.75, 0.75])


def test_mean_is_kept():
    """Without empty bins the mean of the output is the mean of the outcomes."""
    p, y = binary(2000)
    assert HistogramBinning().fit(p, y).transform(p).mean() == pytest.approx(y.mean(), abs=1e-14)


def test_logits_are_binned_as_probabilities():
    """A logit is where its probability is, and an empty bin leaves that probability."""
    p, y = binary(60)
    inside = GRID[1:-1] + 1e-3  # off the edges
    for settings in ({}, {"strategy": "uniform", "n_bins": 40}):
        one = HistogramBinning(**settings).fit(p, y).transform(inside)
        two = HistogramBinning(input="logits", **settings).fit(logit(p), y).transform(logit(inside))
        np.testing.assert_allclose(two, one, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_any_size(weighted, dtype):
    """Scores have quantile bins without ends, none of them empty."""
    rng = np.random.default_rng(3)
    score = (1e5 * rng.standard_cauchy(200)).astype(dtype)
    score[-40:] = score.max()
    y = rng.integers(0, 2, 200)
    w = rng.random(200) if weighted else None
    model = HistogramBinning(input="scores", n_bins=8).fit(score, y, sample_weight=w)
    new = np.sort(np.append(score, [-3e38, 3e38]).astype(dtype))
    edges = [edge for edge in quantile_edges(score, 8, w) if edge < score.max()]
    np.testing.assert_allclose(model.transform(new), literal(score, y, edges, new, w), rtol=1e-12)
    assert model.maps_[0]["occupied"].all()
    assert model.maps_[0]["edges"].tolist() == edges


def test_edges_that_float32_cannot_reach():
    """A map of scores beyond float32 still maps float32 scores."""
    model = HistogramBinning(input="scores", n_bins=3).fit([-1e300, 0.0, 1e300], [0, 1, 1])
    assert model.transform(np.array([-3e38, 0, 3e38], np.float32)).tolist() == [1, 1, 1]


def test_cells_nest_uniform_bins():
    """From cells, uniform bins come out as from rows, also for heaps on their edges, in either type."""
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        p = (rng.integers(0, 21, 3000) / 20).astype(dtype)
        y = rng.integers(0, 2, 3000)
        model = HistogramBinning(strategy="uniform", n_bins=10)
        rows = model.fit(p, y).maps_[0]
        cells = model.fit_from_cells(CellStats.of(Predictions(p, y))).maps_[0]
        for name in rows:
            np.testing.assert_array_equal(cells[name], rows[name])


def test_quantile_bins_from_cells():
    """From cells, quantile edges are off by no more than a cell."""
    p, y = binary(3000)
    rows = HistogramBinning().fit(p, y).maps_[0]
    cells = HistogramBinning().fit_from_cells(CellStats.of(Predictions(p, y), cells=1000)).maps_[0]
    np.testing.assert_allclose(cells["edges"], rows["edges"], rtol=0, atol=1e-3)
    np.testing.assert_allclose(cells["rates"], rows["rates"], rtol=0, atol=0.02)  # a row or two of 300 change bins


def test_classes_are_taken_one_against_the_rest():
    """K columns are K maps, and rows divided by their sums."""
    p, labels = multiclass(200)
    columns = [
        literal(p[:, k], labels == k, [e for e in quantile_edges(p[:, k], 5) if e < 1], p[:, k]) for k in range(4)
    ]
    expected = np.column_stack(columns)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(HistogramBinning(n_bins=5).fit(p, labels).transform(p), expected, rtol=1e-12)


def test_limits():
    """Constant scores get the base rate; two rows are two bins."""
    assert HistogramBinning().fit([0.3] * 4, [0, 1, 1, 1]).transform([0.0, 0.3]).tolist() == [0.75, 0.75]
    assert HistogramBinning().fit([0.3] * 4, [0, 1, 1, 1]).transform([0.4]).tolist() == [0.4]  # the bin above is empty
    assert HistogramBinning(input="scores").fit([0.3] * 4, [0, 1, 1, 1]).transform([-9, 9]).tolist() == [0.75] * 2
    assert HistogramBinning(n_bins=2).fit([0.2, 0.7], [1, 0]).transform([0.2, 0.21, 0.9]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_bins": 0}, "n_bins must be an integer from 1 to 1000000, got 0"),
        ({"strategy": "kmeans"}, "strategy must be one of 'quantile', 'uniform', got 'kmeans'"),
        ({"smoothing": -1}, "smoothing must be a number from 0 to 1e+100, got -1"),
        (
            {"input": "scores", "strategy": "uniform"},
            "scores have no fixed range to divide into uniform bins: use strategy='quantile'",
        ),
    ],
)
def test_settings(settings, sentence):
    """Choices that make no sense are refused with a sentence."""
    with pytest.raises(InputError) as error:
        HistogramBinning(**settings).fit(*binary())
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("rates", [0.5], "there must be one more of the saved rates and occupied than of the edges"),
        ("occupied", [0.5, 1.0], "the saved occupied must be 0 or 1, and 1 for every bin of scores"),
        ("occupied", [0.0, 1.0], "the saved occupied must be 0 or 1, and 1 for every bin of scores"),
    ],
)
def test_saved_bins_must_match(name, value, sentence):
    """Saved bins that do not fit together are refused."""
    p, y = binary()
    saved = json.loads(HistogramBinning(input="scores", n_bins=2).fit(p, y).to_json())
    saved["maps"][0][name] = value
    with pytest.raises(SchemaError, match=sentence):
        load_recalibrator(json.dumps(saved))
