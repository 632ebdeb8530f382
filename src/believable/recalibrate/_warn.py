"""Warnings that point to the line of the user's, however deep inside they are given."""

from __future__ import annotations

import sys
import warnings

OURS = ("believable", "sklearn", "joblib")


def warn(sentence: str, category: type[Warning]) -> None:
    """Warn where this package, or scikit-learn, was called from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)
