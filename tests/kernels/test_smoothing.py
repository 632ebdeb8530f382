"""Pieces of the smoothers against plain loops."""

import numpy as np
import pytest

from believable import _kernels
from believable._kernels import cosine, smoothing
from believable._kernels.smoothing import neighbour_distance

RNG = np.random.default_rng(20240607)


@pytest.mark.parametrize("span", [0.0, 0.01, 0.3, 0.75, 1.0])
def test_neighbour_distance(span):
    """The distance within which the weight first reaches the span, for places inside, outside and on the scores."""
    for size in (1, 2, 7, 60):
        score, w = np.unique(RNG.integers(0, 50, size) / 50), RNG.integers(1, 5, size).astype(float)
        w = w[: len(score)]
        at = np.concatenate([score, np.linspace(-0.5, 1.5, 41)])
        for x, found in zip(at, neighbour_distance(score, w, at, span), strict=True):
            distance = np.abs(score - x)
            order = np.argsort(distance, kind="stable")
            reached = np.cumsum(w[order]) >= (span - 1e-9) * w.sum()
            assert found == pytest.approx(distance[order][np.argmax(reached)], abs=1e-15)


def test_windows_cover_all_places_once():
    """Every place is in one block, whose scores hold all that it sees; no block is much larger than the room."""
    for width in (1, 30, 3000):
        score = np.sort(RNG.random(5000))
        at = np.sort(RNG.random(700))
        first = np.maximum(np.searchsorted(score, at) - width, 0)
        last = np.minimum(first + 2 * width, 5000)
        seen = []
        for places, scores in smoothing.windows(first, last):
            seen += range(places.start, places.stop)
            assert np.all(first[places] >= scores.start)
            assert np.all(last[places] <= scores.stop)
            assert (places.stop - places.start) * (scores.stop - scores.start) <= 2 * smoothing.WEIGHTS_AT_ONCE
        assert seen == list(range(700))


def test_a_window_larger_than_the_room():
    """A place that sees more than fits has a block of its own."""
    blocks = list(smoothing.windows(np.array([0, 0]), np.array([3, 10 * smoothing.WEIGHTS_AT_ONCE])))
    assert blocks == [(slice(0, 1), slice(0, 3)), (slice(1, 2), slice(0, 10 * smoothing.WEIGHTS_AT_ONCE))]


def test_rows_of_smoothers_sum_to_one():
    """A constant is smoothed to itself."""
    score, w = np.sort(RNG.random(300)), 10 ** RNG.uniform(-3, 3, 300)
    at = np.linspace(score[0], score[-1], 40)
    smoothers = [_kernels.reflected_gaussian(score, w, at, s) for s in (0, 1e-4, 0.05, 0.7, 10)]
    for degree in (0, 1, 2):
        for span, bandwidth in ((0.2, None), (0.75, None), (1.0, 0.02)):
            smoothers.append(_kernels.local_polynomial(score, w, at, span=span, bandwidth=bandwidth, degree=degree))
    for smoother in smoothers:
        assert _kernels.smoothed(smoother, np.full(300, 0.3), 40) == pytest.approx(0.3)


def test_cells():
    """Cells are at most as many as asked for, and none is wide and heavy."""
    score = np.sort(np.concatenate([RNG.random(500), 10 ** RNG.uniform(-9, 0, 5000)]))
    starts = _kernels.cell_starts(score, np.ones(5500), 200)
    ends = np.append(starts[1:], 5500)
    assert len(starts) <= 200
    assert np.all(score[ends - 1] - score[starts] <= 1 / 95)
    assert np.all(ends - starts <= 5500 / 95)


def test_spreading_over_a_grid_is_undone():
    """Cosine sums by a grid are those taken one by one, for scores on nodes and between them, 0 and 1 included."""
    score = np.concatenate([[0.0, 1.0], np.arange(1, 8) / 8, RNG.random(50)])
    excess = RNG.standard_normal(len(score))
    grid = cosine.spread(score, excess, 1 << 14)
    assert grid.sum() == pytest.approx(excess.sum())
    exact = np.cos(np.pi * np.outer(np.arange(101), score)) @ excess
    assert cosine._waves_of_grid(grid, 100) == pytest.approx(exact, abs=1e-5 * np.abs(excess).sum())
    assert cosine._cosine_sums(score, excess[None], 100)[0] == pytest.approx(exact, abs=1e-12)
    assert cosine._cosine_sums(score, np.stack([excess, -excess]), 100)[1] == pytest.approx(-exact, abs=1e-12)


def test_absolute_area():
    """The area under |curve| is right to fourth order, wherever zeros fall between the nodes, or on them."""
    for n in (64, 128):
        t = np.arange(n + 1) / n
        for k in range(1, 6):
            for up in (0.0, 0.1, -0.35, 0.6):
                root = np.arccos(-up) / np.pi  # of cos(pi x) + up, which rises k times and falls k times
                area = 2 / np.pi * np.sin(np.pi * root) + up * (2 * root - 1)
                found = cosine._absolute_area((np.cos(np.pi * k * t) + up)[None])[0]
                assert found == pytest.approx(area, abs=3 * (k / n) ** 4 * 16)


def test_long_batches_are_cut(monkeypatch):
    """Replicates are the same whether they fit at once or not, and whether cosines are taken exactly or by a grid."""
    score, excess = np.sort(RNG.random(40)), RNG.standard_normal((20, 40))
    whole = _kernels.smooth_error(score, excess, np.abs(excess).sum(axis=1))
    with monkeypatch.context() as patch:
        patch.setattr(cosine, "NUMBERS_AT_ONCE", 1 << 10)
        cut = _kernels.smooth_error(score, excess, np.abs(excess).sum(axis=1))
    assert cut == pytest.approx(whole, rel=1e-11)
    monkeypatch.setattr(cosine, "FEW_COSINES", 0)
    assert _kernels.smooth_error(score, excess, np.abs(excess).sum(axis=1)) == pytest.approx(whole, abs=1e-7)
