"""Calibration in torch: meters on the device of the model, recalibration as modules, losses for training.

The only room that imports torch. Its numbers are those of the NumPy core; CPU is enough, a GPU makes it quick.
"""

from __future__ import annotations

from typing import Any

try:
    import torch as _torch  # noqa: F401 - the door: say how to open it
except ImportError as error:
    raise ImportError("believable.torch needs torch: pip install 'believable[torch]'") from error

from believable.torch.averaging import ensemble_predict, mc_dropout_predict
from believable.torch.counting.meter import CalibrationMeter
from believable.torch.counting.summarize import bin_stats, summarize
from believable.torch.kernel_calibration_error import kernel_calibration_error, squared_kernel_calibration_error
from believable.torch.losses.confidence_penalty import ConfidencePenalty
from believable.torch.losses.focal import FocalLoss
from believable.torch.losses.kce import KCELoss
from believable.torch.losses.label_smoothing import LabelSmoothingLoss, smooth_labels
from believable.torch.losses.mixup import Mixed as Mixed
from believable.torch.losses.mixup import MixupLoss, mixup
from believable.torch.losses.mmce import MMCELoss
from believable.torch.losses.soft_ece import SoftECE
from believable.torch.maps.base import RecalibrationModule as RecalibrationModule
from believable.torch.maps.convert import as_module
from believable.torch.maps.dirichlet import DirichletCalibration
from believable.torch.maps.matrix import MatrixScaling
from believable.torch.maps.model import ModelWithTemperature
from believable.torch.maps.temperature import TemperatureScaling
from believable.torch.maps.vector import VectorScaling
from believable.torch.tokens.calibration import TokenCalibration
from believable.torch.tokens.token_calibration import token_calibration

__all__ = [
    "CalibrationMeter",
    "ConfidencePenalty",
    "DirichletCalibration",
    "FocalLoss",
    "KCELoss",
    "LabelSmoothingLoss",
    "MMCELoss",
    "MatrixScaling",
    "MixupLoss",
    "ModelWithTemperature",
    "SoftECE",
    "TemperatureScaling",
    "TokenCalibration",
    "VectorScaling",
    "as_module",
    "bin_stats",
    "ensemble_predict",
    "kernel_calibration_error",
    "mc_dropout_predict",
    "mixup",
    "smooth_labels",
    "squared_kernel_calibration_error",
    "summarize",
    "token_calibration",
]


def __getattr__(name: str) -> Any:
    if name == "CalibrationError":  # the only name that needs torchmetrics
        from believable.torch.counting.torchmetrics import CalibrationError

        return CalibrationError
    raise AttributeError(f"module 'believable.torch' has no attribute {name!r}")
