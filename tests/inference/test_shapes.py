"""Shapes of the true gaps, drawn from what the observed gaps allow."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from believable.inference.shapes import (
    WEIGHT_OF_PLACES,
    WEIGHT_OF_SMOOTH_PRIORS,
    _Blocks,
    _Data,
    _Dense,
    _Places,
    draw_patterns,
)


def shapes(gap, variance, n_draws=2000, rough=True, seed=0):
    score = (np.arange(len(gap)) + 0.5) / len(gap)
    group = np.zeros(len(gap), int)
    return draw_patterns(gap, variance, score, group, n_draws, np.random.default_rng(seed), rough=rough)


def test_shapes_follow_what_is_known():
    """Gaps known exactly are drawn as they are, smooth, sparse or rough."""
    for gap in (np.full(10, 0.1), np.eye(10)[4] * 0.3, np.tile([0.1, -0.1], 5)):
        drawn = shapes(gap, np.full(10, 1e-10))
        assert np.abs(drawn - gap).max() < 0.01


def test_shapes_shrink_what_is_not():
    """Gaps that are all noise are drawn smaller than they were seen."""
    rng = np.random.default_rng(9)
    gap = 0.05 * rng.standard_normal(15)
    drawn = shapes(gap, np.full(15, 0.05**2))
    assert np.abs(drawn).sum(axis=1).mean() < np.abs(gap).sum()
    assert drawn.shape == (2000, 15)


def test_smooth_shapes_are_smooth():
    """Where shapes must be smooth or in one place, a lone spike is spread over its neighbours in part."""
    gap = np.eye(15)[7] * 0.1
    drawn = shapes(gap, np.full(15, 0.03**2), rough=False).mean(axis=0)
    assert drawn[7] < 0.07
    assert drawn[6] > 0.1 * drawn[7]  # a single gap is possible, too


def test_groups_are_apart():
    """What one class shows says nothing about another's shape."""
    gap = np.repeat([0.2, 0.0], 8)
    score, group = np.tile(np.linspace(0.2, 0.8, 8), 2), np.repeat([0, 1], 8)
    drawn = draw_patterns(gap, np.full(16, 1e-4), score, group, 1000, np.random.default_rng(0), rough=True)
    assert drawn[:, :8].mean() == pytest.approx(0.2, abs=0.01)
    assert drawn[:, 8:].mean() == pytest.approx(0.0, abs=0.01)


def test_known_gaps_stay_at_the_ends():
    """A gap that is known well is drawn as it is, though scores are 0 or 1 there and most other gaps are none."""
    score = np.repeat([1e-9, 0.5, 1 - 1e-9], 20)
    gap = np.where(np.arange(60) % 20 == 7, np.sign(0.5 - score - 1e-3) * 0.25, 0.0)
    drawn = draw_patterns(
        gap, np.full(60, 0.03**2), score, np.zeros(60, int), 500, np.random.default_rng(0), rough=True
    )
    assert drawn.mean(axis=0)[[7, 27, 47]] == pytest.approx(gap[[7, 27, 47]], abs=0.04)


@pytest.mark.parametrize("n", [1, 2, 3, 301, 1000])
def test_any_number_of_cells(n):
    """One cell, or more than priors of dependent gaps are made for."""
    gap = np.random.default_rng(n).standard_normal(n) * 0.01
    drawn = shapes(gap, np.full(n, 1e-4), n_draws=50)
    assert drawn.shape == (50, n)
    assert np.isfinite(drawn).all()
    assert (drawn != 0).any(axis=1).all()


def test_no_variance():
    """Variances of zero are no trouble."""
    drawn = shapes(np.array([0.0, 0.1, 0.0]), np.zeros(3), n_draws=100)
    assert np.isfinite(drawn).all()


# --- several strata ---------------------------------------------------------------------------------------------------


