"""Who takes part in the arena: our calibration maps and those of other libraries, all called the same way.

A competitor is a function `(fit, labels, test) -> probabilities`. It gets probabilities with a column per class; for
one event our maps get the column of the event, and libraries that want both columns get both. Raw scores (decision
values) are given as they are to those that take them, and as their sigmoid to those that want probabilities. What
"nothing" means for raw scores is the sigmoid, too.
"""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

from benchmarks.arena_sets import Array, Experiment
from benchmarks.calls import installed, load

NOTHING, AUTO, PROVEN = "nothing", "calibrate", "calibrate, rule='proven'"
OURS = (  # classes of believable.recalibrate; one that this version does not have is left out
    "TemperatureScaling",
    "PlattScaling",
    "BetaCalibration",
    "QuadraticScaling",
    "StructuredScaling",
    "VectorScaling",
    "LogitSplineCalibration",
    "SplineCalibration",
    "VennAbers",
    "IsotonicCalibration",
    "HistogramBinning",
    "BBQ",
)
PROBMETRICS = ("ts-mix", "logistic", "ivap", "isotonic", "quadratic-scaling", "beta", "svs", "sms")
ONE_EVENT_ONLY = ("quadratic-scaling", "beta")


@dataclass(frozen=True)
class Competitor:
    """A name, the package on PyPI that it needs, and its function; `most_classes` is the most that it is given."""

    name: str
    package: str
    run: Callable[[Array, Array, Array], Array]
    most_classes: int = 1000

    def takes(self, experiment: Experiment) -> bool:
        return experiment.n_classes <= self.most_classes


def competitors() -> list[Competitor]:
    """Return everybody, installed or not; nothing comes first."""
    import believable
    from believable import recalibrate

    found = [Competitor(NOTHING, "numpy", _nothing), Competitor(AUTO, "believable", _calibrate())]
    if "rule" in inspect.signature(believable.calibrate).parameters:
        found.append(Competitor(PROVEN, "believable", _calibrate(rule="proven")))
    classes = [cls for name in OURS if (cls := getattr(recalibrate, name, None)) is not None]
    found += [Competitor(f"believable {cls.facts.alias}", "believable", _ours(cls)) for cls in classes]
    for name in PROBMETRICS:
        most = 2 if name in ONE_EVENT_ONLY else 1000
        found.append(Competitor(f"probmetrics {name}", "probmetrics", _probmetrics(name), most))
    for method in _sklearn_methods():
        found.append(Competitor(f"scikit-learn {method}", "scikit-learn", _sklearn(method)))
    found += [
        Competitor("venn-abers", "venn-abers", _venn_abers),
        Competitor("betacal", "betacal", _betacal, most_classes=2),
        Competitor("splinecalib", "splinecalib", _splinecalib),
    ]
    return found


def absent(entries: list[Competitor]) -> list[str]:
    """Return the packages that entries need and that are not installed."""
    return sorted({entry.package for entry in entries if installed(entry.package) is None and not _is_ours(entry)})


def _is_ours(entry: Competitor) -> bool:
    return entry.package in ("believable", "numpy")  # imported already; a checkout has no version to look up


def probabilities(scores: Array) -> Array:
    """Return a column per class: of raw scores, 1 minus their sigmoid and their sigmoid."""
    if scores.ndim == 2:
        return scores
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-scores))
    return np.column_stack([1 - p, p])


def recalibrate(entry: Competitor, experiment: Experiment) -> Array:
    """Return the probabilities that a competitor gives the test rows, or raise what went wrong.

    Arrays are copied for each (some peers write into theirs), what is printed is dropped, and the filters of warnings
    and NumPy's error state, which some peers change, are put back.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        labels = experiment.fit_labels.copy()
        found = np.asarray(entry.run(experiment.fit.copy(), labels, experiment.test.copy()), dtype=np.float64)
    found = np.column_stack([1 - found, found]) if found.ndim == 1 else found
    if found.shape != (len(experiment.test_labels), experiment.n_classes):
        raise ValueError(f"returned an array of shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("returned values that are not finite")
    return found


# --- ours -------------------------------------------------------------------------------------------------------------


def _nothing(fit: Array, labels: Array, test: Array) -> Array:
    return probabilities(test)


def _event(scores: Array) -> Array:
    """Return the column of the event where there are two classes."""
    return scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores


def _calibrate(**choices: Any) -> Callable[[Array, Array, Array], Array]:
    def run(fit: Array, labels: Array, test: Array) -> Array:
        import believable

        given = "scores" if fit.ndim == 1 else "probabilities"
        found = believable.calibrate(_event(fit), labels, input=given, progress=False, random_state=0, **choices)  # type: ignore[arg-type]
        return found.transform(_event(test))

    return run


def _ours(cls: Any) -> Callable[[Array, Array, Array], Array]:
    """Raw scores are logits to the maps that know no raw scores."""

    def run(fit: Array, labels: Array, test: Array) -> Array:
        given = "probabilities" if fit.ndim == 2 else "scores" if "scores" in cls.inputs else "logits"
        return cls(input=given).fit(_event(fit), labels).transform(_event(test))

    return run


# --- theirs -----------------------------------------------------------------------------------------------------------


def _probmetrics(name: str) -> Callable[[Array, Array, Array], Array]:
    def run(fit: Array, labels: Array, test: Array) -> Array:
        fitted = load("probmetrics.calibrators").get_calibrator(name)
        fitted.fit(probabilities(fit), labels)
        return fitted.predict_proba(probabilities(test))

    return run


def _sklearn_methods() -> list[str]:
    """Return what CalibratedClassifierCV offers: temperatures came with scikit-learn 1.8."""
    methods = CalibratedClassifierCV._parameter_constraints["method"][0].options
    return [method for method in ("sigmoid", "isotonic", "temperature") if method in methods]


class _Given(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its scores."""

    def fit(self, X: Array, y: Array) -> _Given:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Array) -> Array:
        """Never asked for, but CalibratedClassifierCV wants it to be there."""
        raise NotImplementedError


class _GivenProbabilities(_Given):
    def predict_proba(self, X: Array) -> Array:
        return X


class _GivenScores(_Given):
    def decision_function(self, X: Array) -> Array:
        return X[:, 0]


def _sklearn(method: str) -> Callable[[Array, Array, Array], Array]:
    """What CalibratedClassifierCV does to a model that is fitted already; the folds do not matter then."""

    def run(fit: Array, labels: Array, test: Array) -> Array:
        features, new = fit.reshape(len(fit), -1), test.reshape(len(test), -1)
        model = (_GivenScores() if fit.ndim == 1 else _GivenProbabilities()).fit(features, labels)
        wrapped = CalibratedClassifierCV(FrozenEstimator(model), method=method, cv=KFold(2))
        return wrapped.fit(features, labels).predict_proba(new)

    return run


def _venn_abers(fit: Array, labels: Array, test: Array) -> Array:
    method = load("venn_abers").VennAbersCalibrator()
    return method.predict_proba(p_cal=probabilities(fit), y_cal=labels, p_test=probabilities(test))


def _betacal(fit: Array, labels: Array, test: Array) -> Array:
    fitted = load("betacal").BetaCalibration("abm").fit(probabilities(fit)[:, 1], labels)
    return fitted.predict(probabilities(test)[:, 1])


def _splinecalib(fit: Array, labels: Array, test: Array) -> Array:
    fitted = load("splinecalib").SplineCalib()
    fitted.fit(probabilities(fit), labels)
    return fitted.calibrate(probabilities(test))
