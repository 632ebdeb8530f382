"""The kernels against their plainest form."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Edges, _kernels

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 32, 33, 100])
def test_largest_entry_with_ties(n_classes):
    """The largest entry, whether the label is its column, and its column; ties go to the lowest."""
    matrix = RNG.integers(0, 3, (500, n_classes)) / 2.0
    labels = RNG.integers(0, n_classes, 500)
    column = [max(range(n_classes), key=lambda k: (row[k], -k)) for row in matrix.tolist()]
    top, hit = _kernels.top_hit(matrix, labels)
    assert np.array_equal(top, matrix.max(axis=1))
    assert np.array_equal(hit, np.array(column) == labels)
    assert np.array_equal(_kernels.top_one(matrix)[1], column)


@pytest.mark.parametrize("r", [1, 2, 5, 8, 9, 20])
def test_ranked_entries_with_ties(r):
    """The r largest in descending order; among equals the lower column comes first."""
    matrix = RNG.integers(0, 4, (200, 20)) / 4.0
    scores, columns = _kernels.top_ranked(matrix, r)
    for row, ranked, found in zip(matrix.tolist(), scores, columns, strict=True):
        expected = sorted(range(20), key=lambda k: (-row[k], k))[:r]
        assert found.tolist() == expected
        assert ranked.tolist() == [row[k] for k in expected]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classwise_sums_are_pair_sums(dtype, weighted, order):
    """Summing the first bin by matrix products equals summing every entry, in either memory order."""
    n, n_classes, n_bins = 300, 7, 10
    matrix = RNG.dirichlet(np.full(n_classes, 0.2), n).astype(dtype)
    labels = RNG.integers(0, n_classes, n)
    weight = RNG.random(n) if weighted else None
    edges = Edges.uniform(n_bins, dtype)
    if order == "F":
        matrix = np.asfortranarray(matrix)
    total, positive = _kernels.classwise_sums(matrix, labels, weight, edges.as_array(), edges.assign)
    code = np.tile(np.arange(n_classes), n) * n_bins + edges.assign(matrix.ravel())
    happened = (labels[:, None] == np.arange(n_classes)).ravel()
    each = None if weight is None else np.repeat(weight, n_classes)
    expected = _kernels.pair_sums(code, n_classes * n_bins, matrix.ravel(), happened, each)
    assert np.allclose(total, expected[0], rtol=1e-12, atol=1e-15)
    assert np.allclose(positive, expected[1], rtol=1e-12, atol=1e-15)


def test_auc_with_and_without_weights():
    """The counting of pairs and the weighted sweep agree where weights are 1."""
    scores, happened = np.round(RNG.random(500), 2), RNG.integers(0, 2, 500).astype(float)
    plain = _kernels.auc(scores, happened, 1 - happened)
    scaled = _kernels.auc(scores, 0.5 * happened, 0.5 * (1 - happened))
    assert plain == pytest.approx(scaled, rel=1e-13)


def test_row_blocks_cover_the_rows():
    """Blocks are disjoint, in order, and cover everything."""
    for n, width in ((0, 1), (1, 1), (100_000, 1), (1000, 1000), (3, 10**6)):
        rows = [i for block in _kernels.row_blocks(n, width) for i in range(block.start, block.stop)]
        assert rows == list(range(n))
