"""From a NumPy recalibrator to a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from believable.errors import InputError
from believable.torch.maps.base import DTYPE, RecalibrationModule
from believable.torch.maps.dirichlet import DirichletCalibration
from believable.torch.maps.matrix import MatrixScaling
from believable.torch.maps.temperature import TemperatureScaling
from believable.torch.maps.vector import VectorScaling

if TYPE_CHECKING:
    from believable.recalibrate import Recalibrator

MODULES: dict[str, type[RecalibrationModule]] = {
    module.__name__: module for module in (TemperatureScaling, VectorScaling, MatrixScaling, DirichletCalibration)
}


def as_module(recalibrator: Recalibrator, *, device: Any = None, dtype: torch.dtype = DTYPE) -> RecalibrationModule:
    """The module of a fitted recalibrator: `TemperatureScaling`, `VectorScaling`, `MatrixScaling`, or Dirichlet's.

    Its `to_numpy()` gives the recalibrator back, with the same numbers to the last bit if the parameters are float64.

    Parameters
    ----------
    recalibrator : Recalibrator
        Fitted, or loaded with `load_recalibrator`. Vector and matrix scaling must have been fitted on logits; the
        others give the same map for logits as for the probabilities that they stand for.
    device, dtype : optional
        Of the parameters.

    Returns
    -------
    RecalibrationModule

    Examples
    --------
    >>> import torch
    >>> from believable.recalibrate import load_recalibrator
    >>> scaling = TemperatureScaling(n_classes=3)
    >>> again = as_module(load_recalibrator(scaling.to_json()))
    >>> again(torch.tensor([[3.0, 0.0, 0.0]]))
    tensor([[2., 0., 0.]], grad_fn=...)
    """
    module = MODULES.get(type(recalibrator).__name__)
    if module is None:
        raise InputError(f"there is a module for {', '.join(MODULES)}, and none for {type(recalibrator).__name__}")
    return module.from_numpy(recalibrator, device=device, dtype=dtype)
