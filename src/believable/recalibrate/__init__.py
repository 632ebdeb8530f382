"""Maps from scores to probabilities that can be believed: one estimator per file, in the manner of scikit-learn."""

from believable.recalibrate._base import Recalibrator
from believable.recalibrate._facts import RECALIBRATORS, Facts
from believable.recalibrate.platt import PlattScaling
from believable.recalibrate.saved import load_recalibrator

__all__ = [
    "RECALIBRATORS",
    "Facts",
    "PlattScaling",
    "Recalibrator",
    "load_recalibrator",
]
