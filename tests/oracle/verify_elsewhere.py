"""Run what the rows of the metric table say about other libraries: ``python tests/oracle/verify_elsewhere.py``.

It wants an environment with all of them, as `make bench` makes one; what R says is read from its recorded values. There
is one check for every library of every row, and `tests/metrics/test_elsewhere.py` says that none is missing.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parent.parent.parent
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import believable as b
from tests.oracle.inputs import beyond, inputs

CHECKS: dict[tuple[str, str], Callable[[], None]] = {}
DATA = {**beyond(), **inputs()}
ENDS = ("heaped_tenths", "half_saturated")  # with scores of exactly 0, 1 and on edges
FEW, MANY = DATA["multi3"], DATA["multi10"]


def says(metric: str, *libraries: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a check of what a row says about a library; it is passed the library where it serves several."""

    def enter(check: Callable[..., None]) -> Callable[..., None]:
        for library in libraries:
            CHECKS[metric, library] = (lambda name=library: check(name)) if len(libraries) > 1 else check
        return check

    return enter


def same(one: Any, other: Any, relative: float = 1e-9, absolute: float = 1e-12) -> None:
    """Two numbers, or two lists of them, are the same."""
    assert np.allclose(np.asarray(one, float), np.asarray(other, float), rtol=relative, atol=absolute), (one, other)


def single(one: Any, other: Any) -> None:
    """The same up to float32 arithmetic."""
    same(one, other, 1e-5, 1e-6)


def other(one: float, another: float) -> None:
    """Two numbers are not the same."""
    assert abs(float(one) - float(another)) > 1e-3, (one, another)


def of(name: str) -> tuple[Any, Any]:
    return DATA[name].p, DATA[name].y


def columns(p: Any) -> Any:
    return np.column_stack([1 - p, p])


def tensor(*arrays: Any) -> list[Any]:
    import torch

    return [torch.from_numpy(np.asarray(array)) for array in arrays]


@cache
def recorded(peer: str) -> list[dict[str, Any]]:
    saved: list[dict[str, Any]] = json.loads((Path(__file__).parent / "values" / f"{peer}.json").read_text())["records"]
    return saved


def probmetrics(name: str, p: Any, y: Any) -> float:
    from probmetrics.metrics import KolmogorovSmirnovCalibrationMetric, Metrics

    rows, labels = tensor(columns(p) if p.ndim == 1 else p, y)
    if name == "kolmogorov-smirnov":
        return float(KolmogorovSmirnovCalibrationMetric().compute_from_labels_probs(labels, rows))
    return float(Metrics.from_names([name]).compute_all_from_labels_probs(labels, rows)[name])


def clipped(p: Any) -> Any:
    """What probmetrics does before it asks torchmetrics."""
    q = np.clip(columns(p) if p.ndim == 1 else p, 1e-7, 1 - 1e-7)
    q = q / q.sum(axis=1, keepdims=True)
    return q[:, 1] if p.ndim == 1 else q


def calzone_error(p: Any, y: Any, equal: bool) -> tuple[float, float]:
    from calzone.metrics import calculate_ece_mce
    from calzone.utils import reliability_diagram

    happened, predicted, _, n = reliability_diagram(y, columns(p), num_bins=10, class_to_plot=1, is_equal_freq=equal)
    ece, mce = calculate_ece_mce(happened, predicted, n)[:2]
    return ece, mce


# --- accuracy, ranking, proper scores ---


@says("accuracy", "scikit-learn")
def _() -> None:
    from sklearn.metrics import accuracy_score

    for name in ENDS:
        p, y = of(name)
        same(accuracy_score(y, p > 0.5), b.accuracy(p, y))
    same(accuracy_score(FEW.y, FEW.p.argmax(axis=1)), b.accuracy(FEW.p, FEW.y))


@says("accuracy", "torchmetrics")
def _() -> None:
    from torchmetrics.functional.classification import binary_accuracy, multiclass_accuracy

    for name in ENDS:
        single(binary_accuracy(*tensor(*of(name))), b.accuracy(*of(name)))
    single(multiclass_accuracy(*tensor(FEW.p, FEW.y), 3, average="micro"), b.accuracy(FEW.p, FEW.y))
    recalls = [np.mean(FEW.p.argmax(axis=1)[FEW.y == k] == k) for k in range(3)]
    single(multiclass_accuracy(*tensor(FEW.p, FEW.y), 3), np.mean(recalls))
    other(np.mean(recalls), b.accuracy(FEW.p, FEW.y))


