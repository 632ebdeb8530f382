"""Shares of a mixture, against the EM algorithm run for long."""

from __future__ import annotations

import numpy as np
import pytest

from believable import _kernels


def em(density, weight, shares, steps=20_000):
    """t_k <- t_k times the weighted mean of f_ik / sum_j t_j f_ij, until it no longer moves."""
    weight = weight / weight.sum()
    for _ in range(steps):
        before, shares = shares, shares * ((weight / (density @ shares)) @ density)
        if np.abs(shares - before).max() < 1e-15:
            break
    return shares


@pytest.mark.parametrize("seed", range(12))
def test_fixed_point_of_the_em_algorithm(seed):
    """The shares are where the EM algorithm ends, weights and all, also at zero."""
    rng = np.random.default_rng(seed)
    n_components = rng.integers(2, 6)
    density = rng.exponential(size=(80, n_components)) ** 2
    if seed % 3 == 0:
        density[:, 0] *= 0.2
    weight = rng.exponential(size=80)
    start = rng.dirichlet(np.ones(n_components))
    shares, found = _kernels.mixture_shares(density, weight, start)
    assert found
    assert shares.sum() == pytest.approx(1, abs=1e-15)
    assert shares == pytest.approx(em(density, weight, start), abs=1e-7 if seed % 3 == 0 else 1e-12)  # EM creeps to 0
    pull = (weight / weight.sum() / (density @ shares)) @ density
    assert pull.max() <= 1 + 1e-11
    assert np.abs(shares * (pull - 1)).max() <= 1e-11


@pytest.mark.parametrize("spread", [1e-3, 1, 1e3])
def test_flat_and_certain_densities(spread):
    """Densities that hardly differ, and those that leave no doubt, have their maximum found."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 5)) * spread
    shares, found = _kernels.mixture_shares(_kernels.softmax(z), np.ones(60), np.full(5, 0.2))
    assert found
    if spread == 1e3:
        assert shares == pytest.approx(np.bincount(z.argmax(axis=1), minlength=5) / 60, abs=1e-9)


def test_densities_that_tell_nothing_leave_the_start():
    """Where all components are alike every share is a maximum, and the start is kept."""
    start = np.array([0.5, 0.3, 0.2])
    shares, found = _kernels.mixture_shares(np.full((9, 3), 0.7), np.ones(9), start)
    assert found
    assert shares == pytest.approx(start, abs=1e-14)


def test_impossible_components():
    """A component that no point can come from gets no share."""
    density = np.array([[1.0, 0.0, 1e-200], [0.5, 0.0, 0.0], [0.2, 0.0, 1e-300]])
    shares, found = _kernels.mixture_shares(density, np.ones(3), np.full(3, 1 / 3))
    assert found
    assert shares.tolist() == [1, 0, 0]
