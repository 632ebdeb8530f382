"""How each library is called: what is converted beforehand, what is timed, and which number comes out.

Nothing is imported before it is asked for. The functions that prepare a call take the arrays, convert them to the type
the library wants, and return the call to be timed. Every timed call of another library is in this file; those of maps
are below, and what is read off a fitted map is in `fits.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import numpy as np

from benchmarks.calls import BINS, DRAWS, TEST_SCORES, Prepared, load
from benchmarks.data import Array, Data


def sklearn_curve(strategy: str) -> Callable[[Any, Any], Prepared]:
    def prepare(p: Any, y: Any) -> Prepared:
        curve = load("sklearn.calibration").calibration_curve
        return lambda: curve(y, p, n_bins=BINS, strategy=strategy)

    return prepare


def error_of_curve(strategy: str) -> Callable[[Any, Data], float]:
    """The ECE behind scikit-learn's curve, which does not return the counts: they are made again, in its bins."""

    def value(curve: Any, data: Data) -> float:
        p = np.asarray(data[0])
        edges = np.linspace(0, 1, BINS + 1)
        if strategy == "quantile":
            edges = np.percentile(p, edges * 100)
        counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=BINS)
        happened, predicted = curve
        return float(np.abs(happened - predicted) @ counts[counts > 0] / len(p))

    return value


def sklearn_auc(p: Array, y: Array) -> Prepared:
    score = load("sklearn.metrics").roc_auc_score
    return lambda: score(y, p)


def torchmetrics_binary(**choices: Any) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        torch, tm = load("torch"), load("torchmetrics.functional.classification")
        scores, labels = torch.from_numpy(p), torch.from_numpy(y)
        return lambda: tm.binary_calibration_error(scores, labels, n_bins=BINS, **choices)

    return prepare


def torchmetrics_multiclass(**choices: Any) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        torch, tm = load("torch"), load("torchmetrics.functional.classification")
        scores, labels = torch.from_numpy(p), torch.from_numpy(y)
        n_classes = p.shape[1]
        return lambda: tm.multiclass_calibration_error(scores, labels, n_classes, n_bins=BINS, **choices)

    return prepare


def on_one_thread(prepare: Callable[[Array, Array], Prepared]) -> Callable[[Array, Array], Prepared]:
    """The same torch call without its threads, which wait for each other when the machine is busy."""

    def prepare_alone(p: Array, y: Array) -> Prepared:
        torch, call = load("torch"), prepare(p, y)
        threads = torch.get_num_threads()

        def alone() -> Any:
            torch.set_num_threads(1)
            try:
                return call()
            finally:
                torch.set_num_threads(threads)

        return alone

    return prepare_alone


def netcal_ece(**choices: Any) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        ece = load("netcal.metrics").ECE
        return lambda: ece(BINS, **choices).measure(p, y)

    return prepare


def relplot_binned(p: Array, y: Array) -> Prepared:
    metrics = load("relplot.metrics")
    return lambda: metrics.binnedECE(p, y, BINS)


def relplot_smooth(p: Array, y: Array) -> Prepared:
    relplot = load("relplot")
    return lambda: relplot.smECE(p, y)


def relplot_confidence(p: Array, y: Array) -> Prepared:
    metrics = load("relplot.metrics")
    return lambda: metrics.binnedECE(p.max(axis=1), p.argmax(axis=1) == y, BINS)


def calibre_metric(function: str, **choices: Any) -> Callable[[Any, Any], Prepared]:
    def prepare(p: Any, y: Any) -> Prepared:
        metric = getattr(load("calibre"), function)
        return lambda: metric(y, p, n_bins=BINS, **choices)

    return prepare


def calibre_matrix(function: str) -> Callable[[Array, Array], Prepared]:
    """Its check of row sums refuses float32 rows: they are normalised in float64, untimed."""

    def prepare(p: Array, y: Array) -> Prepared:
        rows = p.astype(np.float64)
        rows /= rows.sum(axis=1, keepdims=True)
        return calibre_metric(function)(rows, y)

    return prepare


def uncertainty_calibration(mode: str) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        ece = load("calibration").get_ece
        return lambda: ece(p, y, num_bins=BINS, mode=mode)

    return prepare


def probmetrics_ece(p: Array, y: Array) -> Prepared:
    """It takes two columns for one event."""
    torch, metric = load("torch"), load("probmetrics.metrics").CalibrationError(BINS)
    rows = torch.from_numpy(np.column_stack([1 - p, p]) if p.ndim == 1 else p)
    labels = torch.from_numpy(y.astype(np.int64))
    return lambda: metric.compute_from_labels_probs(labels, rows)


