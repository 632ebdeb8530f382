"""Planning: how precisely n rows would measure calibration, and how many rows a given precision takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _check
from believable._types import Float64s, Strategy
from believable.errors import InputError
from believable.inference.cells import BinCells
from believable.inference.inversion import SHARES_OF_TAILS
from believable.predictions import Predictions
from believable.stats import BinStats

Z975 = NormalDist().inv_cdf(0.975)
BOTH_TAILS = -sum(
    NormalDist().inv_cdf(share * 0.025) for share in SHARES_OF_TAILS
)  # 4.06, for the tails that `interval` cuts
Z95 = NormalDist().inv_cdf(0.95)
Z95_SKEWED = (Z95**2 - 1) / 6  # effect of skewness on a quantile (Cornish and Fisher)
HALF_NORMAL_SKEWNESS = math.sqrt(2) * (4 - math.pi) / (math.pi - 2) ** 1.5
MAX_PLANNED_ROWS = 10**12
MIN_EVENTS = 15  # with fewer, the formulas are rough: see benchmarks/rows.py


@dataclass(frozen=True, slots=True)
class ExpectedPrecision:
    """The precision to expect from a number of rows.

    Attributes
    ----------
    n, n_bins : int
        Number of rows, and of bins (ties in the scores may leave fewer quantile bins than requested).
    strategy : str
        "uniform" or "quantile".
    events : float
        Expected number of rows of the rarer outcome. With fewer than 15, all numbers here are rough.
    floor, floor_q95 : float
        Noise floor: the expected calibration error (ECE) that a perfectly calibrated model would show, its mean and its
        95th percentile (at most 1).
    width : float
        Width of the 95 % interval of the ECE of a clearly miscalibrated model, at most 1. For a nearly calibrated
        model, the interval starts at 0 and is about a quarter narrower.
    slope_width, oe_width : float
        Widths of the 95 % intervals of the calibration slope, and of the ratio of observed to expected events, of a
        calibrated model.
    """

    n: int
    n_bins: int
    strategy: str
    events: float
    floor: float
    floor_q95: float
    width: float
    slope_width: float
    oe_width: float

    def __str__(self) -> str:
        lines = [
            f"{self.n:,} rows in {self.n_bins} {self.strategy} bins:",
            f"a perfectly calibrated model would show an ECE of about {self.floor:.2g} (95th percentile "
            f"{self.floor_q95:.2g})",
            f"95 % intervals would be about this wide: ECE {self.width:.2g}, slope {self.slope_width:.2g}, "
            f"O:E {self.oe_width:.2g}",
        ]
        if self.events < MIN_EVENTS:
            lines.append(f"only {self.events:.2g} rows of the rarer outcome are expected, so these numbers are rough")
        return "\n  ".join(lines)

    __repr__ = __str__


def expected_precision(
    n: int,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    base_rate: float | None = None,
    auc: float | None = None,
    scores: Any = None,
) -> ExpectedPrecision:
    r"""Predict the noise floor of the ECE and the widths of intervals for n rows.

    For planning, before there are outcomes; with outcomes, use `noise_floor` and `interval`. The scores are yours, or
    those of a typical model: calibrated, with a Beta(a, b) distribution that has the given base rate and AUC,

    .. math:: r = \frac{a}{k}, \quad \text{AUC} = \frac{1}{2} + \frac{B(k, k)}{k \, B(a, a) \, B(b, b) \, r (1 - r)},
       \quad k = a + b.

    The result depends only on the variance of the outcomes in each bin, :math:`s_m = E[p (1 - p); p \in m]`:

    .. math:: \text{floor} = \frac{1}{n} \sum_m g(n s_m), \quad g(x) = 2 x \left(1 + (2 \pi x)^{3/2}\right)^{-1/3},
       \quad \text{width} = 4.06 \sqrt{\textstyle\sum_m s_m / n}.

    g is exact if a bin expects hardly any rows (2x) and if it expects many (the mean absolute value of a normal
    variable, :math:`\sqrt{2 x / \pi}`). The quantile of the floor allows for the variance and the skewness of its
    terms. The slope has the standard error :math:`1 / \sqrt{n J}`, where J is the mean of p (1 - p) times the squared
    distance of logit p from its mean with the same weights (Riley et al. 2021). The logarithm of O:E has the standard
    error :math:`\sqrt{\sum_m s_m / n} / r`, as in `observed_expected_ratio`.

    Parameters
    ----------
    n : int
        Number of independent rows. Clustered or weighted rows carry less information.
    n_bins, strategy
        As in `expected_calibration_error`.
    base_rate : float, optional
        Share of events among the rows, 0.0001 to 0.9999; 0.5 by default.
    auc : float, optional
        Discrimination of the model, 0.51 to 0.999; 0.8 by default. It determines how widely the scores spread.
    scores : array-like of shape (n_scores,), optional
        Your own scores, any number of them, instead of a base rate and an AUC. They are assumed to be calibrated:
        scores that are too extreme understate the noise. For a matrix, pass the confidence `scores.max(axis=1)`, or the
        column of one class.

    Returns
    -------
    ExpectedPrecision
        Noise floor and widths for n rows.

    Notes
    -----
    `python -m benchmarks.rows` compares the formulas with simulations: 66 plans of 300 to 15,000 rows. With at least 15
    expected events, floors were within 3 % of `noise_floor`, the width of the ECE within 11 % of the mean of `interval`
    for a model whose scores are too extreme, and the widths of slope and O:E within 10 and 3 %. For a calibrated model,
    the interval of the ECE was 0.6 to 0.9 times as wide. With fewer events, the width is too small, by up to a fifth in
    these plans and many times over if hardly one event is expected, and that of the slope is useless. `rows_needed`
    always plans for at least 15 events.

    References
    ----------
    Riley et al. (2021), Statistics in Medicine 40, 4230-4251 (slope and O:E).

    Examples
    --------
    >>> planned = expected_precision(1000, n_bins=15, base_rate=0.2)
    >>> round(planned.floor, 3), round(planned.width, 3)
    (0.03, 0.046)
    """
    n = _check.positive_integer(n, "n", 1, MAX_PLANNED_ROWS)
    return _population(n_bins, strategy, base_rate, auc, scores).at(n)


def rows_needed(
    *,
    floor: float | None = None,
    width: float | None = None,
    slope_width: float | None = None,
    oe_width: float | None = None,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    base_rate: float | None = None,
    auc: float | None = None,
    scores: Any = None,
) -> ExpectedPrecision:
    """Find the smallest number of rows that gives a low enough noise floor or narrow enough intervals.

    The result expects at least 15 rows of the rarer outcome, because with fewer the predicted widths are unreliable.
    (For 42 rows with a base rate of 0.001, the formula predicts an ECE interval 0.02 wide. Most such samples have no
    event at all, and their intervals are four times as wide.)

    Parameters
    ----------
    floor, width, slope_width, oe_width : float, optional
        Largest acceptable values; at least one is required. `ExpectedPrecision` says what they mean.
    n_bins, strategy, base_rate, auc, scores
        As in `expected_precision`.

    Returns
    -------
    ExpectedPrecision
        The precision of the smallest sufficient number of rows, which is its `n`. Some goals may be exceeded.

    Examples
    --------
    >>> rows_needed(width=0.02, base_rate=0.2).n
    5286
    """
    wishes = {"floor": floor, "width": width, "slope_width": slope_width, "oe_width": oe_width}
    given = {name: _check.number(value, name, 0) for name, value in wishes.items() if value is not None}
    if not given:
        raise InputError("pass at least one goal: floor=0.01, width=0.02, slope_width=0.2 or oe_width=0.2")
    if zero := [name for name, value in given.items() if value == 0]:
        raise InputError(
            "{argument} must be larger than 0: no number of rows removes all sampling noise", argument=zero[0]
        )
    population = _population(n_bins, strategy, base_rate, auc, scores)

    def will_do(n: int) -> bool:
        found = population.at(n)
        return found.events >= MIN_EVENTS and all(getattr(found, name) <= value for name, value in given.items())

    if not will_do(MAX_PLANNED_ROWS):
        wish = ", ".join(f"{name}={value:g}" for name, value in given.items())
        raise InputError(
            f"{wish} would take more than {MAX_PLANNED_ROWS:.0e} rows, or cannot be reached with such scores"
        )
    least, enough = 0, MAX_PLANNED_ROWS
    while enough - least > 1:
        middle = (least + enough) // 2
        least, enough = (least, middle) if will_do(middle) else (middle, enough)
    return population.at(enough)


@dataclass(frozen=True, slots=True, eq=False)
class _Population:
    """The properties of calibrated scores on which precision depends.

    Attributes
    ----------
    chance : ndarray
        For each bin, the mean over all rows of p (1 - p) if p is in the bin, else 0.
    base_rate : float
        Share of events.
    information : float
        Information of one row about the slope: the mean over rows of p (1 - p) (logit p - its weighted mean)^2.
    """

    n_bins: int
    strategy: str
    chance: Float64s
    base_rate: float
    information: float

    def at(self, n: int) -> ExpectedPrecision:
        """Return the precision of n rows."""
        x = n * self.chance
        size = 2 * x / np.cbrt(1 + (2 * math.pi * x) ** 1.5)  # mean of |outcomes - scores|, summed over a bin
        variance = np.maximum(x - size**2, 0)
        total = float(variance.sum())
        skewness = HALF_NORMAL_SKEWNESS * float((variance**1.5).sum()) / total**1.5 if total > 1e-200 else 0.0
        floor = float(size.sum()) / n
        above = math.sqrt(total) * (Z95 + Z95_SKEWED * skewness) / n
        deviation = math.sqrt(float(self.chance.sum()) / n)
        return ExpectedPrecision(
            n,
            self.n_bins,
            self.strategy,
            n * min(self.base_rate, 1 - self.base_rate),
            floor,
            min(floor + above, 1.0),
            min(BOTH_TAILS * deviation, 1.0),
            2 * Z975 / math.sqrt(n * self.information) if n * self.information > 1e-300 else math.inf,
            2 * math.sinh(min(Z975 * deviation / self.base_rate, 700)) if self.base_rate > 1e-300 else math.inf,
        )


def _population(
    n_bins: int, strategy: Strategy, base_rate: float | None, auc: float | None, scores: Any
) -> _Population:
    n_bins = _check.positive_integer(n_bins, "n_bins", 1)
    _check.choice(strategy, ("uniform", "quantile"), "strategy")
    if scores is None:
        rate = 0.5 if base_rate is None else _check.number(base_rate, "base_rate", 1e-4, 1 - 1e-4)
        return _typical(n_bins, strategy, rate, 0.8 if auc is None else _check.number(auc, "auc", 0.51, 0.999))
    if base_rate is not None or auc is not None:
        raise InputError("pass either scores, or base_rate and auc, not both")
    return _counted(n_bins, strategy, scores)


def _counted(n_bins: int, strategy: Strategy, scores: Any) -> _Population:
    """Return the population of the user's own scores."""
    if isinstance(scores, Predictions):
        raise InputError(
            "{argument} must be an array: pass predictions.scores (planning needs no outcomes)", argument="scores"
        )
    known = Predictions(scores, np.zeros(np.shape(scores)[:1], np.int64))
    if known.kind != "binary":
        raise InputError(
            "{argument} must be 1-D: take the confidence scores.max(axis=1), or the column of a class",
            argument="scores",
        )
    if np.all((known.scores == 0) | (known.scores == 1)):
        raise InputError(
            "{argument} are all 0 or 1, so outcomes could not vary: pass probabilities (are these outcomes?), or "
            "base_rate and auc",
            argument="scores",
        )
    cells = BinCells.of(BinStats.of(known, n_bins=n_bins, strategy=strategy))
    chance = cells.w / cells.w.sum() * cells.variance(cells.conf)
    p = known.scores.astype(np.float64)
    p = p[(p > 0) & (p < 1)]  # scores of 0 and 1 have no weight
    weight, logit = p * (1 - p), np.log(p) - np.log1p(-p)
    centre = float(weight @ logit) / max(float(weight.sum()), 1e-300)
    information = float(weight @ (logit - centre) ** 2) / len(known)
    information = information if p.size and np.ptp(p) > 0 else 0.0  # a single distinct score has no slope
    merged = len(chance) if strategy == "quantile" else n_bins  # ties merge quantile bins; empty uniform bins count
    return _Population(merged, strategy, chance, float(known.scores.mean(dtype=np.float64)), information)


