"""PyTorch support: meters on the device of the model, recalibrators as modules, losses for training.

Results equal those of the NumPy functions. Everything runs on a CPU; a GPU is faster.
"""

from __future__ import annotations

from typing import Any

from believable import _optional

try:
    import torch as _torch  # noqa: F401 - imported to say how to install it
except ImportError as error:
    raise _optional.missing("believable.torch needs", "torch") from error

from believable.torch.averaging import ensemble_predict, mc_dropout_predict
from believable.torch.counting import CalibrationMeter, bin_stats, summarize
from believable.torch.ece_loss import ECELoss
from believable.torch.kernel_calibration_error import kernel_calibration_error, squared_kernel_calibration_error
from believable.torch.losses import (
    ConfidencePenalty,
    FocalLoss,
    KCELoss,
    LabelSmoothingLoss,
    MixupLoss,
    MMCELoss,
    SoftECE,
    mixup,
    smooth_labels,
)
from believable.torch.losses import Mixed as Mixed
from believable.torch.maps import (
    DirichletCalibration,
    MatrixScaling,
    ModelWithTemperature,
    TemperatureScaling,
    VectorScaling,
    as_module,
)
from believable.torch.maps import RecalibrationModule as RecalibrationModule
from believable.torch.tokens import TokenCalibration, token_calibration

__all__ = [
    "CalibrationMeter",
    "ConfidencePenalty",
    "DirichletCalibration",
    "ECELoss",
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
        from believable.torch.torchmetrics import CalibrationError

        return CalibrationError
    raise AttributeError(f"module 'believable.torch' has no attribute {name!r}")
