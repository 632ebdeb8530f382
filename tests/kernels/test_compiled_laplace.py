"""Sums that fade along sorted points: in NumPy and compiled, against sums over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from believable._kernels.twins import TWINS, backend
from tests.kernels.twins import both

WIDTHS = [0.4, 0.01, 1e-4, 1e-9, 1e-300, 1e9]


def points_of(n):
    """Sorted points: anywhere, all equal, evenly spaced, crowded, and far apart."""
    rng = np.random.default_rng(0)
    u = np.sort(rng.random(n))
    return [u, np.zeros(n), np.linspace(0, 1, n), u**8, np.sort(50 * rng.normal(size=n)), u.round(2)]


def shares(x, h):
    """exp(-|x_i - x_j| / h); what is too far apart for a quotient shares nothing."""
    with np.errstate(over="ignore"):
        return np.exp(-(np.abs(x[:, None] - x) / h))


LITERAL = {
    "faded_sums": lambda k, v: v @ np.triu(k),
    "faded_before": lambda k, v: v @ np.triu(k, 1),
    "faded_around": lambda k, v: v @ (k - np.diag(np.diag(k))),
    "laplace_form": lambda k, v: np.einsum("...i,ij,...j->...", v, k, v),
}


@pytest.mark.parametrize("h", WIDTHS)
@pytest.mark.parametrize("name", LITERAL)
def test_walks_see_every_pair(name, h):
    """What fades along the points is the sum over pairs, for any width and any replicates."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 257):
        for x in points_of(n):
            k = shares(x, h)
            for v in (rng.normal(size=n), rng.normal(size=(2, 2, n))):
                literal = LITERAL[name](k, v)
                for kernel in TWINS[name][: 2 if backend == "compiled" else 1]:
                    found = kernel(x, v, h)
                    assert np.shape(found) == literal.shape
                    size = np.abs(v).sum(axis=-1).max() ** (2 if name == "laplace_form" else 1)
                    np.testing.assert_allclose(found, literal, rtol=0, atol=1e-13 * size)


@both("laplace_form")
def test_a_crowd_of_points_does_not_drift(kernel):
    """Evenly spaced points of one value: a geometric series, at any number of points."""
    n, h = 300_000, 0.4
    x = np.linspace(0, 1, n)
    q = np.exp(-(1 / (n - 1)) / h)
    loss = -np.expm1(-(1 / (n - 1)) / h)
    literal = (n * (1 + q) - 2 * q * -np.expm1(-n / (n - 1) / h) / loss) / loss
    assert kernel(x, np.ones(n), h) == pytest.approx(literal, rel=1e-10)
    assert TWINS["laplace_form"][0](x, np.ones(n), h) == pytest.approx(kernel(x, np.ones(n), h), rel=1e-12)


@both("faded_around")
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_replicates_do_not_depend_on_threads(kernel, threads, monkeypatch):
    """Every row is its own walk; inputs may be read-only and strided."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    rng = np.random.default_rng(2)
    x, v = np.sort(rng.random(1_000))[::2], rng.normal(size=(200, 1_000))[:, ::2]
    x.flags.writeable = v.flags.writeable = False
    k = shares(x, 0.1)
    np.testing.assert_allclose(kernel(x, v, 0.1), v @ (k - np.eye(500)), rtol=0, atol=1e-11)


@both("pairs_of_blocks")
@pytest.mark.parametrize("shape", [(5, 1), (1000, 2), (40, 24), (40, 25), (3, 700)])
def test_blocks_of_points_in_any_order(kernel, shape):
    """Each row is sorted by itself, and every pair within it seen once."""
    rng = np.random.default_rng(3)
    x, v = rng.random(shape).round(2), rng.normal(size=shape)
    literal = [row @ np.triu(shares(at, 0.3), 1) @ row for at, row in zip(x, v, strict=True)]
    np.testing.assert_allclose(kernel(x, v, 0.3), literal, rtol=0, atol=1e-12 * shape[1])