def _typical(n_bins: int, strategy: Strategy, rate: float, auc: float) -> _Population:
    """Return the population of Beta(a, b) scores; p (1 - p) times the density is proportional to Beta(a + 1, b + 1)."""
    from scipy.special import betainc, betaincinv, polygamma

    k = _concentration(rate, auc)
    a, b = rate * k, (1 - rate) * k
    share = np.arange(n_bins + 1) / n_bins
    edges = share if strategy == "uniform" else betaincinv(a, b, share)
    chance = a * b / (k * (k + 1)) * np.diff(betainc(a + 1, b + 1, edges))
    information = float(a * b / (k * (k + 1)) * (polygamma(1, a + 1) + polygamma(1, b + 1)))
    return _Population(n_bins, strategy, chance, rate, information)


def _concentration(rate: float, auc: float) -> float:
    """Return the a + b for which calibrated Beta(a, b) scores have this AUC."""
    from scipy.optimize import brentq
    from scipy.special import betaln

    def above(log_k: float) -> float:
        k = math.exp(log_k)
        a, b = rate * k, (1 - rate) * k
        half_gini = math.exp(betaln(k, k) - betaln(a, a) - betaln(b, b)) / (k * rate * (1 - rate))
        return 0.5 + half_gini - auc

    return math.exp(brentq(above, -25, 25, xtol=1e-13))