def calzone_ece(**choices: Any) -> Callable[[Array, Array], Prepared]:
    """It takes two columns for one event, and wants its reliability diagram handed on."""

    def prepare(p: Array, y: Array) -> Prepared:
        diagram, error = load("calzone.utils").reliability_diagram, load("calzone.metrics").calculate_ece_mce
        rows, one = (p, {}) if p.ndim == 2 else (np.column_stack([1 - p, p]), {"class_to_plot": 1})

        def measure() -> Any:
            happened, predicted, _, counts = diagram(y, rows, num_bins=BINS, **one, **choices)
            return error(happened, predicted, counts)[0]

        return measure

    return prepare


def calzone_bootstrap(p: Array, y: Array) -> Prepared:
    metrics, rows = load("calzone.metrics").CalibrationMetrics(num_bins=BINS), np.column_stack([1 - p, p])

    def ends() -> Array:
        np.random.seed(0)  # noqa: NPY002 (it draws from the global state)
        return np.percentile(metrics.bootstrap(y, rows, ["ECE-H"], n_samples=DRAWS)["ECE-H"], [2.5, 97.5])

    return ends


def calibre_bootstrap(p: Array, y: Array) -> Prepared:
    calibre = load("calibre")
    error = calibre.expected_calibration_error

    def ends() -> tuple[float, float]:
        found = calibre.bootstrap_ci(error, y, p, n_resamples=DRAWS, method="percentile")
        return found["lower"], found["upper"]

    return ends


def mapie_ece(strategy: str, class_wise: bool = False) -> Callable[[Array, Array], Prepared]:
    """Its `num_bins` counts edges: ten bins are asked for by eleven, and a score of 0 has one of its own."""

    def prepare(p: Array, y: Array) -> Prepared:
        ece = load("mapie.metrics.calibration").expected_calibration_error
        choices = {"num_bins": BINS + 1, "split_strategy": strategy}
        if class_wise:
            return lambda: ece(y, p, classwise=True, class_labels=y, **choices)
        if p.ndim == 2:
            return lambda: ece((p.argmax(axis=1) == y).astype(int), p, **choices)
        return lambda: ece(y, p, **choices)

    return prepare


def calibre_decomposition(p: Array, y: Array) -> Prepared:
    split = load("calibre").score_decomposition
    return lambda: split(y, p)["miscalibration"]


def sklearn_decomposition(p: Array, y: Array) -> Prepared:
    """The miscalibration by hand, from scikit-learn's isotonic fit."""
    method = load("sklearn.isotonic").IsotonicRegression

    def split() -> float:
        return float(np.mean((p - y) ** 2) - np.mean((method().fit_transform(p, y) - y) ** 2))

    return split


def torchmetrics_auc(p: Array, y: Array) -> Prepared:
    torch, tm = load("torch"), load("torchmetrics.functional.classification")
    scores, labels = torch.from_numpy(p), torch.from_numpy(y)
    return lambda: tm.binary_auroc(scores, labels)


def calibre_smooth(p: Array, y: Array) -> Prepared:
    smooth = load("calibre").smooth_calibration_error
    return lambda: smooth(y, p)


def netcal_mmce(p: Array, y: Array) -> Prepared:
    mmce = load("netcal.metrics").MMCE
    return lambda: mmce().measure(p, y)


# --- maps -------------------------------------------------------------------------------------------------------------


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


def probmetrics_fit(name: str, from_logits: bool = False) -> Callable[[Array, Array], Prepared]:
    """One of its maps, on torch's tensors."""

    def prepare(X: Array, y: Array) -> Prepared:
        torch, kinds = load("torch"), load("probmetrics.distributions")
        method = getattr(load("probmetrics.calibrators"), name)
        given = (kinds.CategoricalLogits if from_logits else kinds.CategoricalProbs)(torch.from_numpy(X))
        labels = torch.from_numpy(y)
        return lambda: method().fit_torch(given, labels)

    return prepare


def calibre_temperature(z: Array, y: Array) -> Prepared:
    """It takes probabilities: they are made from the logits untimed, in float64."""
    method = load("calibre").TemperatureScaler
    odds = np.exp(z - z.max(axis=1, keepdims=True), dtype=np.float64)
    p = odds / odds.sum(axis=1, keepdims=True)
    return lambda: method().fit(p, y)


def mapie_venn_abers(p: Array, y: Array) -> Prepared:
    """What its calibrator, which wants a classifier, does inside."""
    with np.errstate():
        method = load("mapie._venn_abers").VennAbers
    table, at = np.column_stack([1 - p, p]), np.column_stack([1 - TEST_SCORES, TEST_SCORES])

    def intervals() -> Array:
        fitted = method()
        with np.errstate(divide="ignore", invalid="ignore"):
            fitted.fit(table, y)
            return np.asarray(fitted.predict_proba(at)[1])

    return intervals
