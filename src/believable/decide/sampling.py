"""Choose which rows to label next: those the model is least certain of."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Float64s, Floats, Ints
from believable.decide.confidence import checked_scores, confidence, given_as_pairs, rounded
from believable.errors import InputError

SampleBy = Literal["margin", "entropy", "confidence"]
SAMPLING_STRATEGIES = ("margin", "entropy", "confidence")


def uncertainty_sample(
    predictions: Any,
    n: int,
    *,
    strategy: SampleBy = "margin",
    random_share: float = 0.0,
    random_state: Any = None,
) -> Ints:
    """Choose the n rows that the model is least certain of, to label next (active learning).

    A row is uncertain if it has a small margin (the largest probability minus the second largest), a large entropy
    (-sum of p log p), or a small confidence (the largest probability). For one event, or two classes, all three give
    the same rows: those with p closest to 1/2. Ties are broken at random.

    Rows chosen this way are not representative: accuracy or calibration measured on them is not that of the model on
    all rows. With `random_share`, some of the n are drawn at random from the remaining rows, so that rows where the
    model is confident and wrong can be found too. To measure performance, keep a separate random sample.

    Parameters
    ----------
    predictions : array-like of shape (n_rows,) or (n_rows, K), or Predictions
        P(y = 1), or one column per class. Of a `Predictions(..., pairs=True)`, the lowest confidences are chosen.
    n : int
        How many rows to choose; at most the number of rows.
    strategy : {"margin", "entropy", "confidence"}
        The measure of certainty.
    random_share : float
        Share of the n rows to draw at random from the remaining rows, rounded to a whole number (halves up).
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.

    Returns
    -------
    ndarray of int
        Row numbers: the least certain first, those drawn at random last.

    References
    ----------
    Lewis & Gale (1994), A sequential algorithm for training text classifiers, SIGIR. Settles (2009), Active learning
    literature survey, University of Wisconsin–Madison, section 3.1.

    Examples
    --------
    >>> uncertainty_sample([0.9, 0.45, 0.02, 0.7], 2, random_state=0)
    array([1, 3])
    >>> uncertainty_sample([[0.5, 0.48, 0.02], [0.4, 0.3, 0.3]], 1, strategy="margin")
    array([0])
    >>> uncertainty_sample([[0.5, 0.48, 0.02], [0.4, 0.3, 0.3]], 1, strategy="entropy")
    array([1])
    """
    scores, pairs = checked_scores(predictions), given_as_pairs(predictions)
    unsure, drawn = sampled(scores, n, strategy, random_share, random_state, pairs)
    return np.concatenate([unsure, drawn])


def sampled(
    scores: Floats, n: Any, strategy: Any, random_share: Any, random_state: Any, pairs: bool
) -> tuple[Ints, Ints]:
    """Return the least certain rows, and those drawn at random from the rest."""
    n = _check.positive_integer(n, "n")
    if n > len(scores):
        raise InputError(
            "{argument} must be at most the number of rows, {n_rows}, got {got}",
            argument="n",
            n_rows=len(scores),
            got=n,
        )
    _check.choice(strategy, SAMPLING_STRATEGIES, "strategy")
    share = _check.number(random_share, "random_share", 0, 1)
    rng = generator(random_state)
    n_random = int(share * n + 0.5)
    shuffled = rng.permutation(len(scores))
    sure = rounded(sureness(scores, strategy, pairs), like=scores)  # 0.07 and 0.93 are equally uncertain
    order = shuffled[np.argsort(sure[shuffled], kind="stable")]
    unsure, rest = order[: n - n_random], order[n - n_random :]
    return unsure, rng.choice(rest, n_random, replace=False) if n_random else rest[:0]


def sureness(scores: Floats, strategy: SampleBy, pairs: bool) -> Float64s:
    """Return the certainty of each row: margin, confidence, or negative entropy.

    Of answers with a confidence nothing else is known, so that each strategy reads the confidence.
    """
    if pairs:
        return scores.astype(np.float64)
    if scores.ndim == 1 or scores.shape[1] == 2:
        sure = confidence(scores, pairs).astype(np.float64)
        if strategy == "confidence":
            return sure
        if strategy == "margin":
            return 2 * sure - 1
        scores = np.column_stack([1 - sure, sure])  # sorted, so that p and 1 - p have the same entropy
    if strategy == "confidence":
        return confidence(scores, pairs).astype(np.float64)
    ordered = np.sort(scores.astype(np.float64), axis=1)  # sorted, so that equal rows have equal sums
    if strategy == "margin":
        return ordered[:, -1] - ordered[:, -2]
    logs = np.log(ordered, out=np.zeros_like(ordered), where=ordered > 0)
    return np.asarray((ordered * logs).sum(axis=1))