@says("accuracy", "probmetrics")
def _() -> None:
    for name in (*ENDS, "multi3"):
        single(probmetrics("accuracy", *of(name)), b.accuracy(*of(name)))


@says("auc", "scikit-learn")
def _() -> None:
    from sklearn.metrics import roc_auc_score

    for name in ENDS:
        p, y = of(name)
        same(roc_auc_score(y, p), b.auc(p, y))
    same(roc_auc_score(FEW.y, FEW.p, multi_class="ovr"), b.auc(FEW.p, FEW.y))


@says("auc", "torchmetrics")
def _() -> None:
    from torchmetrics.functional.classification import binary_auroc, multiclass_auroc

    for name in ENDS:
        single(binary_auroc(*tensor(*of(name))), b.auc(*of(name)))
    single(multiclass_auroc(*tensor(FEW.p, FEW.y), 3), b.auc(FEW.p, FEW.y))


@says("auc", "probmetrics")
def _() -> None:
    for name in (*ENDS, "multi3"):
        single(probmetrics("auroc-ovr", *of(name)), b.auc(*of(name)))


@says("auc", "R: rms")
def _() -> None:
    values = {r["input"]: r["value"]["C (ROC)"] for r in recorded("rms") if r["quantity"] == "val.prob"}
    for name in ENDS:
        p, y = of(name)
        inside = (p > 0) & (p < 1)
        same(values[name], b.auc(p[inside], y[inside]), 1e-3)
    away = abs(values["smooth"] - b.auc(*of("smooth")))
    assert 1e-6 < away < 1e-4, away


@says("brier_score", "scikit-learn")
def _() -> None:
    from sklearn.metrics import brier_score_loss

    p, y = of("two_column")
    same(brier_score_loss(y, p[:, 1]), b.brier_score(p[:, 1], y))
    same(brier_score_loss(y, p), b.brier_score(p, y) / 2)
    same(brier_score_loss(y, p, scale_by_half=False), b.brier_score(p, y))
    same(brier_score_loss(FEW.y, FEW.p), b.brier_score(FEW.p, FEW.y))


@says("brier_score", "calibre")
def _() -> None:
    import calibre

    p, y = of("heaped_tenths")
    same(calibre.brier_score(y, p), b.brier_score(p, y))


@says("brier_score", "probmetrics")
def _() -> None:
    p, y = of("smooth")
    single(probmetrics("brier", p, y), 2 * b.brier_score(p, y))
    single(probmetrics("brier", FEW.p, FEW.y), b.brier_score(FEW.p, FEW.y))


@says("brier_score", "R: rms")
def _() -> None:
    for record in recorded("rms"):
        if record["quantity"] == "val.prob":
            same(record["value"]["Brier"], b.brier_score(*of(record["input"])))


@says("brier_skill_score", "scikit-learn")
def _() -> None:
    from sklearn.metrics import d2_brier_score

    for name in (*ENDS, "multi3"):
        p, y = of(name)
        same(d2_brier_score(y, p), b.brier_skill_score(p, y))


@says("negative_log_likelihood", "scikit-learn")
def _() -> None:
    from sklearn.metrics import log_loss

    for name in ("smooth", "multi3"):
        p, y = of(name)
        same(log_loss(y, p), b.negative_log_likelihood(p, y))
    p, y = of("half_saturated")
    assert math.isinf(b.negative_log_likelihood(p, y))
    same(log_loss(y, p), b.negative_log_likelihood(p, y, eps=float(np.finfo(float).eps)))


@says("negative_log_likelihood", "probmetrics")
def _() -> None:
    for name in ("smooth", "multi3"):
        single(probmetrics("logloss", *of(name)), b.negative_log_likelihood(*of(name)))
    single(probmetrics("logloss", np.array([1.0]), np.array([0])), -math.log(np.finfo(np.float32).tiny))


# --- errors in bins of equal width ---


