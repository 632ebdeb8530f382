"""Bins: the contract about edges, ends, ties and cells."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from believable import Edges
from believable.binning import N_CELLS, Grid
from believable.errors import InputError

SIZES = [1, 2, 3, 7, 10, 12, 15, 25, 30, 49, 50, 100, 1000]


def hard_scores(n_bins, dtype):
    """Every edge, its two float neighbours, and the ends."""
    edges = (np.arange(n_bins + 1) / n_bins).astype(dtype)
    zero, one = np.array([0, 1], dtype)
    near = np.concatenate([edges, np.nextafter(edges, zero), np.nextafter(edges, one), [zero, one]])
    return near.astype(dtype)


def literal_bin(score, n_bins, dtype):
    """The first m with score <= m/M, the edge rounded to the type of the scores."""
    for m in range(1, n_bins + 1):
        if score <= dtype(m / n_bins):
            return m - 1
    raise AssertionError(score)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_bins", SIZES)
def test_uniform_bins_are_right_closed(n_bins, dtype):
    """A score on edge m/M is in the bin below it, in both precisions; 0 is in the first bin and 1 in the last."""
    scores = hard_scores(n_bins, dtype)
    expected = [literal_bin(score, n_bins, dtype) for score in scores]
    assert Edges.uniform(n_bins, dtype).assign(scores).tolist() == expected


@given(st.integers(1, 2000), st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from(["f4", "f8"]))
def test_uniform_bins_agree_with_a_search(n_bins, values, dtype):
    """Multiply, truncate and correct is the same as searching the edges."""
    scores = np.array(values, dtype)
    edges = Edges.uniform(n_bins, dtype)
    assert np.array_equal(edges.assign(scores), np.searchsorted(edges.as_array()[1:-1], scores, side="left"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_edges_agree_with_a_search(dtype):
    """The lookup table gives what a search gives, on edges of every kind."""
    rng = np.random.default_rng(0)
    for n_inner in (1, 5, 40, 300):
        inner = np.unique(np.concatenate([rng.random(n_inner), [1e-5, 0.5, 1 - 1e-5]])).astype(dtype)
        scores = np.concatenate([rng.random(20_000).astype(dtype), inner, np.nextafter(inner, dtype(1)), [0, 1]])
        edges = Edges.given(np.concatenate([[0], inner, [1]]), dtype)
        assert np.array_equal(edges.assign(scores.astype(dtype)), np.searchsorted(inner, scores.astype(dtype), "left"))


def literal_boundaries(scores, weights, n_bins):
    """Walk the sorted scores until j/M of the weight is reached."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    total = sum(Fraction(float(w)) for w in weights)
    boundaries = []
    for j in range(1, n_bins):
        reached, target = Fraction(0), total * Fraction(j, n_bins) - total * Fraction(1, 10**9)
        for i in order:
            reached += Fraction(float(weights[i]))
            if reached >= target:
                boundaries.append(float(scores[i]))
                break
    return tuple(sorted({b for b in boundaries if b < 1}))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_bins", [1, 2, 3, 10, 40])
