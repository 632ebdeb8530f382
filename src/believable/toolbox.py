"""The short names of the Calibration Toolbox and of tutorials, with their arguments.

Those of the Calibration Toolbox take probabilities and labels, use 15 bins, and have one general function underneath.
Unlike there, probabilities of 0 count, classes are compared with the frequency of their label, and input arrays are not
modified.

>>> prob = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]
>>> round(ECE(prob, [0, 2]), 12), round(SCE(prob, [0, 2]), 12)
(0.4, 0.333333333333)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._types import Array, Float64s, Notion, Strategy
from believable.curves import calibration_curve, reliability_table
from believable.errors import Hint, InputError
from believable.metrics import (
    brier_score,
    confidence_decomposition,
    expected_calibration_error,
    kernel_calibration_error,
    kolmogorov_smirnov_calibration_error,
    maximum_mean_calibration_error,
)
from believable.metrics.binned_error import binned_error
from believable.metrics.confidence_decomposition import ConfidenceDecomposition
from believable.predictions import Predictions, as_predictions
from believable.stats.source import count_bins

__all__ = [
    "ACE",
    "CWCE",
    "ECE",
    "GCE",
    "KCE",
    "KSCE",
    "MCE",
    "MMCE",
    "RMSCE",
    "SCE",
    "TACE",
    "TCE",
    "OverUnder",
    "T_scaling",
    "ToprCE",
    "brier_multi",
    "compute_adaptive_ece",
    "compute_brier_score",
    "compute_ece",
    "compute_mce",
    "get_ece",
    "reliability_diagram",
]

# --- the Calibration Toolbox ------------------------------------------------------------------------------------------


def GCE(
    prob: Any,
    labels: Any = None,
    bin: int = 15,
    class_conditional: bool | None = None,
    adaptive_bins: bool = False,
    top_k_classes: int | Literal["all"] = 1,
    norm: float | Literal["inf"] = 1,
    thresholding: float = 0.0,
) -> float:
    r"""General calibration error, with every choice of the other functions as an argument.

    .. math:: \text{class-conditional: } \Big( \sum_{k=1}^K \sum_b \frac{n_{bk}}{N K}
              \, |\mathrm{acc}_{bk} - \mathrm{conf}_{bk}|^p \Big)^{1/p}, \qquad
              \text{otherwise: } \Big( \sum_b \frac{n_b}{N r} \, |\mathrm{acc}_b - \mathrm{conf}_b|^p \Big)^{1/p}

    for N rows, K classes and the r largest probabilities of each row; n_bk counts those of class k in bin b, and n_b
    those of all classes. So the class-conditional error of r = K is that of "all". For a smaller r its weights add up
    to r / K, and r = 1 gives 1 / K of `believable.top_label_calibration_error` (for p = 1). To keep the largest, second
    largest, … apart by rank in place of class, use `believable.top_r_calibration_error`.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, K)
    labels : array-like of shape (n,)
    bin : int
        The number of bins.
    class_conditional : bool, optional
        Keep the classes apart, each with its own bins; otherwise they share bins. By default, they are kept apart
        unless only the largest probability is used, so that `GCE(prob, labels)` is the ECE.
    adaptive_bins : bool
        Use bins of equal weight instead of equal width.
    top_k_classes : int or "all"
        Use the r largest probabilities of each row, or all of them. 1-D scores are P(y = 1), and always one.
    norm : number >= 1 or "inf"
        The power p; "inf" gives the largest gap.
    thresholding : float
        Use only entries above it; 0 uses all, including zeros. The sum is then divided by the number of such entries:
        of all N K, in place of N K, if class-conditional (whatever r), otherwise of the N r, in place of N r.

    Examples
    --------
    >>> prob = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]
    >>> [round(GCE(prob, [0, 2], class_conditional=True, top_k_classes=r), 12) for r in (1, 2, 3, "all")]
    [0.133333333333, 0.283333333333, 0.333333333333, 0.333333333333]
    """
    _check.flag(class_conditional, "class_conditional", or_none=True)
    _check.flag(adaptive_bins, "adaptive_bins")
    predictions = as_predictions(prob, labels)
    if not isinstance(top_k_classes, str):
        _check.positive_integer(top_k_classes, "top_k_classes")
    if class_conditional is None:
        class_conditional = top_k_classes != 1 or predictions.kind == "multilabel"
    notion, r = _notion(predictions, top_k_classes, class_conditional)
    strategy: Strategy = "quantile" if adaptive_bins else "uniform"
    threshold = _check.number(thresholding, "thresholding", 0, 1) or None
    stats = count_bins(
        predictions, bin, strategy, notion=notion, r=r, threshold=threshold, pooled=not class_conditional
    )
    power = _norm(norm)
    error = binned_error(stats, power)
    if notion != "classwise_top_r" or power == "max":
        return error
    entries = predictions.pairs(predictions.view("classwise", threshold=threshold))
    total = sum(len(one.score) if one.weight is None else one.weight.sum() for one in entries)
    return float(error * (stats.w.sum() / total) ** (1 / power))


def _norm(norm: Any) -> Any:
    is_infinite = isinstance(norm, (str, float)) and norm in ("inf", float("inf"))
    return "max" if is_infinite else norm


def _notion(predictions: Predictions, top: Any, by_class: bool) -> tuple[Notion, int | None]:
    """Return the notion of the general error, and its rank."""
    if predictions.kind == "binary":
        return "binary", None
    if (isinstance(top, str) and top == "all") or predictions.kind == "multilabel":
        return "classwise", None
    if isinstance(top, str):
        raise InputError("{argument} must be a number or 'all', got {got!r}", argument="top_k_classes", got=top)
    r = _check.positive_integer(top, "top_k_classes", 1, predictions.n_classes)
    if r == predictions.n_classes:
        return "classwise", None
    return "classwise_top_r" if by_class else "top_r", r


def ECE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Expected calibration error (Guo et al. 2017)."""
    return GCE(prob, labels, bin)


