"""Labels and outcomes that are drawn again: NumPy and C count the same, and what the definition says."""

import numpy as np
import pytest

from believable._kernels.pairs import Similarity
from believable._kernels.resampling import draw_labels
from believable._kernels.twins import TWINS, backend, c

IN_C = pytest.param(1, marks=pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for"))
both = pytest.mark.parametrize("which", [0, IN_C], ids=["numpy", "compiled"])


def some(n, width, draws=4, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.dirichlet(np.full(width, 0.3), n) if width > 1 else np.ones((n, 1))
    return rng.random((draws, n)), np.cumsum(points, axis=1), rng.integers(-1, 7, (n, width), np.int32), rng.random(n)


@both
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "width"), [(1, 1), (1, 2), (300, 2), (600, 10), (40, 50)])
def test_a_drawn_label_counts_in_its_cell(which, weighted, n, width):
    """The label is the first class whose running sum is above the goal; a negative cell counts nothing."""
    uniform, reached, cells, weight = some(n, width)
    expected = np.zeros((len(uniform), 8))
    for draw, row in enumerate(uniform):
        for i in range(n):
            label = next(k for k in range(width) if k == width - 1 or row[i] * reached[i, -1] < reached[i, k])
            if cells[i, label] >= 0:
                expected[draw, cells[i, label]] += weight[i] if weighted else 1
    found = TWINS["redrawn_labels"][which](uniform, reached, cells, weight if weighted else None, 8)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float64


@both
def test_a_goal_at_the_very_end_is_the_last_class(which):
    """A uniform number that rounds up to the whole stays within the classes."""
    reached = np.array([[0.3, 0.3 + 0.7 * (1 - 2**-53)]])
    found = TWINS["redrawn_labels"][which](np.array([[1 - 2**-53]]), reached, np.array([[0, 1]], np.int32), None, 2)
    np.testing.assert_array_equal(found, [[0, 1]])


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_an_event_counts_where_it_happens(which, weighted):
    """It happens where the uniform number is below its chance."""
    rng = np.random.default_rng(1)
    uniform, chance, cells, weight = rng.random((3, 500)), rng.random(500), rng.integers(-1, 5, 500), rng.random(500)
    expected = np.zeros((3, 6))
    for draw in range(3):
        for i in range(500):
            if uniform[draw, i] < chance[i] and cells[i] >= 0:
                expected[draw, cells[i]] += weight[i] if weighted else 1
    found = TWINS["redrawn_events"][which](uniform, chance, cells, weight if weighted else None, 6)
    np.testing.assert_array_equal(found, expected)


@both
@pytest.mark.parametrize(("n", "width"), [(1, 2), (30, 2), (40, 3), (270, 4), (30, 40)])
@pytest.mark.parametrize("name", ["tv", "gaussian"])
def test_replicates_are_sums_over_pairs_of_residuals(which, n, width, name):
    """For each set of labels, the sum over i != j of w_i w_j k_ij <R_i, R_j>."""
    rng = np.random.default_rng(2)
    points, weight = rng.dirichlet(np.full(width, 0.3), n), rng.random(n) + 0.1
    similarity = Similarity(name, 0.4)
    labels = draw_labels(points, 5, rng)
    k = similarity.between(points, points) * np.outer(weight, weight)
    np.fill_diagonal(k, 0)
    expected = [(k * ((np.eye(width)[row] - points) @ (np.eye(width)[row] - points).T)).sum() for row in labels]
    found = TWINS["skce_replicates"][which](points, weight, similarity, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(k).sum())


@both
def test_certain_predictions_leave_nothing(which):
    """Where the likeliest label is drawn and nearly certain, next to nothing is left, and that to all its digits."""
    points = np.array([[1 - 1e-9, 1e-9], [1 - 2e-9, 2e-9]])
    found = TWINS["skce_replicates"][which](points, np.ones(2), Similarity("tv", 1.0), np.zeros((1, 2), np.int16))
    gaps = 1 - points[:, 0]
    np.testing.assert_allclose(found, 2 * np.exp(-1e-9) * (gaps.prod() + points[:, 1].prod()), rtol=1e-7)


@both
def test_threads_do_not_change_a_bit(which, monkeypatch):
    """One, two or three threads: the same numbers."""
    uniform, reached, cells, weight = some(30_000, 3, 6)
    points = np.diff(reached[:600], axis=1, prepend=0)
    labels = draw_labels(points, 40, np.random.default_rng(0))
    found = []
    for threads in "123":
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        sums = TWINS["redrawn_labels"][which](uniform, reached, cells, weight, 8)
        events = TWINS["redrawn_events"][which](uniform, reached[:, 0], cells[:, 0], weight, 8)
        pairs = TWINS["skce_replicates"][which](points, weight[:600], Similarity("tv", 0.3), labels)
        found.append([*sums.ravel(), *events.ravel(), *pairs])
    assert found[0] == found[1] == found[2]


@both
def test_views_and_arrays_that_cannot_be_written_to_are_taken(which):
    """Strided and read-only input gives what a plain copy gives, and stays as it is."""
    uniform, reached, cells, weight = some(400, 3)
    for array in (uniform, reached, cells, weight):
        array.flags.writeable = False
    before = [array.copy() for array in (uniform, reached, cells, weight)]
    found = TWINS["redrawn_labels"][which](uniform[:, ::2], reached[::2], cells[::2], weight[::2], 8)
    copies = (part.copy() for part in (uniform[:, ::2], reached[::2], cells[::2], weight[::2]))
    plain = TWINS["redrawn_labels"][which](*copies, 8)
    np.testing.assert_array_equal(found, plain)
    for array, old in zip((uniform, reached, cells, weight), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for")
def test_c_refuses_arrays_that_do_not_fit():
    """Sizes, cells and labels that do not go together raise, and nothing beyond them is read or written."""
    u, r, cells, out = np.full((2, 4), 0.5), np.ones((4, 3)), np.zeros((4, 3), np.int32), np.zeros((2, 5))
    k, labels, top, sums = np.ones((4, 4)), np.zeros((2, 4), np.int32), np.zeros(4, np.int32), np.zeros(2)
    for call in (
        lambda: c.label_sums(u, r, cells, None, out, 4, 3, 5, 0, 3),
        lambda: c.label_sums(u, r, cells[:3], None, out, 4, 3, 5, 0, 2),
        lambda: c.label_sums(u, r, cells + 5, None, out, 4, 3, 5, 0, 2),
        lambda: c.label_sums(u, r, cells, np.ones(3), out, 4, 3, 5, 0, 2),
        lambda: c.event_sums(u, np.ones(4), cells[:, 0].copy() + 9, None, out, 4, 5, 0, 2),
        lambda: c.event_sums(u, np.ones(3), cells[:, 0].copy(), None, out, 4, 5, 0, 2),
        lambda: c.pair_sums_of_labels(k, labels, top, sums, 3, 0, 4, 1, 4, 0, 2),
        lambda: c.pair_sums_of_labels(k, labels + 3, top, sums, 3, 0, 4, 0, 4, 0, 2),
        lambda: c.pair_sums_of_labels(k, labels - 1, top, sums, 3, 0, 4, 0, 4, 0, 2),
        lambda: c.pair_sums_of_labels(k, labels, top, sums, 3, 0, 4, 0, 4, 0, 3),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            call()