def test_quantile_bins_walk_the_sorted_scores(n_bins, seed):
    """Boundaries are where the cumulative weight first reaches j/M, with weights and ties."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(60), seed % 3 + 1) if seed % 2 else rng.random(60)
    weights = [np.ones(60), rng.random(60), rng.integers(1, 5, 60) / 10][seed % 3]
    edges = Edges.quantile(scores, n_bins, None if seed % 3 == 0 else weights)
    assert edges.values == (0.0, *literal_boundaries(scores, weights, n_bins), 1.0)


def test_quantile_bins_of_many_scores_are_those_of_a_sort():
    """Sorting only the cells that hold a boundary gives the same edges as sorting everything."""
    from believable._kernels import bins

    rng = np.random.default_rng(1)
    for dtype in (np.float64, np.float32):
        for scores in (rng.random(200_000), np.round(rng.random(200_000), 2), rng.beta(0.01, 3, 200_000)):
            scores = scores.astype(dtype)
            for weights in (None, rng.random(200_000)):
                for n_bins in (1, 2, 15, 100):
                    assert np.array_equal(
                        bins._boundaries_by_cells(scores, weights, n_bins),
                        bins._boundaries_by_sort(scores, weights, n_bins),
                    )


def test_weights_of_one_tenth_are_rows():
    """Fractional weights do not drift: 100 or 100,000 rows of weight 0.1 have the bins of rows of weight 1."""
    for n in (100, 100_000, 300_000):
        scores = np.random.default_rng(n).random(n)
        for n_bins in (4, 10, 100):
            assert Edges.quantile(scores, n_bins, np.full(n, 0.1)) == Edges.quantile(scores, n_bins)


def test_ties_are_never_split():
    """Equal scores share a bin, so there may be fewer bins than asked for; 0 may be a bin of its own."""
    assert Edges.quantile(np.full(50, 0.3), 10).values == (0.0, 0.3, 1.0)
    assert Edges.quantile(np.ones(5), 3).values == (0.0, 1.0)
    zeros = Edges.quantile(np.array([0.0, 0.0, 0.0, 0.5]), 2)
    assert zeros.values == (0.0, 0.0, 1.0)
    assert zeros.assign([0.0, 0.1, 1.0]).tolist() == [0, 1, 1]


@pytest.mark.parametrize("scores", [[1.5], [-0.5], [np.nan]])
def test_only_probabilities_have_a_bin(scores):
    """Scores outside [0, 1] are refused, by every kind of edges."""
    for edges in (Edges.uniform(10), Edges.given([0, 0.5, 1])):
        with pytest.raises(InputError, match="scores must"):
            edges.assign(scores)
    with pytest.raises(InputError, match="scores must"):
        Edges.quantile(scores, 2)
    assert Edges.uniform(2).assign(0.75).tolist() == [1]
    assert Edges.quantile([0.1, 0.9], 2, weights=[1, 0]).values == (0.0, 0.1, 1.0)


@pytest.mark.parametrize(
    ("values", "strategy"),
    [
        ((0, 0.3, 1), "uniform"),
        ((0, 0.7, 0.5, 1), "given"),
        ((0, 0, 1), "given"),
        ((0.1, 1), "given"),
        ((0,), "given"),
        ((0, 1), "?"),
    ],
)
def test_edges_are_checked_however_they_are_made(values, strategy):
    """Edges that would sort wrongly cannot be made."""
    with pytest.raises(InputError, match=r"edges must|strategy must"):
        Edges(tuple(map(float, values)), "float64", strategy)


def test_edges_belong_to_a_precision():
    """Edges of float32 scores are other edges, and sort no float64 scores."""
    assert Edges.uniform(10, "float32") != Edges.uniform(10)
    with pytest.raises(InputError, match="edges rounded to float32 cannot sort float64 scores"):
        Edges.uniform(10, "float32").assign([0.3])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("spacing", ["uniform", "logit"])
def test_cells_own_the_ends(spacing, dtype):
    """0 and 1 have cells of their own; every other score is in the right-closed cell of the grid."""
    grid = Grid(spacing=spacing, dtype=dtype)
    rng = np.random.default_rng(2)
    inner = grid.inner_edges()
    scores = np.concatenate([[0, 1], rng.random(1000), inner[1:-1][::50], 10.0 ** -rng.random(100) * 1e-5]).astype(
        dtype
    )
    cells = grid.assign(scores)
    assert cells[0] == 0
    assert cells[1] == N_CELLS + 1
    upper = grid.upper_edges()
    assert np.all(scores <= upper[cells])
    between = (cells > 0) & (cells <= N_CELLS)
    assert np.all(scores[between] > upper[cells[between] - 1])


@pytest.mark.parametrize(
    "n_bins", [*range(2, 11), 12, 14, 15, 16, 18, 20, 21, 24, 25, 28, 30, 35, 36, 40, 42, 45, 48, 50, 100]
)
def test_the_grid_nests_the_usual_bins(n_bins):
    """Edges k/50400 round to the same floats as the j/M they equal, in both precisions."""
    for dtype in ("float64", "float32"):
        assert np.isin(Edges.uniform(n_bins, dtype).as_array(), Grid(dtype=dtype).inner_edges()).all()


@pytest.mark.parametrize(
    "edges", [Edges.uniform(7, "float32"), Edges.given([0, 0.3, 1]), Edges.quantile([0, 0, 0.5], 2)]
)
def test_copies_of_edges_are_read_only_too(edges):
    """Edges that were pickled or copied are equal to those before, and cannot be written to either."""
    for other in (copy.copy(edges), copy.deepcopy(edges), pickle.loads(pickle.dumps(edges))):
        assert (other, other.strategy) == (edges, edges.strategy)
        assert not other.as_array().flags.writeable
        np.testing.assert_array_equal(other.as_array(), edges.as_array())
