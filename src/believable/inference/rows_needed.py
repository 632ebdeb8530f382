"""How precisely a planned number of rows would measure calibration, and how many rows a precision takes."""

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
BOTH_TAILS = -sum(NormalDist().inv_cdf(share * 0.025) for share in SHARES_OF_TAILS)  # 4.06: as `interval` cuts them
Z95 = NormalDist().inv_cdf(0.95)
Z95_SKEWED = (Z95**2 - 1) / 6  # what skewness adds to a quantile (Cornish and Fisher)
HALF_NORMAL_SKEWNESS = math.sqrt(2) * (4 - math.pi) / (math.pi - 2) ** 1.5
MAX_PLANNED_ROWS = 10**12
MIN_EVENTS = 15  # below which formulas are rough: see benchmarks/rows.py


@dataclass(frozen=True, slots=True)
class ExpectedPrecision:
    """What so many rows are expected to show.

    Attributes
    ----------
    n, n_bins : int
        Rows and bins (fewer than asked for, where the scores have ties and the bins are quantile bins).
    strategy : str
        "uniform" or "quantile".
    events : float
        Rows of the rarer outcome that are to be expected. With fewer than 15 of them everything here is rough.
    floor, floor_q95 : float
        The expected calibration error (ECE) that a perfect model shows by chance: its mean, and the value exceeded one
        time in twenty, which is 1 at most.
    width : float
        Width of the 95 % interval of the ECE of a model that is clearly off, 1 at most. Of a model that is nearly
        perfect the interval begins at 0 and is about a quarter narrower.
    slope_width, oe_width : float
        Widths of the 95 % intervals of the calibration slope, and of the ratio of observed to expected events, of a
        model that is right.
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
            f"a perfect model shows an ECE of {self.floor:.2g} by chance, up to {self.floor_q95:.2g} in 19 of 20 "
            "samples",
            f"95 % intervals are about this wide: ECE {self.width:.2g}, slope {self.slope_width:.2g}, "
            f"O:E {self.oe_width:.2g}",
        ]
        if self.events < MIN_EVENTS:
            lines.append(f"with only {self.events:.2g} rows of the rarer outcome to be expected, this is rough")
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
    r"""What n rows would show: the noise floor of the ECE, and how wide intervals would be.

    For planning, before there are outcomes; with outcomes ask `noise_floor` and `interval`. The scores are yours, or
    those of a typical model: calibrated, with a Beta(a, b) distribution that has the given base rate and AUC,

    .. math:: r = \frac{a}{k}, \quad \text{AUC} = \frac{1}{2} + \frac{B(k, k)}{k \, B(a, a) \, B(b, b) \, r (1 - r)},
       \quad k = a + b.

    All that counts is how much chance there is in each bin, :math:`s_m = E[p (1 - p); p \in m]`:

    .. math:: \text{floor} = \frac{1}{n} \sum_m g(n s_m), \quad g(x) = 2 x \left(1 + (2 \pi x)^{3/2}\right)^{-1/3},
       \quad \text{width} = 4.06 \sqrt{\textstyle\sum_m s_m / n}.

    g is exact where a bin expects hardly any rows (2x) and where it expects many (the mean size of a normal variable,
    :math:`\sqrt{2 x / \pi}`). The quantile of the floor allows for the variance and the skewness of its terms. The
    interval of the slope has the standard error :math:`1 / \sqrt{n J}`, where J is the mean of p (1 - p) times the
    squared distance of logit p from its mean so weighted (Riley et al. 2021); that of the logarithm of O:E has
    :math:`\sqrt{\sum_m s_m / n} / r`, as `observed_expected_ratio` has it.

    Parameters
    ----------
    n : int
        Independent rows. Rows that come in clusters or with weights count for less.
    n_bins, strategy
        As in `expected_calibration_error`.
    base_rate : float, optional
        Share of the rows in which it happens, 0.0001 to 0.9999; 0.5 unless given.
    auc : float, optional
        How well the model tells cases from others, 0.51 to 0.999; 0.8 unless given. It says how far the scores spread.
    scores : array-like of shape (n_scores,), optional
        Scores of your own, as many as there are, in place of a base rate and an AUC. They are taken at their word:
        those of an over-confident model say that less is left to chance than is. Of a matrix, take the confidence
        `scores.max(axis=1)`, or the column of a class.

    Returns
    -------
    ExpectedPrecision

    Notes
    -----
    `python -m benchmarks.rows` compares with simulations: 66 plans of 300 to 15,000 rows. Where 15 events or more were
    expected, floors came within 3 % of what `noise_floor` drew, the width within 11 % of the mean of `interval` for an
    over-confident model, the widths of slope and O:E within 10 and 3 %. Of a perfect model the interval of the ECE was
    0.6 to 0.9 times as wide. With fewer events the width is too narrow, in these plans by up to a fifth, and where
    hardly one event is to be expected many times so; that of the slope is far off. `rows_needed` does not go there.

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
    """How many rows a noise floor, or an interval as narrow as this, takes.

    And at least so many that 15 rows of the rarer outcome are to be expected: with fewer a width is no promise.
    (Of 42 rows with a base rate of 0.001 the formula says that the ECE has an interval 0.02 wide. Most such samples
    have no event at all, and their intervals are four times as wide.)

    Parameters
    ----------
    floor, width, slope_width, oe_width : float, optional
        At most this, each that is given; see `ExpectedPrecision` for what they are.
    n_bins, strategy, base_rate, auc, scores
        As in `expected_precision`.

    Returns
    -------
    ExpectedPrecision
        Of the smallest number of rows that will do: its `n`. What was asked for may then be had with room to spare.

    Examples
    --------
    >>> rows_needed(width=0.02, base_rate=0.2).n
    5286
    """
    wishes = {"floor": floor, "width": width, "slope_width": slope_width, "oe_width": oe_width}
    given = {name: _check.number(value, name, 0) for name, value in wishes.items() if value is not None}
    if not given:
        raise InputError("say what the rows are for: floor=0.01, width=0.02, slope_width=0.2 or oe_width=0.2")
    if zero := [name for name, value in given.items() if value == 0]:
        raise InputError(
            "{argument} must be larger than 0: no number of rows leaves nothing to chance", argument=zero[0]
        )
    population = _population(n_bins, strategy, base_rate, auc, scores)

    def will_do(n: int) -> bool:
        found = population.at(n)
        return found.events >= MIN_EVENTS and all(getattr(found, name) <= value for name, value in given.items())

    if not will_do(MAX_PLANNED_ROWS):
        wish = ", ".join(f"{name}={value:g}" for name, value in given.items())
        raise InputError(f"{wish} would take more than {MAX_PLANNED_ROWS:.0e} rows, or cannot be had with such scores")
    least, enough = 0, MAX_PLANNED_ROWS
    while enough - least > 1:
        middle = (least + enough) // 2
        least, enough = (least, middle) if will_do(middle) else (middle, enough)
    return population.at(enough)