def conventional(norm: Any, name: str, convention: str, n_bins: int = 10) -> float:
    return b.expected_calibration_error(*of(name), n_bins, norm=norm, convention=convention)  # type: ignore[arg-type]


@says("expected_calibration_error", "scikit-learn")
def _() -> None:
    import inspect

    from sklearn.calibration import calibration_curve

    assert inspect.signature(calibration_curve).parameters["n_bins"].default == 5
    for n_bins in (5, 10, 15, 30):
        for name in (*ENDS, "heaped_fifteenths"):
            p, y = of(name)
            happened, predicted = calibration_curve(y, p, n_bins=n_bins)
            edges = np.linspace(0, 1, n_bins + 1)
            counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=n_bins)
            error = counts[counts > 0] / len(y) @ np.abs(happened - predicted)
            same(error, conventional(1, name, "scikit-learn", n_bins))


NORMS = {"expected": 1, "root_mean_square": 2, "maximum": "max"}
BY_TORCHMETRICS = {"expected": "l1", "root_mean_square": "l2", "maximum": "max"}


def torchmetrics_error(kind: str) -> None:
    from torchmetrics.classification import BinaryCalibrationError
    from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

    assert BinaryCalibrationError().n_bins == 15
    norm, theirs = NORMS[kind], BY_TORCHMETRICS[kind]
    for name in ENDS:
        found = binary_calibration_error(*tensor(*of(name)), n_bins=10, norm=theirs)
        single(found, conventional(norm, name, "torchmetrics"))
    if kind != "maximum":
        other(found, b.expected_calibration_error(*of("half_saturated"), norm=norm))
    for name in ("multi3_tenths", "multi3_half_saturated"):
        found = multiclass_calibration_error(*tensor(*of(name)), 3, n_bins=10, norm=theirs)
        single(found, conventional(norm, name, "torchmetrics"))


def calibre_error(kind: str) -> None:
    import calibre

    function = {"root_mean_square": "root_mean_squared"}.get(kind, kind) + "_calibration_error"
    options = {"strategy": "uniform"} if kind == "root_mean_square" else {}
    for name in (*ENDS, "fewer_than_bins"):
        p, y = of(name)
        same(getattr(calibre, function)(y, p, n_bins=10, **options), conventional(NORMS[kind], name, "calibre"))


def probmetrics_error(kind: str) -> None:
    name = {"expected": "ece-15", "root_mean_square": "rmsce-15", "maximum": "mce-15"}[kind]
    for given in (*ENDS, "multi3_tenths", "multi3_half_saturated"):
        p, y = of(given)
        found = probmetrics(name, p, y)
        single(found, b.expected_calibration_error(clipped(p), y, 15, norm=NORMS[kind], convention="torchmetrics"))


for _kind in NORMS:
    _metric = f"{_kind}_calibration_error"
    CHECKS[_metric, "torchmetrics"] = lambda kind=_kind: torchmetrics_error(kind)
    CHECKS[_metric, "calibre"] = lambda kind=_kind: calibre_error(kind)
    CHECKS[_metric, "probmetrics"] = lambda kind=_kind: probmetrics_error(kind)


@says("expected_calibration_error", "netcal")
def _() -> None:
    from netcal.metrics import ECE

    for name in (*ENDS, "two_column", "multi3_tenths"):
        same(ECE(bins=10).measure(*of(name)), conventional(1, name, "netcal"))
    p, y = of("two_column")
    same(ECE(bins=10).measure(p, y), ECE(bins=10).measure(p[:, 1], y))


@says("maximum_calibration_error", "netcal")
def _() -> None:
    from netcal.metrics import MCE

    for name in (*ENDS, "multi3_tenths"):
        same(MCE(bins=10).measure(*of(name)), conventional("max", name, "netcal"))


@says("average_calibration_error", "netcal")
def _() -> None:
    from netcal.metrics import ACE

    for name in ("smooth", "multi3", "multi10"):
        same(ACE(bins=10).measure(*of(name)), b.average_calibration_error(*of(name)))
    other(ACE(bins=10).measure(*of("heaped_tenths")), b.average_calibration_error(*of("heaped_tenths")))


