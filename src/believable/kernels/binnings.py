"""Many binnings of the same points into quantiles, and how well each of them explains the outcomes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.kernels.reference import quantile_positions


class Binnings(NamedTuple):
    """Binnings of points in order, one after the other.

    Attributes
    ----------
    last : ndarray of int
        The last point of each bin.
    starts : ndarray of int
        Where the bins of each binning start.
    n_bins : ndarray of int
        How many bins each binning has.
    """

    last: Ints
    starts: Ints
    n_bins: Ints


def quantile_binnings(reached: Array, fewest: int, most: int) -> Binnings:
    """The distinct binnings into quantiles, for every number of bins from `fewest` to `most`.

    `reached` is the cumulative weight of points that are never split. Boundaries that coincide are one, and all bins
    hold points, so there may be fewer bins than asked for.
    """
    end = len(reached) - 1
    found: dict[bytes, Ints] = {}
    for wanted in range(fewest, most + 1):
        last = np.append(quantile_positions(reached, wanted), end)
        last = last[np.append(last[1:] != last[:-1], True)]
        found.setdefault(last.tobytes(), last)
    n_bins = np.array([len(last) for last in found.values()])
    return Binnings(np.concatenate(list(found.values())), np.cumsum(n_bins) - n_bins, n_bins)


def binned_sums(reached: Array, binnings: Binnings) -> Float64s:
    """The sum in each bin, from the cumulative sum over points."""
    upper = reached[binnings.last]
    lower = np.append(0, upper[:-1])
    lower[binnings.starts] = 0
    return np.asarray(np.maximum(upper - lower, 0), np.float64)


def log_evidence(positive: Float64s, negative: Float64s, alpha: Float64s, beta: Float64s, starts: Ints) -> Float64s:
    """The logarithm of the marginal likelihood of each binning, with a Beta(alpha, beta) prior in every bin."""
    from scipy.special import betaln

    return np.asarray(np.add.reduceat(betaln(positive + alpha, negative + beta) - betaln(alpha, beta), starts))


def mixed_steps(binnings: Binnings, values: Float64s, shares: Float64s) -> tuple[Ints, Float64s]:
    """The mean of step functions, one per binning: the points after which it steps, and its values between them.

    Binnings without a share in it leave no steps.
    """
    of_bins = np.repeat(shares, binnings.n_bins)
    jump = np.append(np.diff(values), 0) * of_bins
    inner = of_bins > 0
    inner[binnings.starts + binnings.n_bins - 1] = False
    last, index = np.unique(binnings.last[inner], return_inverse=True)
    steps = np.bincount(index, jump[inner], len(last))
    return last, np.cumsum(np.append(shares @ values[binnings.starts], steps))