@dataclass(frozen=True, slots=True, eq=False)
class _Population:
    """Calibrated scores, as far as precision depends on them.

    Attributes
    ----------
    chance : ndarray
        By bin, the mean over all rows of p (1 - p) where p is in the bin.
    base_rate : float
    information : float
        What one row says about the slope: the sum over rows of p (1 - p) (logit p - its mean)^2, each row's share.
    """

    n_bins: int
    strategy: str
    chance: Float64s
    base_rate: float
    information: float

    def at(self, n: int) -> ExpectedPrecision:
        """What n rows show."""
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
        raise InputError("give scores, or base_rate and auc: the scores say by themselves how they spread")
    return _counted(n_bins, strategy, scores)


def _counted(n_bins: int, strategy: Strategy, scores: Any) -> _Population:
    """Of scores of one's own."""
    if isinstance(scores, Predictions):
        raise InputError(
            "{argument} must be an array: pass predictions.scores; a plan needs no outcomes", argument="scores"
        )
    known = Predictions(scores, np.zeros(np.shape(scores)[:1], np.int64))
    if known.kind != "binary":
        raise InputError(
            "{argument} must be 1-D: take the confidence scores.max(axis=1), or the column of a class",
            argument="scores",
        )
    if np.all((known.scores == 0) | (known.scores == 1)):
        raise InputError(
            "{argument} are all 0 or 1, which leaves nothing to chance: pass probabilities (are these "
            "outcomes?), or base_rate and auc",
            argument="scores",
        )
    cells = BinCells.of(BinStats.of(known, n_bins=n_bins, strategy=strategy))
    chance = cells.w / cells.w.sum() * cells.variance(cells.conf)
    p = known.scores.astype(np.float64)
    p = p[(p > 0) & (p < 1)]  # a certain score has no weight
    weight, logit = p * (1 - p), np.log(p) - np.log1p(-p)
    centre = float(weight @ logit) / max(float(weight.sum()), 1e-300)
    information = float(weight @ (logit - centre) ** 2) / len(known)
    information = information if p.size and np.ptp(p) > 0 else 0.0  # one score alone has no slope
    merged = len(chance) if strategy == "quantile" else n_bins  # ties merge quantile bins; empty ones are bins too
    return _Population(merged, strategy, chance, float(known.scores.mean(dtype=np.float64)), information)


def _typical(n_bins: int, strategy: Strategy, rate: float, auc: float) -> _Population:
    """Of Beta distributed scores; p (1 - p) times their density is that of Beta(a + 1, b + 1), but for a factor."""
    from scipy.special import betainc, betaincinv, polygamma

    k = _concentration(rate, auc)
    a, b = rate * k, (1 - rate) * k
    share = np.arange(n_bins + 1) / n_bins
    edges = share if strategy == "uniform" else betaincinv(a, b, share)
    chance = a * b / (k * (k + 1)) * np.diff(betainc(a + 1, b + 1, edges))
    information = float(a * b / (k * (k + 1)) * (polygamma(1, a + 1) + polygamma(1, b + 1)))
    return _Population(n_bins, strategy, chance, rate, information)


def _concentration(rate: float, auc: float) -> float:
    """The a + b with which calibrated Beta(a, b) scores have this AUC."""
    from scipy.optimize import brentq
    from scipy.special import betaln

    def above(log_k: float) -> float:
        k = math.exp(log_k)
        a, b = rate * k, (1 - rate) * k
        half_gini = math.exp(betaln(k, k) - betaln(a, a) - betaln(b, b)) / (k * rate * (1 - rate))
        return 0.5 + half_gini - auc

    return math.exp(brentq(above, -25, 25, xtol=1e-13))
