"""Shares of the components of a mixture that are never 0, and intervals for them.

The most likely shares (`mixture_shares`) are 0 about as often as their errors exceed them. Here half a row of each
component is added, where a row is counted in units of the source: with t_k the shares, s_k those of the source and
tau_k = (t_k / s_k) / sum_j (t_j / s_j), the maximum of

    sum_i w_i log(sum_k t_k f_ik) + sum_k log(tau_k) / 2.

If the source has equal shares and rows tell components apart without error, this is (m_k + 1/2) / (n + K/2), with m_k
rows of component k, which Jeffreys' prior gives for counts. Where all rows are alike, t = s.
"""

from __future__ import annotations

import numpy as np

from believable._kernels.mixture import mixture_shares
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise
from believable._types import Float64s

HALF_A_ROW = 0.5
TOWARDS_SOURCE = 0.1  # the search starts this far from the most likely shares, which may be 0
INSIDE_SEARCH = SearchSettings(close=1e-13, most_steps=200, slack=1e-15, most_halvings=60, furthest=2.0)
FLAT = 1e-12  # curvatures below this share of the largest are rounding
IMPOSSIBLE = 1e6  # deviance where a row has probability 0
CLOSE_SHARE = 1e-9  # accuracy of the ends of an interval


def inner_shares(density: Float64s, weight: Float64s, source: Float64s, most_likely: Float64s) -> Float64s:
    """Return the shares of the maximum above, found from the most likely ones; f is (n, K)."""
    start = (1 - TOWARDS_SOURCE) * most_likely + TOWARDS_SOURCE * source
    found = minimise(_Inside(density, weight, source), np.log(start / source), INSIDE_SEARCH)
    return _shares(found.x, source)


def share_interval(
    density: Float64s, weight: Float64s, most_likely: Float64s, k: int, most_deviance: tuple[float, float]
) -> tuple[float, float]:
    """Return the shares of component k up to which twice the loss of log-likelihood is at most as given, on each side.

    The other shares are the most likely ones for each share of k. Rows count as (sum w)^2 / sum w^2 in all.
    """
    from scipy.optimize import brentq

    mean = weight / weight.sum()
    rows = 1 / float(mean @ mean)
    others = np.delete(density, k, axis=1)
    start = np.delete(most_likely, k) + 1e-3
    best = _mean_log(density @ most_likely, mean)

    def excess(share: float, allowed: float) -> float:
        """Return the deviance above the allowed one."""
        blended = (1 - share) * others + share * density[:, k : k + 1]
        if not blended.any(axis=1).all():  # a row is impossible with this share
            return IMPOSSIBLE
        shares = mixture_shares(blended, mean, start)[0] if blended.shape[1] > 1 and share < 1 else start / start.sum()
        return min(2 * rows * (best - _mean_log(blended @ shares, mean)) - allowed, IMPOSSIBLE)

    found = float(most_likely[k])
    down, up = most_deviance
    low = 0.0 if excess(0.0, down) <= 0 else brentq(excess, 0.0, found, args=(down,), xtol=CLOSE_SHARE)
    high = 1.0 if excess(1.0, up) <= 0 else brentq(excess, found, 1.0, args=(up,), xtol=CLOSE_SHARE)
    return float(low), float(high)


def source_inflation(density: Float64s, weight: Float64s, source: Float64s, shares: Float64s, rows: float) -> Float64s:
    """Return by how much an estimated source, from this many rows, raises the variance of each share: a factor from 1.

    Shares and logarithms of the source move together as the slope of the log-likelihood, on shares that sum to one,
    stays 0. The variance that shares have anyway comes from the curvature of the log-likelihood.
    """
    mean = weight / weight.sum()
    seen = density / (density @ shares)[:, None]
    products = (seen * mean[:, None]).T @ seen
    tangent = np.linalg.svd(np.ones((1, len(source))))[2][1:].T
    inverse = tangent @ np.linalg.pinv(tangent.T @ products @ tangent, hermitian=True) @ tangent.T
    change = inverse @ (products * shares - np.diag(mean @ seen))
    added = np.maximum(np.einsum("kj,kj->k", change / source, change) - change.sum(axis=1) ** 2, 0) / rows
    own = np.diag(inverse) * float(mean @ mean)
    return np.asarray(1 + np.where(own > 0, added / np.where(own > 0, own, 1), 0))


def _mean_log(mixed: Float64s, weight: Float64s) -> float:
    with np.errstate(divide="ignore"):
        return float(weight @ np.log(mixed))


def _shares(x: Float64s, source: Float64s) -> Float64s:
    shares = source * np.exp(x - x.max())
    return np.asarray(shares / shares.sum())


class _Inside:
    """The negative of the maximum above as a function of log(t / s): a problem for `minimise`."""

    convex = False

    def __init__(self, density: Float64s, weight: Float64s, source: Float64s) -> None:
        self.density, self.weight, self.source, self.total = density, weight, source, float(weight.sum())

    def at(self, x: Float64s) -> Iterate:
        shares, tau = _shares(x, self.source), _shares(x, np.ones_like(x))
        belongs = self.density * shares
        belongs /= belongs.sum(axis=1, keepdims=True)
        counted = self.weight @ belongs
        pulled = HALF_A_ROW * len(x) * tau
        gradient = self.total * shares - counted + pulled - HALF_A_ROW
        curvature = np.diag(self.total * shares - counted + pulled)
        curvature += (belongs * self.weight[:, None]).T @ belongs
        curvature -= self.total * np.outer(shares, shares) + HALF_A_ROW * len(x) * np.outer(tau, tau)
        return Iterate(gradient, curvature)

    def cost(self, x: Float64s) -> float:
        shares, tau = _shares(x, self.source), _shares(x, np.ones_like(x))
        if not (shares.all() and tau.all()):
            return np.inf
        return float(-self.weight @ np.log(self.density @ shares) - HALF_A_ROW * np.log(tau).sum())

    def step(self, x: Float64s, place: Iterate) -> Step:
        sizes, axes = np.linalg.eigh(place.model)
        slopes = axes.T @ place.gradient
        used = np.abs(sizes) > FLAT * np.abs(sizes).max()  # a common constant changes nothing
        direction = -axes[:, used] @ (slopes[used] / np.abs(sizes[used]))
        length = float(np.abs(direction).max())
        return Step(direction, length, left=length**2)