def RMSCE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Root mean square calibration error."""
    return GCE(prob, labels, bin, norm=2)


def MCE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Maximum calibration error."""
    return GCE(prob, labels, bin, norm="inf")


def ACE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Adaptive calibration error: all classes, bins of equal weight (Nixon et al. 2019)."""
    return GCE(prob, labels, bin, adaptive_bins=True, top_k_classes="all")


def SCE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Static calibration error: all classes, bins of equal width (Nixon et al. 2019)."""
    return GCE(_matrix(prob, labels, "SCE"), None, bin, top_k_classes="all")


def TACE(prob: Any, labels: Any = None, bin: int = 15, threshold: float = 0.01) -> float:
    """Thresholded adaptive calibration error (Nixon et al. 2019)."""
    return GCE(prob, labels, bin, adaptive_bins=True, top_k_classes="all", thresholding=threshold)


def ToprCE(prob: Any, labels: Any = None, r: int = 3, bin: int = 15) -> float:
    """Class-conditional error of the r largest probabilities of each row (at most all), divided by N K: see `GCE`.

    r = K is the static error. `believable.top_r_calibration_error` keeps them apart by rank, and divides by N r.
    """
    predictions = _matrix(prob, labels, "ToprCE")
    top = min(_check.positive_integer(r, "r"), predictions.n_classes)
    return GCE(predictions, None, bin, class_conditional=True, top_k_classes=top)


