"""How numbers and metrics are written: how many digits a number gets, and the names of metrics in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    "citl": "Calibration in the large",
    "oe": "Observed / predicted",
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
    """Return the name of a metric in words, for a line of text."""
    return METRIC_NAMES.get(alias, name.replace("_", " "))


def short_name(alias: str, name: str) -> str:
    """Return two or three words for a metric, capitalised, for a narrow column."""
    return SHORT_METRIC_NAMES.get(alias, name.replace("_", " ").capitalize())


def decimals(least: int, *shares: float) -> int:
    """Return how many digits after the point show two significant digits of every share and of 1 minus it; at most 8.

    `least` is the smallest number of digits to return.
    """
    seen = [one for share in shares for one in (share, 1 - share) if one > 1e-8]
    return min(max([least, *(1 - math.floor(math.log10(one)) for one in seen)]), 8)


def percents(*shares: float, least: int = 0) -> list[str]:
    """Write shares as percentages, with just enough digits for two significant ones and for different shares to differ.

    Examples
    --------
    >>> percents(0.9599, 0.8366), percents(0.021, 0.0087), percents(0.948, 0.951)
    (['96 %', '84 %'], ['2.1 %', '0.87 %'], ['94.8 %', '95.1 %'])
    """
    apart = len({f"{one:.6g}" for one in shares})
    for more in range(4):
        made = [f"{100 * one:.{max(_digits_of_percent(one), least) + more}f} %" for one in shares]
        if len(set(made)) == apart:
            break
    return made


def _digits_of_percent(share: float) -> int:
    """Return how many digits after the point show two significant ones of a percentage, and of 100 % minus it."""
    if 0 < share < 0.095:
        return min(1 - math.floor(math.log10(100 * share) + 1e-9), 7)
    if 0.99 < share < 1:
        return min(1 - math.floor(math.log10(100 * (1 - share)) + 1e-9), 7)
    return 0


def digits_apart(low: float, high: float) -> int:
    """Return how many digits after the point make the ends of an interval differ: 4, or up to 10 if it is narrow."""
    width = abs(high - low)
    return min(max(4, -math.floor(math.log10(width))), 10) if 0 < width < math.inf else 4


def rows_rounded_up(number: float) -> int:
    """Round a number of rows up to two significant digits, so that the rows asked for are never too few."""
    step: int = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / step - 1e-9) * step


def shown(value: float | None, digits: int = 4) -> str:
    """Write a number with a fixed number of digits after the point; None and NaN are written as a dash."""
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}f}" if math.isfinite(value) else "infinite" if value > 0 else "-infinite"


def signed(value: float) -> str:
    """Write a difference as `shown` does, with its sign."""
    return f"{value:+.4f}" if math.isfinite(value) else f"{'+' if value > 0 else ''}{shown(value)}"


def in_series(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence: "site, sex and age"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
