"""Planning: how precisely n rows would measure calibration, and how many rows a given precision takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from believable import _check
from believable._types import Bins, Float64s, Strategy
from believable.binning import cube_root_bins
from believable.errors import InputError
from believable.inference.cells import BinCells
from believable.inference.inversion import SHARES_OF_TAILS
from believable.predictions import Predictions
from believable.stats import BinStats

Z975 = NormalDist().inv_cdf(0.975)
BOTH_TAILS = -sum(
    NormalDist().inv_cdf(share * 0.025) for share in SHARES_OF_TAILS
)  # 4.06, for the tails that `interval` cuts
SHARE_KEPT = 0.8  # of samples whose intervals are no wider than planned
Z80 = NormalDist().inv_cdf(SHARE_KEPT)
# Measured by benchmarks/rows.py: the interval of the ECE is this much wider than its standard error says, and its width
# and that of the slope vary this many times as much as their standard errors.
ECE_WIDER, WIDTHS_VARY = 1.07, 1.8
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
        Width of the 95 % interval of the ECE of a clearly miscalibrated model, at most 1: four samples in five have an
        interval that is no wider. For a nearly calibrated model, the interval starts at 0 and is about a fifth
        narrower.
    slope_width, oe_width : float
        Widths of the 95 % intervals of the calibration slope, and of the ratio of observed to expected events, of a
        calibrated model; four samples in five have no wider ones.
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
            f"in 4 of 5 samples, 95 % intervals would be at most this wide: ECE {self.width:.2g}, slope "
            f"{self.slope_width:.2g}, O:E {self.oe_width:.2g}",
        ]
        if self.events < MIN_EVENTS:
            lines.append(f"only {self.events:.2g} rows of the rarer outcome are expected, so these numbers are rough")
        return "\n  ".join(lines)

    __repr__ = __str__


def expected_precision(
    n: int,
    *,
    n_bins: Bins = 10,
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
       \quad \text{width} = 1.07 \cdot 4.06 \sqrt{\textstyle\sum_m s_m / n} \, (1 + 1.8 \, z \, \delta).

    g is exact if a bin expects hardly any rows (2x) and if it expects many (the mean absolute value of a normal
    variable, :math:`\sqrt{2 x / \pi}`). The quantile of the floor allows for the variance and the skewness of its
    terms.

    The width of an interval depends on the sample; the last factor is for the width that 80 % of samples keep. z = 0.84
    is the 80 % quantile of the normal distribution, and :math:`\delta` the relative standard deviation of the standard
    error, :math:`4 n \delta^2 = \operatorname{Var}((y - p)^2) / (E[p (1 - p)])^2`.

    The slope has the standard error :math:`1 / \sqrt{n J}`, :math:`J = E[v x^2]`, where v = p (1 - p) and x is the
    distance of logit p from its mean with the weights v (Riley et al. 2021). Its width has the factor
    :math:`1 + 1.8 z \delta`, where, by the delta method,

    .. math:: 4 n \delta^2 = \frac{E[v^2 x^4]}{J^2} - 1 + \frac{(E[v (1 - 2 p) x^2])^2}{J^2 E[v]}
       + \frac{(E[v (1 - 2 p) x^3])^2}{J^3}.

    The logarithm of O:E has the standard error :math:`\sqrt{\sum_m s_m / n} / r`, as in `observed_expected_ratio`. Its
    width has the factor :math:`1 + z \delta`, with the :math:`\delta` of the ECE.

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
    `python -m benchmarks.rows` compares the formulas with simulations: 66 plans of 300 to 15,000 rows, 40 samples each.
    With at least 15 expected events, floors were within 3 % of `noise_floor`. The planned width was 0.96 to 1.13 times
    the one that 80 % of the samples kept for the ECE of a model whose scores are too extreme (1.03 on average), 0.94 to
    1.10 times for the slope (1.01) and 0.96 to 1.07 times for O:E (1.00); 82 and 78 % of the samples kept the planned
    widths of slope and O:E. For a calibrated model, intervals of the ECE are narrower: planned was 1.22 times the width
    that 80 % kept. With fewer events single plans are rough, and if hardly one event is expected, useless.
    `rows_needed` always plans for at least 15 events.

    References
    ----------
    Riley et al. (2021), Statistics in Medicine 40, 4230-4251 (slope and O:E).

    Examples
    --------
    >>> planned = expected_precision(1000, n_bins=15, base_rate=0.2)
    >>> round(planned.floor, 3), round(planned.width, 3)
    (0.03, 0.051)
    """
    n = _check.positive_integer(n, "n", 1, MAX_PLANNED_ROWS)
    n_bins = cube_root_bins(n) if n_bins == _check.CUBE_ROOT else n_bins
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

    Four samples in five have intervals that are no wider than asked for. The result expects at least 15 rows of the
    rarer outcome, because with fewer the predicted widths are unreliable: many samples then have hardly any event.

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
    6240
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
    error_varies, slope_varies : float
        Relative standard deviations of the standard errors of a mean residual and of the slope, for one row.
    """

    n_bins: int
    strategy: str
    chance: Float64s
    base_rate: float
    information: float
    error_varies: float
    slope_varies: float

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
        of_error, of_slope = (
            1 + WIDTHS_VARY * Z80 * one / math.sqrt(n) for one in (self.error_varies, self.slope_varies)
        )
        of_ratio = 1 + Z80 * self.error_varies / math.sqrt(n)
        return ExpectedPrecision(
            n,
            self.n_bins,
            self.strategy,
            n * min(self.base_rate, 1 - self.base_rate),
            floor,
            min(floor + above, 1.0),
            min(ECE_WIDER * BOTH_TAILS * deviation * of_error, 1.0),
            2 * Z975 / math.sqrt(n * self.information) * of_slope if n * self.information > 1e-300 else math.inf,
            2 * math.sinh(min(Z975 * deviation / self.base_rate, 700)) * of_ratio
            if self.base_rate > 1e-300
            else math.inf,
        )


def _population(
    n_bins: Bins, strategy: Strategy, base_rate: float | None, auc: float | None, scores: Any
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
    off, n = logit - centre, len(known)
    means = _Moments(
        float(weight.sum()) / n,
        float(weight @ weight) / n,
        float(weight @ off**2) / n if p.size and np.ptp(p) > 0 else 0.0,  # a single distinct score has no slope
        float(weight**2 @ off**4) / n,
        float((weight * (1 - 2 * p)) @ off**2) / n,
        float((weight * (1 - 2 * p)) @ off**3) / n,
    )
    merged = len(chance) if strategy == "quantile" else n_bins  # ties merge quantile bins; empty uniform bins count
    rate = float(known.scores.mean(dtype=np.float64))
    return _Population(merged, strategy, chance, rate, means.information, means.error_varies(), means.slope_varies())


def _typical(n_bins: int, strategy: Strategy, rate: float, auc: float) -> _Population:
    """Return the population of Beta(a, b) scores; p (1 - p) times the density is proportional to Beta(a + 1, b + 1)."""
    from scipy.special import betainc, betaincinv

    k = _concentration(rate, auc)
    a, b = rate * k, (1 - rate) * k
    share = np.arange(n_bins + 1) / n_bins
    edges = share if strategy == "uniform" else betaincinv(a, b, share)
    chance = a * b / (k * (k + 1)) * np.diff(betainc(a + 1, b + 1, edges))
    means = _beta_moments(a, b)
    return _Population(n_bins, strategy, chance, rate, means.information, means.error_varies(), means.slope_varies())


class _Moments(NamedTuple):
    """Means over calibrated scores p: v = p (1 - p), and x the distance of logit p from its mean with weights v.

    Attributes
    ----------
    variance, squared : float
        E[v] and E[v^2].
    information, fourth : float
        E[v x^2] and E[v^2 x^4].
    second, third : float
        E[v (1 - 2 p) x^2] and E[v (1 - 2 p) x^3]: how E[v x^2] changes with intercept and slope.
    """

    variance: float
    squared: float
    information: float
    fourth: float
    second: float
    third: float

    def error_varies(self) -> float:
        """Return the relative standard deviation of the standard error of a mean residual, times sqrt(n)."""
        v = self.variance
        return math.sqrt(max(v - 3 * self.squared - v * v, 0)) / (2 * v) if v > 1e-150 else 0.0

    def slope_varies(self) -> float:
        """Return the relative standard deviation of the standard error of the slope, times sqrt(n)."""
        j = self.information
        if j <= 1e-100:
            return 0.0
        of_scores = self.fourth / j**2 - 1
        of_line = self.second**2 / (j**2 * self.variance) + self.third**2 / j**3
        return math.sqrt(max(of_scores + of_line, 0)) / 2


def _beta_moments(a: float, b: float) -> _Moments:
    """Return the means over Beta(a, b) scores, from those of the logit of Beta(a + i, b + j) scores."""
    from scipy.special import digamma, polygamma

    k = a + b
    variance = a * b / (k * (k + 1))
    squared = variance * (a + 1) * (b + 1) / ((k + 2) * (k + 3))
    centre = float(digamma(a + 1) - digamma(b + 1))

    def powers(i: int, j: int) -> tuple[float, float, float]:
        """Return the means of x^2, x^3 and x^4 under Beta(a + i, b + j)."""
        first = float(digamma(a + i) - digamma(b + j)) - centre
        second, third, fourth = (float(polygamma(m, a + i) - (-1) ** m * polygamma(m, b + j)) for m in (1, 2, 3))
        central = 3 * second**2 + fourth
        return (
            second + first**2,
            third + 3 * first * second + first**3,
            central + 4 * first * third + 6 * first**2 * second + first**4,
        )

    low, high = powers(1, 2), powers(2, 1)  # the weights v (1 - p) and v p
    not_p, p = variance * (b + 1) / (k + 2), variance * (a + 1) / (k + 2)
    return _Moments(
        variance,
        squared,
        variance * powers(1, 1)[0],
        squared * powers(2, 2)[2],
        not_p * low[0] - p * high[0],
        not_p * low[1] - p * high[1],
    )


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