def literal_prior(score, stratum, group, scale, smooth, shared, reach):
    """Return the covariance of the gaps, written out: a part of each stratum, and a part of groups of scores."""
    n = len(score)
    prior = np.zeros((n, n))
    centre = np.array([score[group == g].mean() for g in range(group.max() + 1)])
    for i in range(n):
        for j in range(n):
            if stratum[i] == stratum[j]:
                alike = np.exp(-((score[i] - score[j]) ** 2) / (2 * reach**2))
                prior[i, j] += (1 - shared) * (smooth * alike + (1 - smooth) * (i == j))
            alike = np.exp(-((centre[group[i]] - centre[group[j]]) ** 2) / (2 * reach**2))
            prior[i, j] += shared * (smooth * alike + (1 - smooth) * (group[i] == group[j]))
            prior[i, j] *= scale[i] * scale[j]
    return prior


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_gaps_that_strata_share(shared):
    """Fit, mean and covariance are those of the normal distribution written out, whatever the sizes of the strata."""
    rng = np.random.default_rng(0)
    stratum = np.repeat([0, 2, 3], [4, 2, 5])
    score, variance, scale = rng.random(11), rng.uniform(1e-3, 1e-2, 11), rng.uniform(0.02, 0.1, 11)
    gap = 0.1 * rng.standard_normal(11)
    data = _Data(_Blocks(stratum), gap, variance, score, 0.3)
    found = _Dense(data, scale, 0.8, shared)
    group = data.group
    prior = literal_prior(score, stratum, group, scale, 0.8, shared, 0.3)
    total = prior + np.diag(variance)
    expected = multivariate_normal(np.zeros(11), total).logpdf(gap) + 11 / 2 * np.log(2 * np.pi)
    assert found.log_fit == pytest.approx(expected + np.log(WEIGHT_OF_SMOOTH_PRIORS), abs=1e-3)
    drawn = found.draw(40_000, rng)
    pull = prior @ np.linalg.inv(total)
    assert drawn.mean(axis=0) == pytest.approx(pull @ gap, abs=0.003)
    assert np.cov(drawn.T) == pytest.approx(prior - pull @ prior, abs=3e-4)


def test_classes_learn_from_each_other():
    """Sixty noisy classes with the same gaps show them together, though no class does alone."""
    rng = np.random.default_rng(1)
    score, stratum = np.tile(np.linspace(0.1, 0.9, 5), 60), np.repeat(np.arange(60), 5)
    true = 0.1 * np.cos(3 * score)
    gap = true + 0.2 * rng.standard_normal(300)
    drawn = draw_patterns(gap, np.full(300, 0.04), score, stratum, 400, rng, rough=True)
    off = drawn.mean(axis=0) - true
    assert np.sqrt(np.mean(off**2)) < 0.04
    alone = draw_patterns(gap[:5], np.full(5, 0.04), score[:5], stratum[:5], 400, rng, rough=True)
    assert np.sqrt(np.mean((alone.mean(axis=0) - true[:5]) ** 2)) > 0.04


# --- places -----------------------------------------------------------------------------------------------------------


def test_gaps_in_places():
    """The fit is the mean over all places, and all pairs of places, of the normal density, written out."""
    rng = np.random.default_rng(2)
    n, size = 5, 0.3
    gap, variance, score = 0.1 * rng.standard_normal(n), rng.uniform(1e-3, 1e-2, n), np.array([0.5, 0.1, 0.9, 0.3, 0.7])
    order = np.argsort(score)
    spans = [(start, start + k) for k in (1, 2, 3) for start in range(n - k + 1)]

    def density(*places):
        total = np.diag(variance)
        for start, stop in places:
            inside = np.isin(np.arange(n), order[start:stop])
            total = total + size**2 * np.outer(inside, inside)
        return multivariate_normal(np.zeros(n), total).pdf(gap) * (2 * np.pi) ** (n / 2)

    one = np.mean([density(span) for span in spans])
    two = np.mean([density(a, b) for a in spans for b in spans if a[1] < b[0]])
    found = _Places(gap, variance, score, size)
    assert found.log_fit == pytest.approx(np.log(WEIGHT_OF_PLACES * (one + two) / 2))
    drawn = found.draw(2000, rng)
    assert (drawn != 0).any(axis=1).all()
    assert (drawn == 0).any(axis=1).all()


@pytest.mark.parametrize("place", [0, 7, 14])
def test_one_place(place):
    """A single gap that stands out may be the only one there is."""
    gap = 0.3 * np.eye(15)[place] + 0.05 * np.random.default_rng(3).standard_normal(15)
    drawn = shapes(gap, np.full(15, 0.05**2))
    assert (drawn[:, place] != 0).mean() > 0.95
    assert (np.count_nonzero(drawn, axis=1) <= 3).mean() > 0.4
