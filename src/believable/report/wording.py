"""How numbers and metrics are written: the digits that a number deserves, and what metrics are called."""

from __future__ import annotations

import math

METRIC_NAMES = {
    "auc": "AUC",
    "brier": "Brier score",
    "bss": "Brier skill score",
    "ks": "Kolmogorov–Smirnov error",
    "nll": "log loss",
    "oe": "observed over expected",
    "slope": "calibration slope",
}
SHORT_METRIC_NAMES = {
    "ece": "ECE",
    "smece": "Smooth ECE",
    "ace": "Adaptive error",
    "mce": "Largest gap (MCE)",
    "rmsce": "Root mean square error",
    "dce": "Debiased error",
    "ks": "Kolmogorov–Smirnov error",
    "ici": "Integrated index (ICI)",
    "slope": "Calibration slope",
    "citl": "Shift on the whole",
    "oe": "Happened / predicted",
    "sce": "Class-wise error",
    "tlce": "Top-label error",
    "brier": "Brier score",
    "nll": "Log loss",
    "auc": "AUC",
    "acc": "Accuracy",
    "bss": "Brier skill",
    "sharpness": "Sharpness",
}


def long_name(alias: str, name: str) -> str:
    """The name of a metric in words, for a line of text."""
    return METRIC_NAMES.get(alias, name.replace("_", " "))


def short_name(alias: str, name: str) -> str:
    """Two or three words for a metric, with a capital, for a narrow column."""
    return SHORT_METRIC_NAMES.get(alias, name.replace("_", " ").capitalize())


def decimals(least: int, *shares: float) -> int:
    """Digits after the point: two that count of the smallest share, and of what the largest lacks of 1; at most 8."""
    seen = [one for share in shares for one in (share, 1 - share) if one > 1e-8]
    return min(max([least, *(1 - math.floor(math.log10(one)) for one in seen)]), 8)


def digits_apart(low: float, high: float) -> int:
    """Digits after the point, with which the ends of an interval differ: four, or more where very many rows make it
    narrow; at most 10."""
    width = abs(high - low)
    return min(max(4, -math.floor(math.log10(width))), 10) if 0 < width < math.inf else 4


def rows_rounded_up(number: float) -> int:
    """To two digits that count: a number of rows that is asked for is never less than those there are."""
    step: int = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / step - 1e-9) * step


def shown(value: float | None, digits: int = 4) -> str:
    """Four digits after the point, or so many; or what stands for no number."""
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}f}" if math.isfinite(value) else "infinite" if value > 0 else "-infinite"


def signed(value: float) -> str:
    """A difference, as `shown` shows it and with its sign."""
    return f"{value:+.4f}" if math.isfinite(value) else f"{'+' if value > 0 else ''}{shown(value)}"
