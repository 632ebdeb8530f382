"""What metrics are called: in tables of text, and short where there is little room."""

from __future__ import annotations

_LONG = {
    "auc": "AUC",
    "brier": "Brier score",
    "bss": "Brier skill score",
    "ks": "Kolmogorov–Smirnov error",
    "nll": "log loss",
    "oe": "observed over expected",
    "slope": "calibration slope",
}
_SHORT = {
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
    """The name in words."""
    return _LONG.get(alias, name.replace("_", " "))


def short_name(alias: str, name: str) -> str:
    """Two or three words, with a capital."""
    return _SHORT.get(alias, name.replace("_", " ").capitalize())
