"""The short names of the Calibration Toolbox: probabilities and labels, 15 bins, one general function underneath.

Unlike there, probabilities of 0 count, classes are compared with the frequency of their label, and input arrays are not
modified.

>>> prob = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]
>>> round(ECE(prob, [0, 2]), 12), round(SCE(prob, [0, 2]), 12)
(0.4, 0.333333333333)
"""

from __future__ import annotations

from typing import Any, Literal

from believable import _check
from believable._types import Float64s
from believable.curves import calibration_curve
from believable.errors import InputError
from believable.metrics import (
    confidence_decomposition,
    expected_calibration_error,
    kernel_calibration_error,
    kolmogorov_smirnov_calibration_error,
    maximum_mean_calibration_error,
)
from believable.metrics.confidence_decomposition import ConfidenceDecomposition
from believable.predictions import Predictions, as_predictions

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
    "ToprCE",
    "reliability_diagram",
]


def GCE(
    prob: Any,
    labels: Any = None,
    bin: int = 15,
    class_conditional: bool = True,
    adaptive_bins: bool = False,
    top_k_classes: int | Literal["all"] = 1,
    norm: float | Literal["inf"] = 1,
    thresholding: float = 0.0,
) -> float:
    """General calibration error, with every choice of the other functions as an argument.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, K)
    labels : array-like of shape (n,)
    bin : int
        The number of bins.
    class_conditional : bool
        Use separate bins for ranks (or classes, for "all"); otherwise they share bins.
    adaptive_bins : bool
        Use bins of equal weight instead of equal width.
    top_k_classes : int or "all"
        Use the k largest probabilities of each row, or all of them. 1-D scores are P(y = 1), and always one.
    norm : number >= 1 or "inf"
    thresholding : float
        Use only entries above it; 0 uses all, including zeros.
    """
    _check.flag(class_conditional, "class_conditional")
    _check.flag(adaptive_bins, "adaptive_bins")
    predictions = as_predictions(prob, labels)
    notion, r = _notion(predictions, top_k_classes)
    return expected_calibration_error(
        predictions,
        n_bins=bin,
        strategy="quantile" if adaptive_bins else "uniform",
        notion=notion,
        r=r,
        norm=_norm(norm),
        threshold=_check.number(thresholding, "thresholding", 0, 1) or None,
        pooled=not class_conditional,
    )


def _norm(norm: Any) -> Any:
    is_infinite = isinstance(norm, (str, float)) and norm in ("inf", float("inf"))
    return "max" if is_infinite else norm


def _notion(predictions: Predictions, top: int | Literal["all"]) -> tuple[Any, int | None]:
    if predictions.kind == "binary":
        return "binary", None
    if (isinstance(top, str) and top == "all") or predictions.kind == "multilabel":
        return "classwise", None
    if isinstance(top, str):
        raise InputError("{argument} must be a number or 'all', got {got!r}", argument="top_k_classes", got=top)
    return "top_r", _check.positive_integer(top, "top_k_classes", 1, predictions.n_classes)


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
    """Top-r calibration error: the r largest probabilities of each row (at most all), with separate bins by rank."""
    predictions = _matrix(prob, labels, "ToprCE")
    return GCE(predictions, None, bin, top_k_classes=min(_check.positive_integer(r, "r"), predictions.n_classes))


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
