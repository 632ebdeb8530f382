"""How each recalibrator is fitted, ours and the peers', and how its probabilities are read off the result.

Nothing is imported before it is asked for. What prepares a fit takes the arrays, converts them to what the library
wants, and returns the call to be timed; what reads it gives the probability of each row's label.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import numpy as np

from benchmarks import data, optima
from benchmarks.data import Array, Data
from benchmarks.peers import Prepared, load
from benchmarks.timing import in_turns

CELLS = 4096
TEST_SCORES = np.linspace(0.003, 0.997, 20)  # where intervals are looked at


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


# --- the peers --------------------------------------------------------------------------------------------------------


def sklearn_temperature(dtype: str) -> Callable[[Array, Array], Prepared]:
    """On logits of this type, converted untimed."""

    def prepare(z: Array, y: Array) -> Prepared:
        method, converted = load("sklearn.calibration")._TemperatureScaling, z.astype(dtype, copy=False)
        return lambda: method().fit(converted, y)

    return prepare


def sklearn_sigmoid(z: Array, y: Array) -> Prepared:
    method = load("sklearn.calibration")._SigmoidCalibration
    return lambda: method().fit(z, y)


def sklearn_logistic(z: Array, y: Array) -> Prepared:
    method, column = load("sklearn.linear_model").LogisticRegression, z[:, None]
    return lambda: method(C=np.inf).fit(column, y)


def sklearn_softmax(solver: str, tol: float) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        method, z = load("sklearn.linear_model").LogisticRegression, np.log(p)
        return lambda: method(C=np.inf, solver=solver, tol=tol, max_iter=10_000).fit(z, y)

    return prepare


def sklearn_isotonic(p: Array, y: Array) -> Prepared:
    method = load("sklearn.isotonic").IsotonicRegression
    return lambda: method(out_of_bounds="clip").fit(p, y)


def betacal_fit(p: Array, y: Array) -> Prepared:
    """It changes the filters of warnings for good; whoever times it puts them back."""
    method = load("betacal").BetaCalibration
    return lambda: method("abm").fit(p, y)


def sklearn_beta(p: Array, y: Array) -> Prepared:
    """What betacal does when a and b come out positive, with a finer tolerance."""
    method = load("sklearn.linear_model").LogisticRegression

    def fit() -> Any:
        return method(C=np.inf, tol=1e-8, max_iter=1000).fit(np.column_stack([np.log(p), -np.log(1 - p)]), y)

    return fit


def venn_abers(p: Array, y: Array) -> Prepared:
    """Importing it silences NumPy for good, unless that happens within `errstate`."""
    with np.errstate():
        method = load("venn_abers").VennAbers
    table, at = np.column_stack([1 - p, p]), np.column_stack([1 - TEST_SCORES, TEST_SCORES])

    def intervals() -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(method().fit(table, y).predict_proba(at)[1])

    return intervals


def netcal_bbq(p: Array, y: Array) -> Prepared:
    """Its bins of equal mass are not implemented, so these are of equal width."""
    method = load("netcal.binning").BBQ

    def fit() -> Any:
        with redirect_stderr(StringIO()):  # a progress bar
            return method().fit(p, y)

    return fit


# --- what a fit says of the labels ------------------------------------------------------------------------------------


def happened_with(p: Array, y: Array) -> Array:
    """P(label) from P(event)."""
    return np.where(y == 1, p, 1 - p)


def as_it_is(result: Array, arrays: Data) -> Array:
    return result


def softmax(fit: Any, arrays: Data) -> Array:
    b = float(fit.beta_) if hasattr(fit, "beta_") else 1 / fit.temperature_
    return optima.of_label(*arrays, lambda z: b * z)


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
    p, y = arrays
    w, b = (fit.coef_, fit.intercept_) if hasattr(fit, "coef_") else (fit.weights_, fit.intercepts_)
    return optima.of_label(np.log(p), y, lambda z: z @ w.T + b)


def best_temperature(z: Array, y: Array) -> Array:
    b = optima.temperature(z, y)
    return optima.of_label(z, y, lambda rows: b * rows)


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
    return optima.of_label(np.log(p), y, lambda z: z @ c[:, :-1].T + c[:, -1])


def population(p: Array, y: Array) -> Array:
    """What the labels were drawn with."""
    return happened_with(1 / (1 + (1 / p - 1) ** data.COOLING), y)


def literal_intervals(p: Array, y: Array) -> Array:
    return optima.venn_abers(p, y, TEST_SCORES)


def passes(z: Array, y: Array) -> str:
    """How often our search looks at the logits, counted by standing in for the kernel that does."""
    kernel = load("believable.kernels.temperature")
    sums, looked = kernel.power_sums, []

    def counting(rows: Any, *rest: Any, **choices: Any) -> Any:
        looked.append(len(rows.top) / len(z))
        return sums(rows, *rest, **choices)

    kernel.power_sums = counting
    try:
        in_turns([ours("TemperatureScaling", input="logits")(z, y)], repeats=0)
    finally:
        kernel.power_sums = sums
    return f"believable's search made {sum(looked):.2f} passes with exponentials ({len(looked)}, some over few rows)"
