"""How our maps are fitted, how probabilities are read off a fitted map, ours or a peer's, and the best there is.

What reads a map gives the probability of each row's label: of the first rows, where a map has few numbers to get wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import data, optima
from benchmarks.calls import TEST_SCORES, Prepared, load
from benchmarks.data import Array, Data

CELLS = 4096
FEW = 5000  # rows of a matrix that a map is read at


# --- the arrays -------------------------------------------------------------------------------------------------------


def logits(n: int, k: int) -> Data:
    """Float32 logits: log p, moved by a number of its own in each row."""
    p, y = data.multiclass(n, k)
    return np.log(p, out=p) + np.linspace(-3, 3, n, dtype=np.float32)[:, None], y


def event_logits(n: int) -> Data:
    p, y = data.binary(n)
    return np.log(p / (1 - p)), y


def probabilities(n: int) -> Data:
    """Float64 rows of ten classes."""
    p, y = data.multiclass(n, 10)
    rows = p.astype(np.float64)
    return rows / rows.sum(axis=1, keepdims=True), y


# --- ours -------------------------------------------------------------------------------------------------------------


def ours(name: str, **choices: Any) -> Callable[[Array, Array], Prepared]:
    """Fitting one of our maps, arrays in, checks included."""

    def prepare(X: Array, y: Array) -> Prepared:
        method = getattr(load("believable.recalibrate"), name)
        return lambda: method(**choices).fit(X, y)

    return prepare


def ours_of_event(name: str) -> Callable[[Array, Array], Prepared]:
    """The same from the probabilities behind the logits."""
    return lambda z, y: ours(name)(1 / (1 + np.exp(-z)), y)


def ours_of_cells(name: str, spacing: str, expit: bool = True) -> Callable[[Array, Array], Prepared]:
    """Fitting from counted cells, of logits or probabilities of the event."""

    def prepare(X: Array, y: Array) -> Prepared:
        believable, method = load("believable"), getattr(load("believable.recalibrate"), name)
        p = 1 / (1 + np.exp(-X)) if expit else X
        cells = believable.CellStats.of(believable.Predictions(p, y), cells=CELLS, spacing=spacing)
        return lambda: method().fit_from_cells(cells)

    return prepare


def our_intervals(p: Array, y: Array) -> Prepared:
    method = load("believable.recalibrate").VennAbers
    return lambda: method().fit(p, y).predict_interval(TEST_SCORES)


# --- what a fit says of the labels ------------------------------------------------------------------------------------


def happened_with(p: Array, y: Array) -> Array:
    """P(label) from P(event)."""
    return np.where(y == 1, p, 1 - p)


def as_it_is(result: Array, arrays: Data) -> Array:
    return result


def softmax(fit: Any, arrays: Data) -> Array:
    z, y = (values[:FEW] for values in arrays)
    if hasattr(fit, "beta_"):
        b = float(fit.beta_)
    else:
        b = fit.invtemp_ if hasattr(fit, "invtemp_") else 1 / fit.temperature_
    return optima.of_label(z, y, lambda rows: b * rows)


def sigmoid(fit: Any, arrays: Data) -> Array:
    z, y = arrays
    if hasattr(fit, "slope_"):
        slope, intercept = fit.slope_, fit.intercept_
    elif hasattr(fit, "coef_"):
        slope, intercept = fit.coef_[0, 0], fit.intercept_[0]
    else:
        slope, intercept = -fit.a_, -fit.b_
    return happened_with(1 / (1 + np.exp(-(slope * z + intercept))), y)


def beta(fit: Any, arrays: Data) -> Array:
    p, y = arrays
    if hasattr(fit, "calibrator_"):
        return happened_with(fit.predict(p), y)
    a, b, c = (*fit.coef_[0], fit.intercept_[0]) if hasattr(fit, "coef_") else (fit.a_, fit.b_, fit.c_)
    return happened_with(1 / (1 + np.exp(-(a * np.log(p) - b * np.log1p(-p) + c))), y)


def transformed(fit: Any, arrays: Data) -> Array:
    return happened_with(np.asarray(fit.transform(arrays[0])), arrays[1])


def linear(fit: Any, arrays: Data) -> Array:
    p, y = (values[:FEW] for values in arrays)
    if hasattr(fit, "coef_"):
        w, b = fit.coef_, fit.intercept_
    elif hasattr(fit, "itemp_"):
        w, b = fit.itemp_.numpy().T, fit.bias_.numpy()
    else:
        w, b = fit.weights_, fit.intercepts_
    return optima.of_label(np.log(p), y, lambda z: z @ np.asarray(w).T + b)


def vector(fit: Any, arrays: Data) -> Array:
    p, y = (values[:FEW] for values in arrays)
    w, b = (1 / fit.temp_.numpy(), fit.bias_.numpy()) if hasattr(fit, "temp_") else (fit.scales_, fit.intercepts_)
    return optima.of_label(np.log(p), y, lambda z: z * w + b)


def best_temperature(z: Array, y: Array) -> Array:
    b = optima.temperature(z, y)
    return optima.of_label(z[:FEW], y[:FEW], lambda rows: b * rows)


def best_platt(z: Array, y: Array) -> Array:
    return _best_platt(z, y, y)


def best_smoothed_platt(z: Array, y: Array) -> Array:
    """With Platt's targets: of m rows of a class each counts (m + 1) / (m + 2)."""
    positives, negatives = int((y == 1).sum()), int((y == 0).sum())
    return _best_platt(z, y, np.where(y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2)))


def _best_platt(z: Array, y: Array, targets: Array) -> Array:
    slope, intercept = optima.logistic(z[:, None], targets)
    return happened_with(1 / (1 + np.exp(-(slope * z + intercept))), y)


def best_beta(p: Array, y: Array) -> Array:
    columns = np.column_stack([np.log(p), -np.log1p(-p)])
    *slopes, c = optima.logistic(columns, y)
    return happened_with(1 / (1 + np.exp(-(columns @ slopes + c))), y)


def best_isotonic(p: Array, y: Array) -> Array:
    return happened_with(optima.isotonic(p, y), y)


def best_linear(p: Array, y: Array) -> Array:
    c = optima.multinomial(np.log(p), y)
    return optima.of_label(np.log(p[:FEW]), y[:FEW], lambda z: z @ c[:, :-1].T + c[:, -1])


def best_vector(p: Array, y: Array) -> Array:
    w, b = optima.vector(np.log(p), y)
    return optima.of_label(np.log(p[:FEW]), y[:FEW], lambda z: z * w + b)


def population(p: Array, y: Array) -> Array:
    """What the labels were drawn with."""
    return happened_with(1 / (1 + (1 / p - 1) ** data.COOLING), y)


def literal_intervals(p: Array, y: Array) -> Array:
    return optima.venn_abers(p, y, TEST_SCORES)