@says("adaptive_calibration_error", "netcal")
def _() -> None:
    from netcal.metrics import ACE

    other(ACE(bins=10).measure(MANY.p, MANY.y), b.adaptive_calibration_error(MANY.p, MANY.y))


@says("expected_calibration_error", "uncertainty-calibration")
def _() -> None:
    import calibration

    for name in (*ENDS, "smooth", "multi3_tenths"):
        p, y = of(name)
        same(calibration.get_ece(p, y), b.expected_calibration_error(p, y, 15))
        found = calibration.get_ece_em(p, y, num_bins=10)
        same(found, b.expected_calibration_error(p, y, 10, "quantile", convention="uncertainty-calibration"))
    p, y = of("heaped_tenths_float32")
    same(calibration.get_ece(p, y, num_bins=10), conventional(1, "heaped_tenths_float32", "uncertainty-calibration"))
    other(calibration.get_ece(p, y, num_bins=10), b.expected_calibration_error(p, y))


@says("static_calibration_error", "uncertainty-calibration")
def _() -> None:
    import calibration

    for name in ("multi3", "multi3_tenths"):
        same(calibration.get_ece(*of(name), mode="marginal"), b.static_calibration_error(*of(name), 15))


@says("expected_calibration_error", "relplot")
def _() -> None:
    from relplot.metrics import binnedECE

    for name in ENDS:
        p, y = of(name)
        same(binnedECE(p, y, nbins=10), conventional(1, name, "relplot"))
        other(binnedECE(p, y, nbins=10), b.expected_calibration_error(p, y))


@says("expected_calibration_error", "calzone")
def _() -> None:
    for name in (*ENDS, "smooth"):
        p, y = of(name)
        same(calzone_error(p, y, False)[0], b.expected_calibration_error(p[p > 0], y[p > 0]), 1e-6)


@says("maximum_calibration_error", "calzone")
def _() -> None:
    for name in (*ENDS, "smooth"):
        p, y = of(name)
        same(calzone_error(p, y, False)[1], b.maximum_calibration_error(p[p > 0], y[p > 0]), 1e-6)


def one_less(p: Any, y: Any) -> float:
    """Nine bins of 1/9 and one for 0, where ten were asked for."""
    index = np.digitize(p, np.linspace(0, 1, 10), right=True)
    return float(sum(abs((y - p)[index == k].sum()) for k in range(10)) / len(y))


@says("expected_calibration_error", "MAPIE")
def _() -> None:
    import inspect

    from mapie.metrics.calibration import expected_calibration_error

    assert inspect.signature(expected_calibration_error).parameters["num_bins"].default == 50
    for name in (*ENDS, "smooth"):
        p, y = of(name)
        same(expected_calibration_error(y, p, num_bins=10), one_less(p, y))
    right = (FEW.p.argmax(axis=1) == FEW.y).astype(int)
    same(expected_calibration_error(right, FEW.p, num_bins=10), one_less(FEW.p.max(axis=1), right))


@says("static_calibration_error", "MAPIE")
def _() -> None:
    from mapie.metrics.calibration import expected_calibration_error

    found = expected_calibration_error(FEW.y, FEW.p, num_bins=10, classwise=True, class_labels=FEW.y)
    same(found, np.mean([one_less(FEW.p[:, k], FEW.y == k) for k in range(3)]))


@says("top_label_calibration_error", "MAPIE")
def _() -> None:
    from mapie.metrics.calibration import top_label_ece

    top, said = FEW.p.max(axis=1), FEW.p.argmax(axis=1)
    each = [one_less(top[said == k], (FEW.y == k)[said == k]) for k in range(3)]
    same(top_label_ece(FEW.y, FEW.p, num_bins=10), np.mean(each))


@says("top_label_calibration_error", "uncertainty-calibration")
def _() -> None:
    import calibration

    found = calibration.get_ece(FEW.p, FEW.y, num_bins=10, mode="top-label")
    same(found, b.expected_calibration_error(FEW.p, FEW.y))
    other(found, b.top_label_calibration_error(FEW.p, FEW.y))


@says("top_label_calibration_error", "calibre")
def _() -> None:
    import calibre

    found = calibre.top_label_ece(FEW.y, FEW.p)
    same(found, b.debiased_calibration_error(FEW.p, FEW.y, 15, variance="label"), 1e-6)