def TCE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Top calibration error: confidence, bins of equal weight, norm 2 (Kumar et al. 2019)."""
    return GCE(prob, labels, bin, adaptive_bins=True, norm=2)


def CWCE(prob: Any, labels: Any = None, bin: int = 15) -> float:
    """Class-wise (marginal) calibration error: all classes, bins of equal weight, norm 2 (Kumar et al. 2019)."""
    return GCE(_matrix(prob, labels, "CWCE"), None, bin, adaptive_bins=True, top_k_classes="all", norm=2)


def KSCE(prob: Any, labels: Any = None) -> float:
    """Kolmogorov–Smirnov calibration error, without bins (Gupta et al. 2021)."""
    return kolmogorov_smirnov_calibration_error(prob, labels)


def MMCE(prob: Any, labels: Any = None) -> float:
    """Maximum mean calibration error, by a kernel on the confidences (Kumar et al. 2018)."""
    return maximum_mean_calibration_error(prob, labels)


def KCE(prob: Any, labels: Any = None) -> float:
    """Kernel calibration error of the whole vector of probabilities (Widmann et al. 2019)."""
    return kernel_calibration_error(prob, labels)


def OverUnder(prob: Any, labels: Any = None, bin: int = 15) -> ConfidenceDecomposition:
    """Split the ECE into its over- and under-confident parts: `.over`, `.under`, `.total`."""
    return confidence_decomposition(prob, labels, bin)


def reliability_diagram(probs: Any, labels: Any = None, n_bins: int = 10) -> tuple[Float64s, Float64s]:
    """Return the mean prediction and the fraction of positives of every non-empty bin."""
    mean_predicted, fraction_positives, _ = calibration_curve(probs, labels, n_bins)
    return mean_predicted, fraction_positives


def _matrix(prob: Any, labels: Any, name: str) -> Predictions:
    predictions = as_predictions(prob, labels)
    if predictions.kind == "binary":
        raise InputError(f"{name} needs a matrix with one column per class, got 1-D scores")
    return predictions


# --- tutorials --------------------------------------------------------------------------------------------------------


def compute_ece(
    confidences: Any, predictions: Any, labels: Any, n_bins: int = 15
) -> tuple[float, list[dict[str, float]]]:
    """Expected calibration error of (confidences, predicted classes, labels), with the bins it was computed from.

    It is `believable.expected_calibration_error(confidences, predictions == labels, n_bins)`: bins of equal width,
    right-closed, and confidences of 0 count. For a matrix of probabilities, use `ECE(probs, labels)`.

    Parameters
    ----------
    confidences : array-like of shape (n,)
        The probability of the predicted class.
    predictions, labels : array-like of shape (n,)
        The predicted and the true class of each row: numbers or text.
    n_bins : int
        The number of bins.

    Returns
    -------
    ece : float
    bin_data : list of dict
        One for each bin that holds rows, with the edges `bin_lower` (not in the bin, except 0) and `bin_upper`; the
        mean `confidence`; the `accuracy`; `count`, the number of rows; and `gap`, `|accuracy - confidence|`. So ece is
        the sum of count / n * gap. `conf` and `acc` are other names of `confidence` and `accuracy`.

    Examples
    --------
    >>> ece, bin_data = compute_ece([0.6, 0.7, 0.9], ["cat", "dog", "dog"], ["cat", "cat", "dog"], n_bins=2)
    >>> round(ece, 12), [(b["bin_lower"], b["bin_upper"], round(b["accuracy"], 12), b["count"]) for b in bin_data]
    (0.066666666667, [(0.5, 1.0, 0.666666666667, 3)])
    """
    table = reliability_table(*_answers(confidences, predictions, labels), n_bins)
    columns = (table.edges[:, 0], table.edges[:, 1], table.conf, table.acc, table.n, np.abs(table.gap))
    names = ("bin_lower", "bin_upper", "confidence", "accuracy", "count", "gap")
    bins = [dict(zip(names, row, strict=True)) for row in zip(*(one.tolist() for one in columns), strict=True)]
    bins = [one | {"conf": one["confidence"], "acc": one["accuracy"]} for one in bins if one["count"]]
    return sum(one["count"] / int(table.n.sum()) * one["gap"] for one in bins), bins


def compute_mce(confidences: Any, predictions: Any, labels: Any, n_bins: int = 15) -> float:
    """Maximum calibration error of (confidences, predicted classes, labels): the largest gap of a bin.

    The arguments are those of `compute_ece`.

    >>> round(compute_mce([0.6, 0.2, 0.9], [1, 0, 1], [1, 1, 1], n_bins=2), 12)
    0.25
    """
    return expected_calibration_error(*_answers(confidences, predictions, labels), n_bins, norm="max")


def compute_adaptive_ece(confidences: Any, predictions: Any, labels: Any, n_bins: int = 15) -> float:
    """Calibration error of (confidences, predicted classes, labels) in parts of equal size.

    The rows are sorted by confidence and cut into parts of n // n_bins rows; the last part takes the rest (all rows, if
    there are fewer than n_bins). This is `expected_calibration_error` with `convention="floor_split"`. Equal
    confidences are split, so the value depends on the order of rows; `adaptive_calibration_error` never splits them.
    The arguments are those of `compute_ece`.

    >>> round(compute_adaptive_ece([0.5, 0.6, 0.7, 0.8, 0.9], [1, 0, 1, 1, 1], [1, 1, 1, 1, 1], n_bins=2), 12)
    0.14
    """
    pairs = _answers(confidences, predictions, labels)
    return expected_calibration_error(*pairs, n_bins, convention="floor_split")


def compute_brier_score(probs: Any, labels: Any) -> float:
    """Brier score: `believable.brier_score` of probabilities and labels.

    For a matrix, the mean over rows of the sum over classes of (p - y)^2, in [0, 2]; tutorials that divide by the
    number of classes have a smaller value. For 1-D P(y = 1), mean (p - y)^2.

    >>> round(compute_brier_score([[0.9, 0.1], [0.2, 0.8]], [0, 1]), 12)
    0.05
    >>> round(compute_brier_score([0.1, 0.8], [0, 1]), 12)
    0.025
    """
    return brier_score(probs, labels)


def brier_multi(targets: Any, probs: Any) -> float:
    """Brier score of one-hot rows, in the order (targets, probs): see `compute_brier_score`.

    >>> round(brier_multi([[1, 0, 0], [0, 0, 1]], [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]), 12)
    0.46
    """
    rows = as_numpy(targets, "targets")
    if rows.ndim != 2 or not np.all((rows == 0) | (rows == 1)) or not np.all(rows.sum(axis=1) == 1):
        raise InputError(
            "{argument} must be one-hot: each row one 1, the rest 0",
            argument="targets",
            hint="for class numbers, use compute_brier_score(probs, labels)",
        )
    return brier_score(probs, rows.argmax(axis=1))


def get_ece(probs: Any, labels: Any, n_bins: int = 15) -> float:
    """Expected calibration error of probabilities: `ECE` under another name.

    A matrix is judged by its confidences, 1-D scores as P(y = 1). The function of uncertainty-calibration of this name
    takes `debias` in the third place.

    >>> round(get_ece([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2]), 12)
    0.4
    """
    return expected_calibration_error(probs, labels, n_bins)


def T_scaling(logits: Any, args: Any) -> Any:
    """Divide logits by a temperature: `T_scaling(logits, {"temperature": 2.0})`, or `T_scaling(logits, 2.0)`.

    Arrays and tensors are divided as they are, so that a temperature which torch is fitting keeps its gradient. To fit
    one, use `believable.recalibrate.TemperatureScaling`, or `believable.torch.ModelWithTemperature`.

    >>> T_scaling(np.array([[2.0, 0.0]]), {"temperature": 4.0})
    array([[0.5, 0. ]])
    """
    temperature = args["temperature"] if isinstance(args, Mapping) else args
    if not np.all(as_numpy(temperature, "temperature") > 0):
        raise InputError("{argument} must be positive, got {got}", argument="temperature", got=temperature)
    return (as_numpy(logits, "logits") if isinstance(logits, (list, tuple)) else logits) / temperature


def __getattr__(name: str) -> Any:
    if name == "ECELoss":  # the only name that needs torch
        from believable.torch import ECELoss

        return ECELoss
    raise AttributeError(f"module 'believable.toolbox' has no attribute {name!r}")


def _answers(confidences: Any, predictions: Any, labels: Any) -> tuple[Any, Array]:
    """Return the confidences, and whether each predicted class equals the label."""
    _check.same_index(confidences=confidences, predictions=predictions, labels=labels)
    scores = as_numpy(confidences, "confidences")
    predicted, actual = as_numpy(predictions, "predictions"), as_numpy(labels, "labels")
    for name, array in {"confidences": scores, "predictions": predicted, "labels": actual}.items():
        if array.ndim != 1:
            hint = (
                "the order is (confidences, predictions, labels); for a matrix of probabilities, use ECE(probs, labels)"
            )
            raise InputError("{argument} must be 1-D, got shape {got}", argument=name, got=array.shape, hint=hint)
        if len(array) != len(scores):
            raise InputError(
                "confidences and {argument} differ in length: {needed} and {got}",
                argument=name,
                needed=len(scores),
                got=len(array),
            )
    _check.probabilities(_check.numeric(scores, "confidences"), "confidences", None)
    _check.no_missing(predicted, None, "predictions", Hint.DROP_OR_REPAIR)
    _check.no_missing(actual, None, "labels", Hint.DROP_OR_REPAIR)
    for one, other in zip(predicted[:1].tolist(), actual[:1].tolist(), strict=True):
        if isinstance(one, str) != isinstance(other, str):
            raise InputError(
                "predictions and {argument} must both be numbers or both text, got {one!r} and {other!r}",
                argument="labels",
                one=one,
                other=other,
            )
    return scores, predicted == actual
