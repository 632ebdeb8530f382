"""Tails of sums of binomial numbers, each with a probability and a factor of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._kernels.probabilities import sigmoid
from believable._types import Float64s

MOST_STEPS, CLOSE = 200, 1e-9
LONGEST_STEP = 3.0  # at first, in logits of the tilted probabilities
NEAR_THE_MEAN = 1e-2  # in standard deviations; closer to it, log(u / r) / r is lost in rounding, and has this limit


class Tails(NamedTuple):
    """Normal scores of two tails: P(S >= s) is Phi(-above), and P(S <= s) is Phi(-below)."""

    above: float
    below: float


def binomial_tails(factor: Float64s, eta: Float64s, n: Float64s, observed: float, step: float) -> Tails:
    """Return both tails of S = sum_j factor_j (N_j - n_j e_j) at the observed value, N_j ~ Bin(n_j, e_j).

    e_j is the sigmoid of eta_j, and n_j need not be whole. `step` is what one event more or less changes: both tails
    include the observed value, and so add up to more than 1. Lugannani and Rice's saddlepoint approximation, in
    Barndorff-Nielsen's form r + log(u / r) / r, with Daniels's correction for continuity. Relative errors are a few per
    cent, even of sums of one event, if at least 0.01 are expected. With fewer, tails beyond one event are too small: by
    13 % where 0.001 are expected, by 28 % where 0.0001 are.

    Examples
    --------
    Three events where 0.1 is expected: by the Poisson distribution, P(N >= 3) is 0.000155, and P(N <= 3) 0.999996.

    >>> from scipy.special import ndtr
    >>> eta = np.log(1e-4 / (1 - 1e-4))
    >>> tails = binomial_tails(np.ones(1), np.array([eta]), np.array([1000.0]), 3 - 0.1, 1.0)
    >>> ndtr(-np.array(tails)).round(6).tolist()
    [0.000157, 0.999996]
    """
    return Tails(_score(factor, eta, n, observed, step), _score(-factor, eta, n, -observed, step))


def _score(factor: Float64s, eta: Float64s, n: Float64s, observed: float, step: float) -> float:
    """Return the normal score of P(S >= observed)."""
    s = observed - step / 2
    e = sigmoid(eta)
    if s <= -float(n @ np.maximum(factor * e, -factor * (1 - e))):
        return -np.inf
    if s >= float(n @ np.maximum(factor * (1 - e), -factor * e)):
        return np.inf
    t = _saddlepoint(factor, eta, n, s)
    tilted = sigmoid(eta + factor * t)
    generating = float(n @ (np.logaddexp(0, eta + factor * t) - np.logaddexp(0, eta)) - t * (n @ (factor * e)))
    r = np.sign(t) * np.sqrt(max(2 * (t * s - generating), 0.0))
    second = float(n @ (factor**2 * tilted * (1 - tilted)))
    if abs(r) < NEAR_THE_MEAN:
        third = float(n @ (factor**3 * tilted * (1 - tilted) * (1 - 2 * tilted)))
        return float(r + third / (6 * second**1.5))
    half = abs(t) * step / 2
    log_sinh = half + np.log(-np.expm1(-2 * half)) - np.log(2)
    log_u = log_sinh + np.log(2 / step) + np.log(second) / 2
    return float(r + (log_u - np.log(abs(r))) / r)


def _saddlepoint(factor: Float64s, eta: Float64s, n: Float64s, s: float) -> float:
    """Return the t at which the mean under tilting by exp(t S) is s: Newton's method in a bracket.

    Steps are short at first, and may be twice as long each time: where factors differ by orders of magnitude, t may be
    far away for most of them.
    """
    e = sigmoid(eta)
    furthest = LONGEST_STEP / float(np.abs(factor).max())
    below, above, t = -np.inf, np.inf, 0.0
    for _ in range(MOST_STEPS):
        tilted = sigmoid(eta + factor * t)
        off = float(n @ (factor * (tilted - e))) - s
        slope = float(n @ (factor**2 * tilted * (1 - tilted)))
        if abs(off) <= CLOSE * np.sqrt(slope):
            break
        below, above = (t, above) if off < 0 else (below, t)
        step = -off / slope if slope > abs(off) / furthest else -np.sign(off) * furthest
        furthest *= 2
        after = t + step
        t = after if below < after < above else (below + above) / 2
    return t