# --- bins of equal weight ---


@says("expected_calibration_error", "tutorials")
@says("adaptive_calibration_error", "tutorials")
def _() -> None:
    def recipe(p: Any, y: Any, n_bins: int = 10) -> float:
        order = np.argsort(p, kind="stable")
        parts = zip(np.array_split(p[order], n_bins), np.array_split(y[order], n_bins), strict=True)
        return float(sum(len(q) / len(p) * abs(q.mean() - z.mean()) for q, z in parts))

    p, y = of("heaped_tenths")
    same(recipe(p, y), b.expected_calibration_error(p, y, convention="array_split"))
    other(recipe(p, y), recipe(p[::-1], y[::-1]))


@says("adaptive_calibration_error", "uncertainty-calibration")
def _() -> None:
    import calibration

    for data in (FEW, MANY):
        found = calibration.get_ece_em(data.p, data.y, num_bins=10, mode="marginal")
        same(found, b.adaptive_calibration_error(data.p, data.y, 10))
    assert calibration.get_ece_em(MANY.p, MANY.y) == calibration.get_ece_em(MANY.p, MANY.y, num_bins=15)
    found = calibration.get_ece_em(FEW.p, FEW.y, num_bins=7, mode="marginal")  # 150 rows
    other(found, b.adaptive_calibration_error(FEW.p, FEW.y, 7))


@says("adaptive_calibration_error", "calibre")
def _() -> None:
    import calibre

    for name in (*ENDS, "ties"):
        p, y = of(name)
        same(calibre.plugin_calibration_error(y, p, norm=1), b.adaptive_calibration_error(p, y, 15))
        same(calibre.plugin_calibration_error(y, p), b.adaptive_calibration_error(p, y, 15, norm=2))


@says("adaptive_calibration_error", "calzone")
def _() -> None:
    for name in ("smooth", "heaped_tenths"):
        p, y = of(name)
        kept = p > p.min()
        edges = np.quantile(p, np.linspace(0, 1, 11))
        index = np.searchsorted(edges, p, side="left") - 1
        gaps = [abs((y - p)[index == k].sum()) for k in range(10)]
        same(calzone_error(p, y, True)[0], sum(gaps) / kept.sum(), 1e-6)


@says("adaptive_calibration_error", "MAPIE")
def _() -> None:
    from mapie.metrics.calibration import expected_calibration_error

    p, y = of("smooth")
    index = np.searchsorted(np.percentile(p, np.linspace(0, 100, 10)), p, side="left")
    assert np.array_equal(np.flatnonzero(index == 0), [p.argmin()])
    gaps = [abs((y - p)[index == k].sum()) for k in range(10)]
    same(expected_calibration_error(y, p, num_bins=10, split_strategy="quantile"), sum(gaps) / len(p))


@says("marginal_calibration_error", "uncertainty-calibration")
def _() -> None:
    import calibration

    data = DATA["multi10"]  # 300 rows, which 15 divides
    found = calibration.get_calibration_error(data.p, data.y, debias=False)
    same(found, b.marginal_calibration_error(data.p, data.y, 15))
    other(calibration.get_calibration_error(data.p, data.y), found)


@says("marginal_calibration_error", "calibre")
@says("static_calibration_error", "calibre")
def _() -> None:
    import calibre

    each = b.debiased_calibration_error
    roots = [float(each(FEW.p[:, k], FEW.y == k, 15, variance="label")) for k in range(3)]
    same(calibre.classwise_ece(FEW.y, FEW.p), np.mean(roots), 1e-6)
    other(calibre.classwise_ece(FEW.y, FEW.p), b.marginal_calibration_error(FEW.p, FEW.y, 15))


@says("debiased_calibration_error", "uncertainty-calibration")
def _() -> None:
    import calibration

    found = calibration.get_calibration_error(MANY.p, MANY.y, mode="top-label")
    same(found, b.debiased_calibration_error(MANY.p, MANY.y, 15, variance="label"), 1e-6)
    p, y = of("heaped_tenths")  # 11 different scores: a bin for each
    assert len(np.unique(p)) < len(p) / 4
    halfway = [0, *((np.unique(p)[:-1] + np.unique(p)[1:]) / 2), 1]
    same(
        calibration.get_calibration_error(p, y),
        b.debiased_calibration_error(p, y, edges=halfway, variance="label"),
        1e-6,
    )
    by_class = [float(b.debiased_calibration_error(MANY.p[:, k], MANY.y == k, 15, variance="label")) for k in range(10)]
    same(calibration.get_calibration_error(MANY.p, MANY.y), math.sqrt(np.mean(np.square(by_class))), 1e-6)


