"""Sums over pairs of rows: NumPy and C give what the loops of their definitions give."""

import numpy as np
import pytest

from believable._kernels.pairs import Similarity
from believable._kernels.twins import TWINS, backend, c

IN_C = pytest.param(1, marks=pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for"))
both = pytest.mark.parametrize("which", [0, IN_C], ids=["numpy", "compiled"])
similarities = pytest.mark.parametrize(
    "similarity",
    [Similarity("tv", 0.4), Similarity("gaussian", 0.4), Similarity("gaussian", 0.01), Similarity("tv", 1e-4)],
    ids=lambda s: f"{s.name} {s.bandwidth}",
)


def some(n, width, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.dirichlet(np.full(width, 0.5), n) if width > 1 else np.ones((n, 1))
    residuals = np.eye(width)[rng.integers(0, width, n)] - points
    return points, residuals, rng.random(n) + 0.1


def row_by_row(points, residuals, weight, similarity, diagonal):
    h = np.zeros((len(points), len(points)))
    for i, (point, residual) in enumerate(zip(points, residuals, strict=True)):
        apart = points - point
        if similarity.name == "tv":
            kernel = np.exp(-np.abs(apart).sum(axis=1) / 2 / similarity.bandwidth)
        else:
            kernel = np.exp(-(apart**2).sum(axis=1) / (2 * similarity.bandwidth**2))
        h[i] = kernel * (residuals @ residual)
        h[i, i] *= diagonal
    return h @ weight, float(((weight[:, None] * weight * h) ** 2).sum())


@both
@similarities
@pytest.mark.parametrize(("n", "width"), [(1, 2), (2, 1), (64, 3), (67, 10), (20, 70)])
@pytest.mark.parametrize("diagonal", [False, True])
def test_rows_and_squares_are_those_of_the_definition(which, similarity, n, width, diagonal):
    """Every row's sum over the others, and the sum of squares, are what the definition gives."""
    points, residuals, weight = some(n, width)
    rows, squares = row_by_row(points, residuals, weight, similarity, diagonal)
    found = TWINS["skce_rows"][which](points, residuals, weight, similarity, diagonal=diagonal)
    np.testing.assert_allclose(found.rows, rows, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-12, atol=1e-300)


@both
@similarities
@pytest.mark.parametrize("size", [2, 3, 16, 25, 70])
def test_blocks_are_the_sums_of_their_own_pairs(which, similarity, size):
    """A block's total is that of its rows alone; rows that fill no block are left out."""
    points, residuals, weight = some(150, 5)
    total, pairs = TWINS["skce_blocks"][which](points, residuals, weight, similarity, size)
    assert len(total) == len(pairs) == 150 // size
    for block, (value, weight_of_pairs) in enumerate(zip(total, pairs, strict=True)):
        rows = slice(block * size, (block + 1) * size)
        w = weight[rows]
        expected = w @ row_by_row(points[rows], residuals[rows], w, similarity, False)[0]
        np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(weight_of_pairs, w.sum() ** 2 - (w**2).sum(), rtol=1e-12)


@both
@pytest.mark.parametrize("name", ["tv", "gaussian"])
def test_distances_are_those_of_every_pair(which, name):
    """Half the sum of absolute differences, or the sum of squared ones."""
    x, y = some(70, 9)[0], some(131, 9, 1)[0]
    apart = x[:, None] - y
    expected = np.abs(apart).sum(axis=2) / 2 if name == "tv" else (apart**2).sum(axis=2)
    np.testing.assert_allclose(TWINS["distances"][which](x, y, name), expected, rtol=1e-13, atol=1e-16)


@both
def test_threads_do_not_change_a_bit(which, monkeypatch):
    """One, two or three threads: the same numbers."""
    points, residuals, weight = some(1500, 4)
    found = []
    for threads in "123":
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        rows, squares = TWINS["skce_rows"][which](points, residuals, weight, Similarity("tv", 0.3))
        total, _ = TWINS["skce_blocks"][which](points, residuals, weight, Similarity("tv", 0.3), 30)
        found.append([*rows, squares, *total])
    assert found[0] == found[1] == found[2]


@both
@pytest.mark.parametrize("nu", [1e-320, 1e-200, 1e-160, 1e-90])
@pytest.mark.parametrize("name", ["tv", "gaussian"])
def test_the_narrowest_kernel_knows_equal_rows_alone(which, nu, name):
    """However narrow, rows that are equal are alike and others are not."""
    points = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]])
    residuals = np.array([[0.5, -0.5], [0.5, -0.5], [-0.25, 0.25]])
    found = TWINS["skce_rows"][which](points, residuals, np.ones(3), Similarity(name, nu))
    np.testing.assert_array_equal(found.rows, [0.5, 0.5, 0])
    assert found.squares == 0.5


@both
def test_views_and_arrays_that_cannot_be_written_to_are_taken(which):
    """Strided and read-only input gives what a plain copy gives, and stays as it is."""
    points, residuals, weight = some(200, 6)
    wide = np.concatenate([points, residuals], axis=1)
    wide.flags.writeable = False
    before = wide.copy()
    found = TWINS["skce_rows"][which](wide[::2, :6], wide[::2, 6:], weight[::2], Similarity("tv", 0.3))
    copies = (part[::2].copy() for part in (points, residuals, weight))
    plain = TWINS["skce_rows"][which](*copies, Similarity("tv", 0.3))
    np.testing.assert_array_equal(found.rows, plain.rows)
    np.testing.assert_array_equal(wide, before)


@both
def test_a_kernel_of_ones_own_is_asked_for_its_values(which):
    """A callable takes the place of the kernel."""
    points, residuals, weight = some(40, 3)
    found = TWINS["skce_rows"][which](points, residuals, weight, Similarity(lambda x, y: np.ones((len(x), len(y)))))
    h = residuals @ residuals.T
    np.fill_diagonal(h, 0)
    np.testing.assert_allclose(found.rows, h @ weight, rtol=1e-12, atol=1e-13)


@pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for")
def test_c_refuses_arrays_that_do_not_fit():
    """Sizes that do not go together raise, and nothing beyond them is read."""
    x, out = np.ones((4, 3)), np.ones(4)
    for call in (
        lambda: c.skce_strip(x, x, np.ones(5), 1.0, 0, 3, False, 0, 1),
        lambda: c.skce_strip(x, x[:3], out, 1.0, 0, 3, False, 0, 1),
        lambda: c.skce_strip(x, x, out, 1.0, 0, 3, False, 1, 1),
        lambda: c.skce_strip(x, x, out, 1.0, 0, 0, False, 0, 1),
        lambda: c.skce_blocks(x, x, out, np.ones(3), 1.0, 0, 3, 2, 0, 2),
        lambda: c.skce_blocks(x, x, out, np.ones(2), 1.0, 0, 3, 2, 0, 3),
        lambda: c.row_distances(x, x, np.ones((4, 3)), 0, 3, 0, 4),
        lambda: c.row_distances(x, x, np.ones((4, 4)), 0, 3, 0, 5),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            call()
