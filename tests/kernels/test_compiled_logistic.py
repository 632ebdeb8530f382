"""Derivatives of a logistic likelihood, over both twins, against the plain loop."""

from math import exp, fsum

import numpy as np
import pytest

from believable._kernels.twins import TWINS, backend, c

BOTH = pytest.mark.parametrize("which", ["numpy", "compiled"])


def kernel(which):
    if which == "compiled" and backend == "numpy":
        pytest.skip("compiled kernels were not built")
    return TWINS["logistic_derivatives"][which == "compiled"]


def problem(n_replicates, k, n):
    rng = np.random.default_rng(n_replicates + 10 * k + n)
    columns = rng.standard_normal((k, n)) * 3
    columns[0] = 1
    columns[-1, : n // 10] *= 400  # far in the tails
    positive, negative = rng.random((2, n_replicates, n))
    positive[:, ::3] = 0
    return rng.standard_normal((n_replicates, k)), columns, positive, negative, rng.standard_normal((1, n))


def sigmoid(z):
    return 1 / (1 + exp(-z)) if z > -700 else 0.0


@BOTH
@pytest.mark.parametrize(("n_replicates", "k", "n"), [(1, 2, 1), (1, 2, 300), (3, 3, 257), (2, 1, 8), (1, 9, 40)])
def test_derivatives_are_those_of_a_loop(which, n_replicates, k, n):
    """Sums of (wy - w mu) x and of w mu (1 - mu) x x', point by point."""
    here, columns, positive, negative, offset = problem(n_replicates, k, n)
    gradient, information = kernel(which)(here, columns, positive, negative, offset)
    assert gradient.shape == (n_replicates, k)
    assert information.shape == (n_replicates, k, k)
    for b in range(n_replicates):
        z = (here[b] @ columns + offset[0]).tolist()
        first = [positive[b, i] * sigmoid(-z[i]) - negative[b, i] * sigmoid(z[i]) for i in range(n)]
        second = [(positive[b, i] + negative[b, i]) * sigmoid(z[i]) * sigmoid(-z[i]) for i in range(n)]
        for j in range(k):
            scale = 1e-12 * (1 + np.abs(columns[j]).sum())
            assert gradient[b, j] == pytest.approx(fsum(first * columns[j]), rel=1e-12, abs=scale)
            for other in range(k):
                wanted = fsum(second * columns[j] * columns[other])
                assert information[b, j, other] == pytest.approx(wanted, rel=1e-9, abs=scale)


def test_threads_and_views_change_nothing(monkeypatch):
    """One thread, two or three give the same to the last bit, of any views, and what NumPy gives to rounding."""
    given = problem(2, 2, 100_000)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        results.append(kernel("compiled")(*given))
        views = [np.asfortranarray(part) for part in given]
        for part in views:
            part.flags.writeable = False
        results.append(kernel("compiled")(*views))
    for gradient, information in results[1:]:
        np.testing.assert_array_equal(gradient, results[0][0])
        np.testing.assert_array_equal(information, results[0][1])
    for found, wanted in zip(results[0], kernel("numpy")(*given), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_what_does_not_fit_is_refused():
    """Lengths and ranges that do not agree are errors."""
    kernel("compiled")
    here, columns, positive, negative, offset = problem(2, 2, 10)
    out = np.zeros((2, 1, 5))
    c.logistic_sums(here, columns, offset, positive, negative, out, 10, 0, 2)
    for wrong in (
        (here[:1], columns, offset, positive, negative, out, 10, 0, 2),
        (here, columns, offset, positive, negative[:1], out, 10, 0, 2),
        (here, columns, offset, positive, negative, out, 5, 0, 2),
        (here, columns, offset, positive, negative, out, 10, 0, 3),
        (here, columns, offset, positive, negative, out, 10),
    ):
        with pytest.raises((TypeError, ValueError), match=r"fit together|9 arguments"):
            c.logistic_sums(*wrong)