@says("debiased_calibration_error", "calibre")
def _() -> None:
    import calibre

    for name in ("smooth", *ENDS):
        p, y = of(name)
        same(calibre.debiased_calibration_error(y, p), b.debiased_calibration_error(p, y, 15, variance="label"), 1e-6)


@says("sweep_calibration_error", "calibre")
def _() -> None:
    import calibre

    for name in ("smooth", "clinical"):
        p, y = of(name)
        same(calibre.sweep_calibration_error(y, p, norm=1), b.sweep_calibration_error(p, y))
        same(calibre.sweep_calibration_error(y, p), b.sweep_calibration_error(p, y, norm=2))


# --- without bins ---


@says("smooth_calibration_error", "relplot")
def _() -> None:
    import relplot

    for name in ("smooth", "clinical"):
        p, y = of(name)
        value, width = relplot.smECE(p, y, return_width=True)
        same(width * 1024, round(width * 1024))
        same(value, b.smooth_calibration_error(p, y), 0.02, 1 / 1024)
    p, y = np.repeat([0.0, 0.4], 100), np.repeat([1, 0], 100)  # all the error of the upper half is of rows at 0
    theirs, ours = relplot.smECE_sigma(p, y, sigma=0.02), b.smooth_calibration_error(p, y, bandwidth=0.02)
    same(ours, 0.7, 1e-6)
    same(theirs, (0.5 * 1 + 0.4) / 1.5, 0.02)  # they count half, and the mass with them


@says("smooth_calibration_error", "calibre")
def _() -> None:
    import calibre
    import relplot

    for name in ("smooth", *ENDS):
        p, y = of(name)
        same(calibre.smooth_calibration_error(y, p), relplot.smECE(p, y), 1e-6)


@says("smooth_calibration_error", "probmetrics")
def _() -> None:
    import relplot

    for name in ("smooth", *ENDS):
        p, y = of(name)
        single(probmetrics("smece", p, y), relplot.smECE(p, y))


@says("maximum_mean_calibration_error", "netcal")
def _() -> None:
    from netcal.metrics import MMCE

    same(MMCE().measure(FEW.p, FEW.y), b.maximum_mean_calibration_error(FEW.p, FEW.y))
    p, y = of("clinical")
    other(MMCE().measure(p, y), b.maximum_mean_calibration_error(p, y))
    gap = (y == (p > 0.5)) - p
    same(MMCE().measure(p, y), math.sqrt(gap @ np.exp(-2.5 * np.abs(p[:, None] - p)) @ gap) / len(y))


@says("kolmogorov_smirnov_calibration_error", "MAPIE")
def _() -> None:
    from mapie.metrics.calibration import kolmogorov_smirnov_statistic

    p, y = of("smooth")
    scale = math.sqrt((p * (1 - p)).sum()) / len(p)
    found = kolmogorov_smirnov_statistic(y, p)
    same(found, b.kolmogorov_smirnov_calibration_error(p, y) / scale, 1e-5)
    same(found, b.kolmogorov_smirnov_test(p, y).statistic, 1e-5)


@says("kuiper_calibration_error", "MAPIE")
def _() -> None:
    from mapie.metrics.calibration import kuiper_statistic

    p, y = of("smooth")
    same(kuiper_statistic(y, p), b.kuiper_test(p, y).statistic, 1e-5)
    p, y = of("too_high")  # the sum never comes back to 0
    scale = math.sqrt((p * (1 - p)).sum()) / len(p)
    sums = np.cumsum((y - p)[np.argsort(p)]) / len(p)
    same(kuiper_statistic(y, p), np.ptp(sums) / scale, 1e-5)
    assert kuiper_statistic(y, p) < b.kuiper_test(p, y).statistic - 1e-4


