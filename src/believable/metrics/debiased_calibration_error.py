"""Debiased squared calibration error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from believable import _check
from believable._types import Bins, Float64s, Norm, Notion, Strategy
from believable.errors import InputError, UndefinedError
from believable.metrics.binned_error import check_norm
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import QUANTILE, TEN, BinsAsked, Source, as_number, count_asked, not_empty, source_of

Variance = Literal["residual", "label"]
_erf = np.vectorize(math.erf, otypes=[np.float64])
TWO_BUT_FOR_ROUNDING = 2 - 1e-9  # rounding may push the effective size of equal weights below a whole number


@dataclass(frozen=True, slots=True)
class DebiasedError:
    """A calibration error with the part due to sampling noise subtracted.

    Attributes
    ----------
    signed : float
        The estimate of the mean absolute or squared gap; negative if the gaps are smaller than sampling noise explains.
    value : float
        Its positive part; for squared gaps, the square root of that.
    n_cells, n_skipped : int
        Number of non-empty bins, and of those among them with fewer than two rows, which contribute nothing.
    norm : {1, 2}
        Whether gaps are absolute (1) or squared (2).
    """

    signed: float
    value: float
    n_cells: int
    n_skipped: int
    norm: int = 2

    @property
    def squared(self) -> float:
        """The estimate of the mean squared gap, which may be negative."""
        if self.norm != 2:
            raise UndefinedError("the debiased error of absolute gaps is not squared: read `signed`")
        return self.signed

    def __float__(self) -> float:
        return self.value


def _bins_with_squares(
    source: Source,
    n_bins: Bins = TEN,
    strategy: Strategy = QUANTILE,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    edges: Any = None,
) -> BinStats:
    asked = BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges)
    return not_empty(count_asked(source, asked, squares=True))


def _less_noise(stats: BinStats, variance: Variance = "residual", norm: Norm = 2) -> DebiasedError:
    power = check_norm(norm)
    n = stats.effective_n
    enough = n >= TWO_BUT_FOR_ROUNDING
    mean_square = (stats.wpp - 2 * stats.wpy + stats.wy) / stats.w
    spread = mean_square - stats.gap**2 if variance == "residual" else stats.acc * (1 - stats.acc)
    noise = np.maximum(spread, 0) / np.where(enough, n - 1, 1)
    share = stats.w / stats.w.sum(axis=-1, keepdims=True)
    less = stats.gap**2 - noise if power == 2 else 2 * np.abs(stats.gap) - _mean_size(stats.gap, noise)
    signed = np.sum(share * np.where(enough, less, 0), axis=-1)
    positive = np.maximum(signed, 0.0)
    value = as_number(np.sqrt(positive) if power == 2 else positive)
    return DebiasedError(as_number(signed), value, n.shape[-1], int(np.count_nonzero(~enough)), 1 if power == 1 else 2)


def _mean_size(gap: Float64s, variance: Float64s) -> Float64s:
    """Return E|X| for X normal around the gap: sd sqrt(2 / pi) exp(-z^2 / 2) + |gap| erf(z / sqrt 2), z = gap / sd."""
    deviation = np.sqrt(variance)
    z = np.divide(np.abs(gap), deviation, out=np.full(gap.shape, np.inf), where=deviation > 0)
    tail = deviation * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2)
    return np.asarray(tail + np.abs(gap) * _erf(z / math.sqrt(2)))


@metric(
    alias="dce",
    counts=_bins_with_squares,
    says=_less_noise,
    needs="bins",
    bins="quantile",
    of="confidence",
    repeats=False,
    target="expected_calibration_error",
    reference="Bröcker 2012; Ferro and Fricker 2012; Kumar et al. 2019",
    elsewhere={
        "uncertainty-calibration": (
            "`get_calibration_error`: class-wise and 15 bins by default, with edges halfway between scores (one bin per"
            ' distinct score, if fewer than n/4 are distinct); the variance is that of the labels (`variance="label"`)'
        ),
        "calibre": '`debiased_calibration_error`: for one event, the same bins, 15 by default, with `variance="label"`',
    },
)
def debiased_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = QUANTILE,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    variance: Variance = "residual",
    norm: Norm = 2,
    sample_weight: Any = None,
    edges: Any = None,
) -> DebiasedError:
    r"""Root of the squared calibration error after subtracting the part due to sampling noise.

    .. math:: \sum_c \frac{W_c}{T} \left[ (\mathrm{acc}_c - \mathrm{conf}_c)^2 - \frac{v_c}{n_c} \right]

    with v_c the sample variance of the residuals y - p and n_c the number of rows in bin c, and the other symbols as in
    `expected_calibration_error`. For a perfectly calibrated model, the sum without v_c / n_c is positive, but this
    estimate has mean zero. Its root, taken of the positive part, lies in [0, 1]; 0 is best.

    With `norm=1`, the mean absolute gap is corrected instead, as Kumar et al. do:

    .. math:: \sum_c \frac{W_c}{T} \left[ 2 |g_c| - E|N(g_c, v_c / n_c)| \right]

    with g_c = acc_c - conf_c. The expectation under the normal distribution is computed in closed form. The correction
    takes the noise that would be added to the observed gaps for the noise that was added to the true ones. It is
    therefore not free of bias: for a calibrated model and normal noise, a share of 2 - sqrt 2 (59 %) of the bias of the
    ECE remains.

    Parameters
    ----------
    variance : {"residual", "label"}
        "label" uses acc (1 - acc) / (n_c - 1) in place of v_c / n_c, as Kumar et al. do; this is exact only if the
        scores within each bin are equal.
    norm : {2, 1, "l2", "l1"}
        Whether gaps are squared or absolute. No other power has an unbiased estimate or an established correction, nor
        has the largest gap, so other norms raise an error; use `sweep_calibration_error`, which takes any norm, or the
        interval of `expected_calibration_error(..., norm=...)`, which allows for the bias.

    Notes
    -----
    The other parameters are those of `expected_calibration_error`, but bins of equal weight are the default. With
    weights, n_c is the effective size (sum w)^2 / sum w^2.

    References
    ----------
    Bröcker (2012), Climate Dynamics; Ferro, Fricker (2012), QJRMS; Kumar, Liang, Ma (2019), NeurIPS.

    Examples
    --------
    >>> result = debiased_calibration_error([0.2, 0.2, 0.8, 0.8], [1, 1, 0, 1], n_bins=2)
    >>> round(result.squared, 12), round(result.value, 12), result.n_skipped
    (0.24, 0.489897948557, 0)
    >>> round(debiased_calibration_error([0.2, 0.2, 0.8, 0.8], [1, 1, 0, 1], n_bins=2, norm=1).value, 4)
    0.4657
    """
    _check.choice(variance, get_args(Variance), "variance")
    if isinstance(norm, bool) or not np.isscalar(norm) or norm not in (1, 2, "l1", "l2"):
        raise InputError(
            "{argument} must be 1 or 2, got {got!r}: no other norm has an established correction; use "
            "sweep_calibration_error, or the interval of expected_calibration_error, for any norm",
            argument="norm",
            got=norm,
        )
    source = source_of(predictions, actuals, sample_weight)
    choices: dict[str, Any] = {"notion": notion, "r": r, "threshold": threshold, "pooled": pooled, "edges": edges}
    power: Any = norm
    return _less_noise(_bins_with_squares(source, n_bins, strategy, **choices), variance, power)
