"""The smallest cut whose precision can be promised."""

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

MAX_CUTS_OF_CURVE = 1000  # which are kept for a picture


@dataclass(frozen=True, slots=True, eq=False)
class CutCurve:
    """What cuts keep, the highest first: every distinct score, or some 1,000 of them spread evenly over the rows.

    Attributes
    ----------
    cut : ndarray
    n : ndarray
        Rows with a score of at least the cut.
    share, precision, recall : ndarray
        Share of the weight kept; share of that which happened; share kept of what happened.
    lower : ndarray
        Lower bound of the precision at each cut taken by itself.
    """

    cut: Float64s
    n: Int64s
    share: Float64s
    precision: Float64s
    lower: Float64s
    recall: Float64s


@dataclass(frozen=True, slots=True, eq=False)
class Threshold:
    """A cut with a promised precision: use the rows with `score >= cut`.

    Attributes
    ----------
    cut : float
        Infinite where no cut can be promised: then nothing is kept.
    target, confidence : float
        What was asked for.
    precision : float
        Share of the kept rows (of their weight) that happened; NaN where nothing is kept.
    lower : float
        The bound that had to reach the target: one-sided Clopper–Pearson at this cut. The promise is the target.
    share, n_kept : float, int
        What is kept: share of the weight, and rows.
    recall : float
        Share kept of what happened.
    n : int
        All rows.
    least : int
        Without a single mistake, so many rows must be kept to promise the target.
    start : int
        The rows kept by the cut that was tested first; 0 if there are too few to test any.
    notion : str
        Which scores these are: "binary", "confidence", …
    curve : CutCurve
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
        """Whether there is a cut."""
        return self.cut < math.inf

    def lines(self) -> list[str]:
        """The answer, sentence by sentence."""
        what, score, right = _names_of_shares(self.notion)
        promise = f"{what} of at least {self.target:g} with {100 * self.confidence:.4g} % confidence"
        if self.is_found:
            return [
                f"Keep rows with a {score} of at least {self.cut:.6g}: {promise}.",
                f"It keeps {self.n_kept:,} of {self.n:,} rows ({100 * self.share:.3g} %), with {what} "
                f"{self.precision:.4f} (lower bound {self.lower:.4f}), and {100 * self.recall:.3g} % of {right}.",
            ]
        first = f"No cut can be promised to have {promise}."
        if not self.start:
            return [first, f"Even without a mistake it takes {self.least:,} rows above the cut; these are too few."]
        at = int(np.searchsorted(self.curve.n, self.start))
        found, lower = self.curve.precision[at], self.curve.lower[at]
        lines = [
            first,
            f"The {self.start:,} rows with the highest scores have {what} {found:.4f} (lower bound {lower:.4f}).",
        ]
        needed = rows_needed_for_precision(found, self.target, self.confidence)
        if needed is not None:
            lines.append(f"At that {what} it would take about {needed:,} rows above the cut.")
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
    """The smallest cut such that rows with a score of at least the cut have the precision asked for, as a promise.

    The promise: when this is done over and over, on new data each time, the true precision of rows with
    `score >= cut` is below the target in no more than 1 - confidence of the times. It holds although the cut is chosen
    by the same rows: cuts are tested from the highest scores downwards, each by the exact one-sided Clopper–Pearson
    bound at level `confidence`, until one fails; the last that passed is taken (a fixed sequence of tests needs no
    correction for their number). A cut never separates equal scores. Calibration of the scores is not needed, only
    that rows to come are like these.

    The first test is at a number of rows that does not depend on what happened: with m the fewest rows that could pass
    (29 for 0.9 and 0.95), at the fewest that could pass with floor(sqrt(n / m)) - 1 mistakes among them. So one unlucky
    row at the top does not end the search.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions`. For a matrix the score is the confidence in the predicted class and precision the
        accuracy of what is answered. For the rows *below* a cut, call it with 1 - p and 1 - y.
    precision : float
        The target, strictly between 0 and 1.
    confidence : float
        How sure the promise is to be, strictly between 0 and 1.
    notion, r : optional
        As in `expected_calibration_error`; one that keeps no classes or ranks apart.
    clusters : array-like of shape (n,), optional
        Clusters of rows that belong together (patients, queries).
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Threshold
        With `cut` infinite where nothing can be promised.

    Notes
    -----
    Rows are taken to be independent of each other, given their scores. The promise is exact for the expected precision
    of the very rows that are kept, and for the precision of rows to come if that does not rise again as the cut is
    lowered past the first test; if it does, it was kept in simulations all the same.

    With weights or clusters the count above a cut is not binomial. Then the bound is that of as many rows as the kept
    ones are worth: p (1 - p) / V for the variance V of their precision between clusters, with one cluster of typical
    size added that is wrong throughout, and at most (sum w)^2 / sum w^2. That is an approximation. Clusters without any
    mistake count as one row each. Soft labels are taken as rates of that many rows, which is on the safe side.

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
    Keep rows with a score of at least 0.7: precision of at least 0.8 with 95 % confidence. It keeps 300 of 999 rows
    (30 %), with precision 0.8400 (lower bound 0.8010), and 52.2 % of those that happened.
    >>> print(threshold_for(p[-20:], y[-20:]))
    No cut can be promised to have precision of at least 0.9 with 95 % confidence. Even without a mistake it takes 29
    rows above the cut; these are too few.
    """
    target = _check.level(precision, "precision")
    confidence = _check.level(confidence, "confidence")
    source = as_predictions(predictions, actuals, sample_weight)
    view = source.view(notion, r=r)
    if view.n_strata > 1:
        raise InputError(
            "{notion=} has {n_strata} sets of scores, and each its own cut: pass one class's column and whether "
            "it happened",
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
        notion=view.notion,
        curve=curve,
    )


def _first_test(kept: Kept, least: int, target: float, confidence: float) -> int | None:
    """Which cut is tested first; None where even rows without a mistake would be too few."""
    mistakes = max(math.isqrt(int(kept.independent[-1] / least)) - 1, 0)
    enough = kept.independent >= rows_at_least(mistakes, target, confidence) - 1e-9
    return int(np.argmax(enough)) if enough.any() else None


def _last_passed(kept: Kept, first: int, target: float, confidence: float) -> int | None:
    """The last of the cuts that pass, one after the other, from the first on; None where the first one fails."""
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
    happened = kept.wy[-1]
    return CutCurve(
        cut=kept.cut[at],
        n=kept.n[at],
        share=np.minimum(kept.w[at] / kept.w[-1], 1),
        precision=rate,
        lower=lower_bound(rate, kept.effective[at], confidence),
        recall=np.minimum(kept.wy[at] / happened, 1) if happened > 0 else np.full(len(at), math.nan),
    )


def _names_of_shares(notion: str) -> tuple[str, str, str]:
    """What to call the share that is promised, the score, and all that the recall is of."""
    if notion == "confidence":
        return "accuracy", "confidence", "the right answers"
    return "precision", "score", "those that happened"
