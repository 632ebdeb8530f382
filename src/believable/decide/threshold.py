"""The lowest threshold with a guaranteed precision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check
from believable._check import renamed
from believable._types import Float64s, Int64s, Ints, Notion
from believable.decide.precision import Kept, chance_of_as_many, lower_bound, rows_at_least, rows_needed_for_precision
from believable.errors import InputError
from believable.inference.clusters import cluster_of_rows
from believable.predictions import as_predictions

MAX_CUTS_OF_CURVE = 1000  # enough for a plot


@dataclass(frozen=True, slots=True, eq=False)
class CutCurve:
    """The rows kept at each threshold, highest first: every distinct score, or about 1,000 spread evenly over the rows.

    Attributes
    ----------
    cut : ndarray
        The thresholds.
    n : ndarray
        The number of rows with a score of at least the threshold.
    share, precision, recall : ndarray
        Share of the weight that is kept; share of positives among the kept; share of the positives that is kept.
    lower : ndarray
        Lower bound of the precision at each threshold, considered alone.
    """

    cut: Float64s
    n: Int64s
    share: Float64s
    precision: Float64s
    lower: Float64s
    recall: Float64s


@dataclass(frozen=True, slots=True, eq=False)
class Threshold:
    """A threshold with a guaranteed precision: use the rows with `score >= cut`.

    Attributes
    ----------
    cut : float
        The threshold; infinite where no threshold has the guarantee, so that no row is kept.
    target, confidence : float
        The precision and the confidence that were requested.
    precision : float
        Share of positives among the kept rows (by weight); NaN where no row is kept.
    lower : float
        The one-sided Clopper–Pearson bound at this threshold, which had to reach the target. What is guaranteed is the
        target.
    share, n_kept : float, int
        The share of the weight that is kept, and the number of rows.
    recall : float
        The share of the positives that is kept.
    n : int
        The number of all rows.
    least : int
        The number of rows that must be kept to guarantee the target, if there is no mistake among them.
    start : int
        The number of rows kept by the threshold that was tested first; 0 if there are too few to test any.
    notion : str
        The kind of score: "binary", "confidence" (also for (confidence, correct) pairs), …
    curve : CutCurve
        The rows kept at every threshold.
    """

    cut: float
    target: float
    confidence: float
    precision: float
    lower: float
    share: float
    n_kept: int
    recall: float
    n: int
    least: int
    start: int
    notion: str
    curve: CutCurve

    @property
    def is_found(self) -> bool:
        """Whether a threshold with the guarantee was found."""
        return self.cut < math.inf

    def lines(self) -> list[str]:
        """Return the answer, sentence by sentence."""
        what, score, right = _names_of_shares(self.notion)
        article = "an" if what == "accuracy" else "a"
        promise = f"{article} {what} of at least {self.target:g} with {100 * self.confidence:.4g} % confidence"
        if self.is_found:
            return [
                f"Keep rows with a {score} of at least {self.cut:.6g}: this guarantees {promise}.",
                f"It keeps {self.n_kept:,} of {self.n:,} rows ({100 * self.share:.3g} %), with {what} "
                f"{self.precision:.4f} (lower bound {self.lower:.4f}), and {100 * self.recall:.3g} % of {right}.",
            ]
        first = f"No threshold guarantees {promise}."
        if not self.start:
            few = f"Even without a mistake this takes {self.least:,} rows above the threshold; there are too few."
            return [first, few]
        at = int(np.searchsorted(self.curve.n, self.start))
        found, lower = self.curve.precision[at], self.curve.lower[at]
        lines = [
            first,
            f"The first threshold tested keeps the {self.start:,} rows with the highest scores; their {what} is "
            f"{found:.4f} (lower bound {lower:.4f}).",
        ]
        needed = rows_needed_for_precision(found, self.target, self.confidence)
        if needed is not None:
            lines.append(f"At that {what}, about {needed:,} rows above the threshold would be needed.")
        return lines

    def __str__(self) -> str:
        return " ".join(self.lines())

    __repr__ = __str__


@renamed(groups="clusters")
def threshold_for(
    predictions: Any,
    actuals: Any = None,
    *,
    precision: float = 0.9,
    confidence: float = 0.95,
    notion: Notion | None = None,
    r: int | None = None,
    clusters: Any = None,
    sample_weight: Any = None,
) -> Threshold:
    """Find the lowest threshold at which the rows with a score of at least that have a guaranteed precision.

    The guarantee: if this is repeated with new data each time, the true precision of rows with `score >= cut` is below
    the target at most a share 1 - confidence of the time. It holds although the threshold is chosen on the same rows.
    Thresholds are tested from the highest score downwards, each by the exact one-sided Clopper–Pearson bound at level
    `confidence`, until one fails, and the last that passed is used (a fixed sequence of tests needs no correction for
    their number). A threshold never separates equal scores. The scores need not be calibrated, but new rows must be
    like these.

    The first test is at a number of rows that does not depend on the outcomes. With m the fewest rows that could pass
    (29 for 0.9 and 0.95), it is the fewest that could pass with floor(sqrt(n / m)) - 1 mistakes among them. So one
    mistake at the top does not end the search.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions`. For a matrix the score is the confidence in the predicted class and precision the
        accuracy of the rows kept. For the rows *below* a threshold, pass 1 - p and 1 - y.
    precision : float
        The target, strictly between 0 and 1.
    confidence : float
        The confidence of the guarantee, strictly between 0 and 1.
    notion, r : optional
        As in `expected_calibration_error`; only notions that do not separate classes or ranks.
    clusters : array-like of shape (n,), optional
        The cluster (patient, query) of each row.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Threshold
        Its `cut` is infinite where there is no guarantee.

    Notes
    -----
    Rows are assumed to be independent given their scores. The guarantee is exact for the expected precision of the rows
    that are kept. It is exact for the precision of new rows if that does not rise again as the threshold is lowered
    past the first test; where it does, the guarantee still held in simulations: the target was missed
    in at most 4 % of 1,000 data sets (`python -m benchmarks.figures threshold`).

    With weights or clusters the count above a threshold is not binomial. Then the bound uses the effective number of
    rows, p (1 - p) / V for the variance V of their precision between clusters, with one cluster of typical size added
    that is wrong throughout, and at most (sum w)^2 / sum w^2. This is an approximation. Clusters without a mistake
    count as one row each. Soft labels count as rates of as many rows, which is conservative.

    References
    ----------
    Clopper, Pearson (1934), Biometrika. Angelopoulos, Bates, Candès, Jordan, Lei (2021), Learn then Test. Korn,
    Graubard (1998), Survey Methodology, for Clopper–Pearson with effective rows.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.001, 0.999, 999)
    >>> y = np.random.default_rng(0).random(999) < p
    >>> found = threshold_for(p, y, precision=0.8)
    >>> print(found)
    Keep rows with a score of at least 0.7: this guarantees a precision of at least 0.8 with 95 % confidence. It keeps
    300 of 999 rows (30 %), with precision 0.8400 (lower bound 0.8010), and 52.2 % of the positives.
    >>> print(threshold_for(p[-20:], y[-20:]))
    No threshold guarantees a precision of at least 0.9 with 95 % confidence. Even without a mistake this takes 29 rows
    above the threshold; there are too few.
    """
    target = _check.level(precision, "precision")
    confidence = _check.level(confidence, "confidence")
    source = as_predictions(predictions, actuals, sample_weight)
    view = source.view(notion, r=r)
    if view.n_strata > 1:
        raise InputError(
            "{notion=} has {n_strata} sets of scores, each with its own threshold: pass the column of one class and "
            "whether that class occurred",
            notion=view.notion,
            argument="notion",
            n_strata=view.n_strata,
        )
    cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
    score, outcome, weight, *_ = source.all_pairs(view)
    kept = Kept.of(score, outcome, weight, cluster)
    least = rows_at_least(0, target, confidence)
    first = _first_test(kept, least, target, confidence)
    chosen = None if first is None else _last_passed(kept, first, target, confidence)
    curve = _curve(kept, confidence, [at for at in (first, chosen) if at is not None])
    at = -1 if chosen is None else int(np.searchsorted(curve.n, kept.n[chosen]))
    nothing = math.nan
    return Threshold(
        cut=math.inf if chosen is None else float(curve.cut[at]),
        target=target,
        confidence=confidence,
        precision=nothing if chosen is None else float(curve.precision[at]),
        lower=nothing if chosen is None else float(curve.lower[at]),
        share=0.0 if chosen is None else float(curve.share[at]),
        n_kept=0 if chosen is None else int(curve.n[at]),
        recall=0.0 if chosen is None else float(curve.recall[at]),
        n=len(score),
        least=least,
        start=0 if first is None else int(kept.n[first]),
        notion=view.about,
        curve=curve,
    )


def _first_test(kept: Kept, least: int, target: float, confidence: float) -> int | None:
    """Return which threshold is tested first; None if even rows without a mistake would be too few."""
    mistakes = max(math.isqrt(int(kept.independent[-1] / least)) - 1, 0)
    enough = kept.independent >= rows_at_least(mistakes, target, confidence) - 1e-9
    return int(np.argmax(enough)) if enough.any() else None


def _last_passed(kept: Kept, first: int, target: float, confidence: float) -> int | None:
    """Return the last threshold that passes, going down from the first; None if the first one fails."""
    effective, rate = kept.effective[first:], kept.rate[first:]
    passed = chance_of_as_many(effective * rate, effective, target) <= 1 - confidence
    n_passed = len(passed) if passed.all() else int(np.argmin(passed))
    return first + n_passed - 1 if n_passed else None


def _curve(kept: Kept, confidence: float, also: list[int]) -> CutCurve:
    at: Ints = np.arange(len(kept.cut))
    if len(at) > MAX_CUTS_OF_CURVE:
        evenly = np.searchsorted(kept.n, np.linspace(kept.n[0], kept.n[-1], MAX_CUTS_OF_CURVE))
        at = np.union1d(evenly, np.array(also, np.intp))
    rate = kept.rate[at]
    positives = kept.wy[-1]
    return CutCurve(
        cut=kept.cut[at],
        n=kept.n[at],
        share=np.minimum(kept.w[at] / kept.w[-1], 1),
        precision=rate,
        lower=lower_bound(rate, kept.effective[at], confidence),
        recall=np.minimum(kept.wy[at] / positives, 1) if positives > 0 else np.full(len(at), math.nan),
    )


def _names_of_shares(notion: str) -> tuple[str, str, str]:
    """Return the names of the guaranteed share, of the score, and of what the recall counts."""
    if notion == "confidence":
        return "accuracy", "confidence", "the correct answers"
    return "precision", "score", "the positives"
