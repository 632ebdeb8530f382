"""Prior shift: adjust scores to a population where the classes are more or less frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Floats, Ints
from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate._estimators import check_is_fitted
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, warn

Shares = float | Sequence[float]
LARGEST_LOG_ODDS = 30.0  # larger differences of logits count as this in the test of calibration
SHARE_SUM_TOLERANCE = 1e-6  # the sum of shares may differ from 1 by this
MOST_INTERVALS = 20  # classes for which intervals are computed
STANDARD_ERRORS_OUTSIDE, FEWEST_TO_AVERAGE = 3.0, 10
SMALLEST_P_VALUE = 1e-4  # smaller ones are said to be below it
GAP_LEVEL, SMALLEST_GAP = 0.01, 0.05  # p-value of the test of calibration, and change of log-odds, from which it warns


@final
@recalibrator(
    alias="prior_shift",
    ranking="weak",
    identity=True,
    fewest=1,
    simplicity=1,
    reference="Elkan (2001); Saerens, Latinne & Decaestecker (2002)",
)
class PriorShift(MatrixRecalibrator):
    """Prior shift: p'_k = p_k t_k / s_k, divided by the sum of the row, for old and new class shares s and t.

    The source s holds the shares in the population where the scores are calibrated, the target t those in the
    population where they will be used. The odds of one event are multiplied by (t1 / t0) / (s1 / s0). This is right if
    each class looks the same in both populations and only the shares differ.

    Labels are used to estimate s alone. If t is not known, `adapt` estimates it from scores of the new population,
    without labels. Until then t = s, and nothing changes. The ranking of one event's scores is preserved (a target of 0
    or 1 makes them all equal); the most probable of several classes may change.

    A class with target 0 gets probability 0. A class with source 0, because it does not occur in y, is an error: pass
    `source`. Probabilities are clipped to at least 1e-12; logits are exact in the tails.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    target : float or sequence of shape (K,), optional
        The shares of the classes in the order of the columns; for one event its share is enough.
    source : float or sequence of shape (K,), optional
        Likewise; by default the weighted shares of y.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    source_, target_ : ndarray of shape (K,)
        The class shares s and t.
    target_interval_ : ndarray of shape (K, 2), or None
        After `adapt`: the interval of each share; None before, and for more than 20 classes. It is not saved.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI.
    Saerens, Latinne & Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities,
    Neural Computation 14.

    Examples
    --------
    A test developed where half of the people were ill, used where 1 % are:

    >>> half = [0, 1] * 10
    >>> PriorShift(target=0.01).fit([0.2, 0.9] * 10, half).transform([0.2, 0.5, 0.9]).round(4)
    array([0.0025, 0.01  , 0.0833])

    Where that share is not known:

    >>> new_place = [0.2] * 800 + [0.9] * 200
    >>> PriorShift().fit([0.2, 0.9] * 10, half).adapt(new_place).target_.round(4)
    array([0.8325, 0.1675])
    """

    _gap: str = ""  # how the scores that were fitted are miscalibrated, in words
    _averages: _Averages | None = None
    _source_rows: float = 0.0  # rows that the source was estimated from; 0 where it was given
    target_interval_: Float64s | None

    fields: ClassVar[dict[str, Field]] = {"source": Vector(0, 1, fewest=2), "target": Vector(0, 1, fewest=2)}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        target: Shares | None = None,
        source: Shares | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.target = target
        self.source = source
        self.classes = classes

    @property
    def source_(self) -> Float64s:
        return self._shares("source")

    @property
    def target_(self) -> Float64s:
        return self._shares("target")

    def adapt(self, X: Any, sample_weight: Any = None, *, level: float = 0.95) -> Self:
        """Estimate the target from scores of the new population; no labels are needed.

        The log-likelihood of shares t is l(t) = sum_i w_i log(sum_k t_k p_ik / s_k). Its maximum, the fixed point of
        the EM algorithm of Saerens et al., often gives a rare class the share 0, and so probability 0 in every row. The
        target is therefore the maximum of

            l(t) + sum_k log(tau_k) / 2,  tau_k = (t_k / s_k) / sum_j (t_j / s_j),

        as if half a row of each class had been seen in a source with equal shares. It is inside for any scores. If the
        source has equal shares and no score is uncertain, it is (m_k + 1/2) / (n + K/2) for m_k rows of class k, the
        estimate of Jeffreys' prior for counts. With many rows it is the EM algorithm's. Scores without information
        leave the shares of the source; where scores do not distinguish two classes, this is one of several maxima.

        `target_interval_` holds the shares of each class that lower the largest l by at most half the quantile of
        chi-squared with one degree of freedom, the other shares being the most likely ones (profile likelihood); with
        weights, n rows count as (sum w)^2 / sum w^2. If the source was estimated from y, the quantile is multiplied by
        the ratio of the variances of a share with and without the sampling error of the source, the larger one of those
        at the target and at the end without this factor. It assumes that scores
        are calibrated in the source population and that only shares differ. It may begin at 0.

        What the rows that were fitted tell about this causes a `LimitWarning`: if their scores are not calibrated for
        their labels, apart from the shares (a score test of slope and intercepts at 1 %, with a first estimate of the
        change above 0.05), and if the average new score of a class is beyond its averages by label, of which it must be
        a mixture, by more than three standard errors (with at least ten rows of each class, and ten new ones). No
        warning is no proof.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, K)
            Scores on the scale of the fit. They must be calibrated in the source population: recalibrate them first if
            they are not.
        sample_weight : array-like of shape (n,), optional
            Importance weights; for the target they count rows.
        level : float
            Confidence level of `target_interval_`.

        Returns
        -------
        self
        """
        level = _check.level(level)
        scores = self._scores_to_map(X)
        weights = np.ones(len(scores)) if sample_weight is None else _check.weights(sample_weight, len(scores))
        if not weights.all():
            rows = np.flatnonzero(weights)
            scores, weights = scores.take(rows), weights[rows]
        source = self.source_
        density = _kernels.softmax(scores.logit_matrix() - np.log(source))
        most_likely, found = _kernels.mixture_shares(density, weights, source)
        if not found:
            warn(
                "the likelihood of the shares is too flat to find its maximum: the last step was used",
                LimitWarning,
            )
        if self._gap:
            warn(
                f"the scores that were fitted are not calibrated ({self._gap}), and the error carries over to the "
                "estimated shares: recalibrate them first, on rows of the source population",
                LimitWarning,
            )
        beyond = self._averages and self._averages.outside(_kernels.softmax(scores.logit_matrix()), weights)
        if beyond:
            k, mean, low, high = beyond
            warn(
                f"the scores of class {self.classes_.tolist()[k]!r} are {mean:.3g} on average, but {low:.3g} to "
                f"{high:.3g} by label in the rows that were fitted: no shares explain that, so more than the shares "
                "has changed",
                LimitWarning,
            )
        target = _kernels.inner_shares(density, weights, source, most_likely)
        self.maps_ = ({"source": source, "target": target},)
        self.target_interval_ = None
        if len(source) <= MOST_INTERVALS:
            self.target_interval_ = np.array(
                [self._interval(density, weights, most_likely, target, k, level) for k in range(len(source))]
            )
        return self

    def _interval(
        self, density: Float64s, weights: Float64s, most_likely: Float64s, target: Float64s, k: int, level: float
    ) -> tuple[float, float]:
        """Return the interval of the share of class k; with an estimated source, wider on each side."""
        deviance = _deviance(level)
        ends = _kernels.share_interval(density, weights, most_likely, k, (deviance, deviance))
        if not self._source_rows:
            return ends

        def wider(end: float) -> float:
            there = target * (1 - end) / (1 - target[k])
            there[k] = end
            factors = (
                _kernels.source_inflation(density, weights, self.source_, shares, self._source_rows)[k]
                for shares in (target, there)
            )
            return deviance * float(max(factors))

        return _kernels.share_interval(density, weights, most_likely, k, (wider(ends[0]), wider(ends[1])))

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("source", "target"):
            if getattr(self, name) is not None:
                _checked(getattr(self, name), name)

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        n_classes = logits.shape[1]
        if self.source is None:
            counts = np.bincount(labels, weights, minlength=n_classes)
            if not counts.all():
                raise InputError(
                    f"class {counts.argmin()} does not occur in y, so its share in the source population is unknown: "
                    "pass source=[...], one share per class"
                )
            source = counts / counts.sum()
            self._source_rows = (
                float(len(labels)) if weights is None else float(weights.sum() ** 2 / (weights @ weights))
            )
        else:
            self._source_rows = 0.0
            source = _per_class(self.source, n_classes, "source")
        self._gap = _calibration_gap(logits, labels, weights, source)
        self._averages = _Averages.of(logits, labels, weights)
        self.target_interval_ = None
        target = source if self.target is None else _per_class(self.target, n_classes, "target")
        return {"source": source, "target": target}

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        source, target = fitted["source"], fitted["target"]
        here = target > 0
        ratio = np.full(len(target), -np.inf)
        ratio[here] = np.log(target[here]) - np.log(source[here])
        return _kernels.softmax(logits + ratio)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        for name in ("source", "target"):
            if len(fitted[name]) != n_classes or abs(fitted[name].sum() - 1) > SHARE_SUM_TOLERANCE:
                raise SchemaError(f"the saved {name} must hold {n_classes} shares that sum to 1")
        if not fitted["source"].all():
            raise SchemaError("the saved source must be above 0")

    def _shares(self, name: str) -> Float64s:
        check_is_fitted(self, "maps_")
        (fitted,) = self.maps_
        assert fitted is not None
        return np.array(fitted[name])


def _deviance(level: float) -> float:
    from scipy.special import chdtri

    return float(chdtri(1, 1 - level))


class _Averages(NamedTuple):
    """Average probabilities of each class (columns) by label (rows), and the squares of their standard errors."""

    mean: Float64s
    variance: Float64s

    @classmethod
    def of(cls, logits: Floats, labels: Ints, weights: Float64s | None) -> _Averages | None:
        """Return those of the rows that were fitted; None if a class has too few."""
        n_classes = logits.shape[1]
        if np.bincount(labels, minlength=n_classes).min() < FEWEST_TO_AVERAGE:
            return None
        p = _kernels.softmax(logits)
        parts = [_average(p[labels == k], None if weights is None else weights[labels == k]) for k in range(n_classes)]
        return cls(np.array([mean for mean, _ in parts]), np.array([variance for _, variance in parts]))

    def outside(self, p: Float64s, weights: Float64s) -> tuple[int, float, float, float] | None:
        """Return a class whose new average no shares explain, that average, and the range by label; or None."""
        if len(p) < FEWEST_TO_AVERAGE:
            return None
        mean, variance = _average(p, weights)
        low, high = self.mean.argmin(axis=0), self.mean.argmax(axis=0)
        for k in reversed(range(len(mean))):  # of one event, the second class
            first, last = low[k], high[k]
            ends = self.mean[[first, last], k]
            room = STANDARD_ERRORS_OUTSIDE * np.sqrt(variance[k] + self.variance[[first, last], k])
            if not ends[0] - room[0] <= mean[k] <= ends[1] + room[1]:
                return k, float(mean[k]), float(ends[0]), float(ends[1])
        return None


def _average(p: Float64s, weights: Float64s | None) -> tuple[Float64s, Float64s]:
    """Return the average of each column and the square of its standard error."""
    w = np.full(len(p), 1 / len(p)) if weights is None else weights / weights.sum()
    mean = w @ p
    return mean, np.asarray(w**2 @ (p - mean) ** 2)


def _calibration_gap(logits: Floats, labels: Ints, weights: Float64s | None, source: Float64s) -> str:
    """Return how scores are miscalibrated for their labels, moved to the shares of the labels; "" if they are not.

    This is a score test: at log-odds z and probabilities p, the sums of w (z_label - sum_k p_k z_k) and of
    w (1[label = k] - p_k) have mean 0 and known covariances, and one step from there estimates slope and intercepts.
    """
    from scipy.special import chdtrc

    w = np.ones(len(labels)) if weights is None else weights
    shares = np.bincount(labels, w, minlength=len(source)) / w.sum()
    if not shares.all():
        return ""
    with np.errstate(over="ignore"):  # differences of huge logits are limited in any case
        z = np.clip(logits.astype(np.float64) - logits.max(axis=1, keepdims=True), -LARGEST_LOG_ODDS, 0)
    z += np.log(shares / source)
    p = _kernels.softmax(z)
    middle = np.einsum("ik,ik->i", p, z)
    away = z - middle[:, None]
    own = np.zeros_like(p)
    own[np.arange(len(labels)), labels] = 1
    left = np.column_stack([away[np.arange(len(labels)), labels], (own - p)[:, 1:]])
    slope = w @ left
    information, variance = (_score_covariance(p, away, each) for each in (w, w**2))
    statistic = float(slope @ np.linalg.pinv(variance, rcond=1e-10, hermitian=True) @ slope)
    p_value = float(chdtrc(len(source), statistic))
    change = np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ slope
    if p_value > GAP_LEVEL or np.abs(change).max() < SMALLEST_GAP:
        return ""
    kind = "off on average" if abs(change[0]) < SMALLEST_GAP else "too extreme" if change[0] < 0 else "too even"
    return f"they are {kind}, p {f'= {p_value:.1g}' if p_value >= SMALLEST_P_VALUE else f'< {SMALLEST_P_VALUE:g}'}"


def _score_covariance(p: Float64s, away: Float64s, w: Float64s) -> Float64s:
    """Return the weighted sum of the rows' covariances of z_label and of 1[label = k] for k > 0, labels from p."""
    weighted = p * w[:, None]
    result = np.empty((p.shape[1], p.shape[1]))
    result[0, 0] = np.vdot(weighted * away, away)
    result[0, 1:] = result[1:, 0] = np.einsum("ik,ik->k", weighted, away)[1:]
    result[1:, 1:] = np.diag(weighted.sum(axis=0)[1:]) - weighted[:, 1:].T @ p[:, 1:]
    return result


def _checked(value: Any, name: str) -> Float64s:
    """Return the shares of two or more classes, given all of them or that of one event."""
    if np.ndim(value) == 0:
        share = _check.number(value, name, 0, 1)
        shares = np.array([1 - share, share])
    else:
        shares = np.array([_check.number(one, name, 0, 1) for one in value])
        if abs(shares.sum() - 1) > SHARE_SUM_TOLERANCE:
            raise InputError(
                "{argument} must be shares that sum to 1, got a sum of {got:.8g}", argument=name, got=shares.sum()
            )
    if name == "source" and not shares.all():
        raise InputError(
            "{argument} must be above 0 for every class, got {got!r}",
            argument="source",
            got=value,
        )
    return np.asarray(shares / shares.sum())


def _per_class(value: Any, n_classes: int, name: str) -> Float64s:
    shares = _checked(value, name)
    if len(shares) != n_classes:
        given = "the share of one event" if np.ndim(value) == 0 else f"{len(shares)}"
        raise InputError(
            "{argument} must be {n_classes} shares, one per class, got {got}",
            argument=name,
            n_classes=n_classes,
            got=given,
        )
    return shares
