"""The largest entries of rows, and extremes: in NumPy and compiled, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.twins import both

FLOATS = [np.float32, np.float64]
INTEGERS = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def tied(n, width, dtype, seed=0):
    """A matrix with many ties, zeros and ones."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((n, width))
    return np.where(rng.random((n, width)) < 0.5, np.round(matrix * 3) / 3, matrix).astype(dtype)


def ranked(row):
    """Columns, the largest entry first; of equals the lower column first."""
    return sorted(range(len(row)), key=lambda k: (-row[k], k))


@both("top_one")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 2, 3, 10, 31, 32, 33, 63, 64, 65, 200])
def test_the_largest(kernel, width, dtype):
    """The largest entry of each row and the lowest column that has it, in the types NumPy gives."""
    for n in (1, 15, 130):
        matrix = tied(n, width, dtype)
        top, column = kernel(matrix)
        assert column.tolist() == [ranked(row)[0] for row in matrix.tolist()]
        assert top.tolist() == matrix.max(axis=1).tolist()
        assert (top.dtype, column.dtype, top.shape) == (dtype, np.intp, (n,))


@both("top_one")
@pytest.mark.parametrize("width", [5, 90])
def test_the_largest_of_odd_rows(kernel, width):
    """Infinities and zeros of either sign are ordered as numbers are, and NaN is first."""
    matrix = np.zeros((40, width))
    matrix[0] = -np.inf
    matrix[1, 2] = np.inf
    matrix[2] = -0.0
    matrix[2, 3] = 0.0
    matrix[3, 1:] = -1
    matrix[4, [1, 3]] = np.nan
    matrix[5, 0] = np.nan
    matrix[6, 3], matrix[6, 4] = np.inf, -np.inf
    matrix[7], matrix[8] = np.inf, -np.finfo(float).max
    top, column = kernel(matrix)
    assert column.tolist() == matrix.argmax(axis=1).tolist()
    assert np.array_equal(top, matrix.max(axis=1), equal_nan=True)


@both("top_hit")
@pytest.mark.parametrize("label", [np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("width", [2, 10, 100])
def test_hits(kernel, width, label):
    """A row is hit if its label is the lowest column of those with the largest entry."""
    matrix = tied(200, width, np.float32)
    labels = np.random.default_rng(1).integers(0, width, 200).astype(label)
    top, hit = kernel(matrix, labels)
    assert hit.tolist() == [ranked(row)[0] == y for row, y in zip(matrix.tolist(), labels.tolist(), strict=True)]
    assert np.array_equal(top, matrix.max(axis=1))
    assert hit.dtype == bool


@both("top_ranked")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("width", "r"), [(2, 1), (2, 2), (7, 3), (7, 9), (100, 1), (100, 5), (100, 9), (200, 70), (150, 64)]
)
def test_the_r_largest(kernel, width, r, dtype):
    """The r largest entries in descending order; of equals the lower column first."""
    matrix = tied(40, width, dtype)
    scores, columns = kernel(matrix, r)
    expected = [ranked(row)[:r] for row in matrix.tolist()]
    assert columns.tolist() == expected
    assert scores.tolist() == np.take_along_axis(matrix, np.array(expected), axis=1).tolist()
    assert (scores.dtype, columns.dtype) == (dtype, np.intp)


@both("extrema")
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_extremes(kernel, dtype):
    """The smallest and largest entry of vectors and matrices of any type, as floats."""
    rng = np.random.default_rng(2)
    for shape in ((1,), (100,), (33, 17)):
        values = rng.integers(0, 256, shape).astype(np.uint8).view(np.int8).astype(dtype)
        found = kernel(values)
        assert found == (float(values.min()), float(values.max()))
        assert all(type(value) is float for value in found)
        assert kernel(values.T) == kernel(values[::-1]) == found


@both("extrema")
@pytest.mark.parametrize("at", [0, 50, 99])
def test_extremes_with_nan(kernel, at):
    """NaN anywhere makes both NaN; infinities are extremes; of nothing the extremes are the wrong way round."""
    for dtype in FLOATS:
        values = np.linspace(0, 1, 100, dtype=dtype)
        values[at] = np.inf
        assert kernel(values)[1] == np.inf
        values[at] = np.nan
        assert np.isnan(kernel(values)).all()
        assert kernel(values[:0]) == (np.inf, -np.inf)
        for infinite in (np.inf, -np.inf):
            assert kernel(np.full(100, infinite, dtype)) == (infinite, infinite)
            assert kernel(np.append(np.full(99, infinite, dtype), dtype(1))) == (min(1, infinite), max(1, infinite))


@both("row_sum_extrema")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 3, 50, 1000])
def test_extremes_of_row_sums(kernel, width, dtype):
    """The smallest and largest sum, which may be rounded to the type of the matrix; NaN makes both NaN."""
    matrix = tied(60, width, dtype) / dtype(width)
    sums = [sum(row) for row in matrix.tolist()]
    for given in (matrix, np.asfortranarray(matrix), matrix[::-1]):
        found = kernel(given)
        assert found == pytest.approx((min(sums), max(sums)), rel=1e-5 if dtype is np.float32 else 1e-13)
    matrix[30, width // 2] = np.nan
    assert np.isnan(kernel(matrix)).all()


@pytest.mark.parametrize("threads", ["1", "2", "3"])
@both("top_ranked")
def test_threads_do_not_show_in_ranks(kernel, threads, monkeypatch):
    """However many threads, the same entries are found."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    matrix = tied(60_000, 12, np.float32)
    scores, columns = kernel(matrix, 2)
    order = np.argsort(-matrix, axis=1, kind="stable")[:, :2]
    assert np.array_equal(columns, order)
    assert np.array_equal(scores, np.take_along_axis(matrix, order, axis=1))


@pytest.mark.parametrize("threads", ["1", "3"])
@both("extrema")
def test_threads_do_not_show_in_extremes(kernel, threads, monkeypatch):
    """However many threads, one entry anywhere is seen."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    values = np.full(900_000, 0.5, np.float32)
    for at in (0, 299_999, 300_000, 899_999):
        values[at] = 2
        assert kernel(values) == (0.5, 2)
        values[at] = np.nan
        assert np.isnan(kernel(values)).all()
        values[at] = 0.5


@both("top_one")
def test_matrices_of_others(kernel):
    """Turned, strided and read-only matrices are read as their copies are, and stay as they are."""
    matrix = tied(300, 20, np.float64)
    kept = matrix.copy()
    matrix.flags.writeable = False
    for given in (matrix, np.asfortranarray(matrix), matrix[::2, ::3], matrix[::-1]):
        top, column = kernel(given)
        assert np.array_equal(column, given.argmax(axis=1))
        assert np.array_equal(top, given.max(axis=1))
    assert np.array_equal(matrix, kept)
