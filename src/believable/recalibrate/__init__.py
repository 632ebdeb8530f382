"""Recalibrators: scikit-learn estimators that turn scores into calibrated probabilities, one per file."""

from typing import TYPE_CHECKING, Any

from believable import _optional
from believable.recalibrate.average import AveragedCalibration
from believable.recalibrate.base import BinaryRecalibrator, MatrixRecalibrator, Recalibrator
from believable.recalibrate.bbq import BBQ
from believable.recalibrate.beta import BetaCalibration
from believable.recalibrate.beta_cdf import BetaCDFCalibration
from believable.recalibrate.calibrate import Calibration, Improvement, calibrate
from believable.recalibrate.crossfit import Gain, Scored
from believable.recalibrate.dirichlet import DirichletCalibration
from believable.recalibrate.ensemble_temperature import EnsembleTemperature
from believable.recalibrate.facts import RECALIBRATORS, Facts
from believable.recalibrate.grouped import GroupedRecalibrator
from believable.recalibrate.histogram import HistogramBinning
from believable.recalibrate.identity import Identity
from believable.recalibrate.isotonic import IsotonicCalibration
from believable.recalibrate.local_regression import LocalRegressionCalibration
from believable.recalibrate.logit_spline import LogitSplineCalibration
from believable.recalibrate.matrix import MatrixScaling
from believable.recalibrate.one_vs_rest import OneVsRest
from believable.recalibrate.platt import PlattScaling
from believable.recalibrate.prior_shift import PriorShift
from believable.recalibrate.quadratic import QuadraticScaling
from believable.recalibrate.rate_interval import rate_interval
from believable.recalibrate.refinement import Refinement, refinement
from believable.recalibrate.saved import load_recalibrator
from believable.recalibrate.scaling_binning import ScalingBinning
from believable.recalibrate.select import Candidate, Selection, select
from believable.recalibrate.spline import SplineCalibration
from believable.recalibrate.structured import StructuredScaling
from believable.recalibrate.temperature import TemperatureScaling
from believable.recalibrate.vector import VectorScaling
from believable.recalibrate.venn_abers import VennAbers, combine_intervals

if TYPE_CHECKING:
    from believable.recalibrate.recalibrated import Recalibrated


def __getattr__(name: str) -> Any:
    """Load `Recalibrated` when it is first used: it needs much of scikit-learn, of which nothing else is needed."""
    if name != "Recalibrated":
        raise AttributeError(f"module 'believable.recalibrate' has no attribute {name!r}")
    if not _optional.is_installed("sklearn"):
        return _optional.stand_in(name, "Recalibrated needs", "sklearn")
    from believable.recalibrate.recalibrated import Recalibrated

    return Recalibrated


__all__ = [
    "BBQ",
    "RECALIBRATORS",
    "AveragedCalibration",
    "BetaCDFCalibration",
    "BetaCalibration",
    "BinaryRecalibrator",
    "Calibration",
    "Candidate",
    "DirichletCalibration",
    "EnsembleTemperature",
    "Facts",
    "Gain",
    "GroupedRecalibrator",
    "HistogramBinning",
    "Identity",
    "Improvement",
    "IsotonicCalibration",
    "LocalRegressionCalibration",
    "LogitSplineCalibration",
    "MatrixRecalibrator",
    "MatrixScaling",
    "OneVsRest",
    "PlattScaling",
    "PriorShift",
    "QuadraticScaling",
    "Recalibrated",
    "Recalibrator",
    "Refinement",
    "ScalingBinning",
    "Scored",
    "Selection",
    "SplineCalibration",
    "StructuredScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "calibrate",
    "combine_intervals",
    "load_recalibrator",
    "rate_interval",
    "refinement",
    "select",
]