@says("kolmogorov_smirnov_calibration_error", "probmetrics")
@says("kuiper_calibration_error", "probmetrics")
def _() -> None:
    for name in ("smooth", "too_high"):
        single(probmetrics("kuiper", *of(name)), b.kuiper_calibration_error(*of(name)))
        single(probmetrics("kolmogorov-smirnov", *of(name)), b.kolmogorov_smirnov_calibration_error(*of(name)))
    p, y = np.full(100, 0.5), np.repeat([1, 0], 50)
    for name, error in (
        ("kuiper", b.kuiper_calibration_error),
        ("kolmogorov-smirnov", b.kolmogorov_smirnov_calibration_error),
    ):
        same(error(p, y), 0)
        other(probmetrics(name, p, y), 0)


# --- clinical ---


@says("calibration_in_the_large", "calzone")
@says("calibration_slope_intercept", "calzone")
def _() -> None:
    from calzone.metrics import cox_regression_analysis

    p, y = of("clinical")
    slope, intercept = cox_regression_analysis(y, columns(p))[:2]
    ours = b.calibration_slope_intercept(p, y)
    same([slope, intercept], [ours.slope.value, ours.intercept.value])
    same(cox_regression_analysis(y, columns(p), fix_slope=True)[1], b.calibration_in_the_large(p, y).value)
    p, y = of("half_saturated")
    found = cox_regression_analysis(y, columns(p))[0]
    moved = b.calibration_slope_intercept(np.clip(p, 1e-7, 1 - 1e-7), y).slope.value
    same(found, moved, 1e-6)
    other(found, b.calibration_slope_intercept(p, y).slope.value)
    found = cox_regression_analysis(y, columns(p), fix_slope=True)[1]
    same(found, b.calibration_in_the_large(np.clip(p, 1e-7, 1 - 1e-7), y).value, 1e-6)


@says("calibration_in_the_large", "R")
def _() -> None:
    values = {r["input"]: r["value"]["estimate"] for r in recorded("r") if r["quantity"] == "in the large"}
    same(values["clinical"], b.calibration_in_the_large(*of("clinical")).value)


@says("calibration_slope_intercept", "R: rms")
def _() -> None:
    values = {r["input"]: r["value"] for r in recorded("rms") if r["quantity"] == "val.prob"}
    for name in ("smooth", "clinical", "half_saturated"):
        p, y = of(name)
        kept = (p > 0) & (p < 1)
        ours = b.calibration_slope_intercept(p[kept], y[kept])
        same([values[name]["Slope"], values[name]["Intercept"]], [ours.slope.value, ours.intercept.value], 3e-5)


@says("integrated_calibration_index", "calzone")
def _() -> None:
    import inspect

    from calzone.metrics import lowess_regression_analysis

    assert inspect.signature(lowess_regression_analysis).parameters["span"].default == 0.5
    p, y = of("smooth")
    other(lowess_regression_analysis(y, columns(p))[0], b.integrated_calibration_index(p, y))
    p, y = of("clinical")  # where the curve stays in [0, 1]
    found = lowess_regression_analysis(y, columns(p), span=0.75, delta=0)[0]
    same(found, b.integrated_calibration_index(p, y, span=0.75, degree=1), 1e-6)


@says("integrated_calibration_index", "R: rms")
def _() -> None:
    values = {r["input"]: r["value"] for r in recorded("rms") if r["quantity"] == "val.prob"}
    p, y = of("smooth")
    same(values["smooth"]["Eavg"], b.integrated_calibration_index(p, y, span=2 / 3, degree=1), 1e-2)
    other(values["smooth"]["Eavg"], b.integrated_calibration_index(p, y))


def main() -> int:
    """Run every check; exit code 1 if one fails or is missing."""
    rows = {(row.name, library) for row in b.METRICS.values() for library, _ in row.elsewhere}
    failed = [f"{metric}, {library}: no check" for metric, library in sorted(rows - CHECKS.keys())]
    for (metric, library), check in CHECKS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check()
        except Exception as error:
            failed.append(f"{metric}, {library}: {type(error).__name__}: {error}")
    print("\n".join([*failed, f"{len(CHECKS)} claims, {len(failed)} failed"]))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
