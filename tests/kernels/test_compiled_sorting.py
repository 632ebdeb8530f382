"""Rows in order of score, what is summed at distinct scores, and AUC: in NumPy and compiled, against loops."""

from __future__ import annotations

import numpy as np
import pytest

from believable._kernels import by_score
from tests.kernels.twins import both

SHAPES = ["random", "ties", "one", "ascending", "descending", "near 0", "near 1", "both zeros", "far apart", "two"]


def scores_of(shape, n, dtype=np.float64, seed=0):
    """Scores that are not negative, of every shape that a sort might stumble over."""
    rng = np.random.default_rng(seed)
    u = rng.random(n)
    made = {
        "random": u,
        "ties": u.round(2),
        "one": np.full(n, 0.3),
        "ascending": np.sort(u),
        "descending": np.sort(u)[::-1],
        "near 0": u**30,
        "near 1": 1 - u**9,
        "both zeros": np.where(u < 0.5, -0.0, 0.0),
        "far apart": 10.0 ** -np.floor(300 * u),
        "two": (u < 0.5).astype(float),
    }
    return made[shape].astype(dtype)


def by_loop(score, outcome, weight):
    """Sums at each distinct score: n, w, wy, w2, w2y."""
    sums = {}
    for i, p in enumerate(score.tolist()):
        w, y = 1.0 if weight is None else float(weight[i]), float(outcome[i])
        terms = (1, w, w * y, w * w, w * w * y) if weight is not None else (1, 1.0, y, 1.0, y)
        sums[p + 0.0] = [a + b for a, b in zip(sums.get(p + 0.0, [0] * 5), terms, strict=True)]
    return [np.array(sorted(sums)), *np.array([sums[p] for p in sorted(sums)]).T]


@both("by_score")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_at_distinct_scores_are_those_of_a_loop(kernel, shape, dtype):
    """By score, every row is counted once where its score is."""
    for n in (1, 2, 200):
        score = scores_of(shape, n, dtype)
        rng = np.random.default_rng(1)
        hard, soft, weight = rng.random(n) < 0.4, rng.random(n), rng.random(n) + 0.1
        for outcome in (hard, hard.astype(np.int64), soft):
            for w in (None, weight):
                found = kernel(score, outcome, w)
                wanted = by_loop(score, outcome, w)
                assert found.n.dtype == np.int64
                assert all(column.dtype == np.float64 for column in found[:1] + found[2:])
                np.testing.assert_array_equal(found.n, wanted[1])
                for column, literal in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(column, literal, rtol=1e-13)


@both("by_score")
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("shape", SHAPES)
def test_many_rows_and_any_number_of_threads_give_the_same(kernel, shape, threads, monkeypatch):
    """Rows that are spread over cells first come out as a plain sort says."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    n = 66_001
    for dtype in (np.float32, np.float64):
        score = scores_of(shape, n, dtype)
        outcome, weight = np.random.default_rng(2).random((2, n)) < 0.3
        distinct, place, counts = np.unique(score, return_inverse=True, return_counts=True)
        for w in (None, 1.0 + weight):
            found = kernel(score, outcome, w)
            np.testing.assert_array_equal(found.score, distinct)
            np.testing.assert_array_equal(found.n, counts)
            np.testing.assert_array_equal(found.wy, np.bincount(place, outcome if w is None else outcome * w))
            np.testing.assert_array_equal(found.w2, np.bincount(place, None if w is None else w * w))


@both("ascending")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_is_that_of_a_stable_sort(kernel, shape):
    """Equal values keep their order, whatever their sign."""
    for n in (1, 24, 25, 300, 40_000):
        for values in (scores_of(shape, n), scores_of(shape, n) - 0.3, scores_of(shape, n, np.float32)):
            found = kernel(values)
            assert found.dtype == np.intp
            np.testing.assert_array_equal(found, np.argsort(values, kind="stable"))


@both("ascending")
def test_infinities_and_what_is_no_number_have_a_place(kernel):
    """From the lowest to the highest, then NaN."""
    values = np.array([np.nan, np.inf, 1.0, -np.inf, -np.nan, 5e-324, -5e-324, 0.0, -0.0, 1e308, -1e308] * 5)
    np.testing.assert_array_equal(kernel(values), np.argsort(values, kind="stable"))
    assert kernel(np.array([3, 1, 2])).tolist() == [1, 2, 0]


@both("sort_pairs")
def test_pairs_stay_together(kernel):
    """A sort moves scores, outcomes and weights together; it changes none that it was given."""
    rng = np.random.default_rng(3)
    for n in (1, 1_000, 40_000):
        score, weight = rng.random((2, 2 * n))[:, ::2].round(3)
        outcome = rng.random(n) < score
        kept = score.copy()
        score.flags.writeable = outcome.flags.writeable = False
        order = np.lexsort([outcome, score])
        found = kernel(score, outcome, None)
        np.testing.assert_array_equal(found[0], score[order])
        np.testing.assert_array_equal(found[1], outcome[order])
        assert found[0].dtype == score.dtype
        assert found[1].dtype.kind == "u"
        assert found[2] is None
        order = np.argsort(score, kind="stable")
        for one, of in zip(kernel(score, outcome, weight), (score, outcome, weight), strict=True):
            np.testing.assert_array_equal(one, of[order])
        np.testing.assert_array_equal(score, kept)


@both("sorted_scores")
def test_scores_alone_are_sorted(kernel):
    """As by any sort."""
    for n in (1, 30, 50_000):
        for dtype in (np.float32, np.float64):
            score = scores_of("ties", n, dtype)
            np.testing.assert_array_equal(kernel(score), np.sort(score))


@both("at_distinct")
def test_two_columns_are_summed_at_distinct_scores(kernel):
    """Scores may have any sign."""
    rng = np.random.default_rng(4)
    for n in (1, 300, 40_000):
        score = rng.normal(size=n).round(1)
        first, second = rng.random((2, n))
        distinct, place = np.unique(score, return_inverse=True)
        found = kernel(score, first, second)
        wanted = (distinct, np.bincount(place, first), np.bincount(place, second))
        for one, of in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, of, rtol=1e-12, atol=1e-300)


@both("auc")
def test_the_auc_is_a_count_of_pairs(kernel):
    """A positive above a negative counts one, a tie half, by the product of their weights."""
    rng = np.random.default_rng(5)
    for score in (rng.random(300), rng.random(300).round(1), rng.normal(size=300), rng.integers(-3, 9, 300)):
        y, w = np.arange(300) % 3 == 0, rng.random(300)
        for positive, negative in ((y * 1.0, 1.0 - y), (w * y, w * ~y), (w, 1 - w)):
            won = (score[:, None] > score) + (score[:, None] == score) / 2
            literal = positive @ won @ negative / (positive.sum() * negative.sum())
            assert kernel(score, positive, negative) == pytest.approx(literal, rel=1e-13)


@both("auc")
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_the_auc_of_many_rows_does_not_depend_on_threads(kernel, threads, monkeypatch):
    """Pairs across the ranges of threads are counted too."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    rng = np.random.default_rng(6)
    score = rng.random(70_000).round(4)
    y = (rng.random(70_000) < score).astype(float)
    points = by_score(score, y, None)
    below = np.cumsum(points.w - points.wy) - (points.w - points.wy) / 2
    literal = (points.wy @ below) / (y.sum() * (1 - y).sum())
    assert kernel(score, y, 1 - y) == pytest.approx(literal, rel=1e-13)
