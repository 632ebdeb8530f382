"""Recalibrators as modules, from logits to logits, in files named like those of `believable.recalibrate`."""

from __future__ import annotations

from believable.torch.maps.base import RecalibrationModule, as_module
from believable.torch.maps.dirichlet import DirichletCalibration
from believable.torch.maps.matrix import MatrixScaling
from believable.torch.maps.model import ModelWithTemperature
from believable.torch.maps.temperature import TemperatureScaling
from believable.torch.maps.vector import VectorScaling

__all__ = [
    "MODULES",
    "DirichletCalibration",
    "MatrixScaling",
    "ModelWithTemperature",
    "RecalibrationModule",
    "TemperatureScaling",
    "VectorScaling",
    "as_module",
]

MODULES: tuple[type[RecalibrationModule], ...] = (
    TemperatureScaling,
    VectorScaling,
    MatrixScaling,
    DirichletCalibration,
)
