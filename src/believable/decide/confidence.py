"""Shared by all decisions: checked scores, predicted classes and confidences, intervals, and resampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Floats, Ints
from believable.errors import Hint, InputError
from believable.inference.clusters import drawn_counts, unit_of_rows
from believable.predictions import Predictions

ONE_COLUMN_AT_A_TIME = "pass one column at a time if they are independent"
INTERVAL_SLACK = 1e-6  # a score may lie outside its interval by this much, because of rounding to float32
CONFIDENCE_DECIMALS = {"float32": 6, "float64": 12}  # 1 - 0.07 and 0.93 are the same confidence


def checked_scores(predictions: Any, name: str = "predictions") -> Floats:
    """Return checked probabilities, P(y = 1) or one column per class; a `Predictions` is checked already."""
    if isinstance(predictions, Predictions):
        if predictions.kind == "multilabel":
            raise InputError(
                "{argument} must have one answer per row, not several labels: {advice}",
                argument=name,
                advice=ONE_COLUMN_AT_A_TIME,
            )
        return predictions.scores
    scores = _check.numeric(predictions, name)
    _check.shape_of_predictions(scores, multilabel=False)
    _check.probabilities(scores, name, None, Hint.LOGITS_TO_DECIDE)
    if scores.ndim == 2:
        _check.row_sums(scores, predictions, None, name, ONE_COLUMN_AT_A_TIME)
    return scores


def given_as_pairs(predictions: Any) -> bool:
    """Return whether scores are confidences in answers, which only a `Predictions` can say."""
    return isinstance(predictions, Predictions) and predictions.are_pairs


def confidence(scores: Floats, pairs: bool) -> Floats:
    """Return the probability of the answer: max(p, 1 - p), or the largest of a row, in the type of the scores.

    With `pairs`, the 1-D scores are the confidences in answers that were given.
    """
    if scores.ndim == 2:
        return np.asarray(_kernels.top_one(scores)[0])
    return scores if pairs else np.asarray(np.maximum(scores, 1 - scores))


def rounded(values: Floats, like: Floats) -> Floats:
    """Round values so that those that differ by rounding alone are equal; `like` are the scores they come from."""
    return np.asarray(np.round(values, CONFIDENCE_DECIMALS[like.dtype.name]))


def equalled_confidence(source: Predictions, end: np.ufunc) -> Floats:
    """Return confidences; with two outcomes, those equal up to rounding become their least or largest (`end`).

    The result is always one of the confidences themselves, so that a rule such as "at least the threshold" keeps all of
    them or none.
    """
    scores, sure = source.scores, confidence(source.scores, source.are_pairs)
    if source.are_pairs or (scores.ndim == 2 and scores.shape[1] > 2):
        return sure
    _, first, place = np.unique(rounded(sure, scores), return_index=True, return_inverse=True)
    ends = sure[first]
    end.at(ends, place, sure)
    return np.asarray(ends[place])


def answer(scores: Floats) -> Array:
    """Return the class with the largest probability; the lower one in ties, as for accuracy."""
    return np.asarray((scores > 0.5).astype(np.intp) if scores.ndim == 1 else _kernels.top_one(scores)[1])


def mistakes(source: Predictions) -> Float64s:
    """Return 1 where the answer is wrong: the one that the scores give, or, for pairs, the one that was given."""
    answers = np.ones(len(source), np.intp) if source.are_pairs else answer(source.scores)
    return share_wrong(answers, source.labels)


def share_wrong(answers: Array, labels: Array) -> Float64s:
    """Return 1 where the answer is not the label; for soft labels, the share of the other labels."""
    if labels.dtype.kind == "f":
        return np.asarray(np.abs(answers - labels.astype(np.float64)))
    return np.asarray(answers != labels, np.float64)


# --- intervals around scores ------------------------------------------------------------------------------------------


def interval_ends(interval: Any, scores: Float64s) -> tuple[Float64s, Float64s]:
    """Return low and high ends from a tuple (low, high) or an array of shape (n, 2), checked against the scores."""
    if isinstance(interval, tuple):
        if len(interval) != 2:
            raise InputError(
                "{argument} must be (low, high) or an array of shape (n, 2), got a tuple of {got}",
                argument="interval",
                got=len(interval),
            )
        low, high = (_check.numeric(end, "interval").astype(np.float64) for end in interval)
        low, high = (np.full(scores.shape, end) if end.ndim == 0 else end for end in (low, high))
    else:
        both = _check.numeric(interval, "interval").astype(np.float64)
        if both.ndim != 2 or both.shape[1] != 2:
            raise InputError(
                "{argument} must be (low, high) or an array of shape (n, 2), got shape {got}",
                argument="interval",
                got=both.shape,
            )
        low, high = both.T
    if low.shape != scores.shape or high.shape != scores.shape:
        raise InputError(
            "{argument} must have two ends for each of {n} rows, got {got} and {shape}",
            argument="interval",
            n=len(scores),
            got=low.shape,
            shape=high.shape,
        )
    for end in (low, high):
        _check.finite(end, "interval", None)
    slack = INTERVAL_SLACK * np.maximum(np.abs(scores), 1)
    upside_down = np.flatnonzero(low > high)
    if len(upside_down):
        row = upside_down[0]
        raise InputError(
            "{argument} must have its low end first, got {low:g} and {high:g} at {row}",
            argument="interval",
            low=low[row],
            high=high[row],
            row=row,
        )
    outside = np.flatnonzero((scores < low - slack) | (scores > high + slack))
    if len(outside):
        row = outside[0]
        raise InputError(
            f"the score {scores[row]:g} at row {row} lies outside its interval {low[row]:g} to {high[row]:g}; pass "
            "intervals of these scores (after recalibration, the recalibrated scores)"
        )
    return low, high


# --- resampling of rows or clusters -----------------------------------------------------------------------------------


def resampled_sums(
    columns: list[Float64s], cell: Ints, n_cells: int, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> list[Float64s]:
    """Return, for each column, the sums in every cell of each resample: an (n_draws, n_cells) array.

    Rows, or clusters, are drawn with replacement. More than 2,000 of them are merged at random into fewer units, which
    keeps the variance of every sum.
    """
    from scipy.sparse import coo_array

    unit, n_units = unit_of_rows(cluster, len(cell), rng)
    counts = drawn_counts(n_units, n_draws, rng)
    found = []
    for values in columns:
        sums = coo_array((values, (unit, cell)), shape=(n_units, n_cells)).tocsr()
        found.append(np.asarray(counts @ sums, np.float64))
    return found


def central(replicates: Array, level: float) -> tuple[Float64s, Float64s]:
    """Return the central interval of the replicates, column by column."""
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    return low, high
