"""`RecalibrationModule`: shared code of the recalibrators in torch, with conversion to NumPy and JSON."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from believable.errors import InputError

if TYPE_CHECKING:
    from believable.recalibrate import Recalibrator

PARAMETER_TYPE = torch.float64
HALF_TYPES = (torch.float16, torch.bfloat16)


class RecalibrationModule(nn.Module, ABC):
    """A recalibrator of `believable.recalibrate` as a torch module: a calibration map from logits to logits.

    Parameters are float64, so that they equal those of the NumPy estimator exactly; `module.float()` makes them
    float32, for devices without float64. They are never narrower: `model.half()` and the like leave them float32 in a
    model that is otherwise of a half type. Logits are returned in their own type: float64 is computed in float64,
    everything else, including half types, in float32.
    """

    _form: dict[str, Any] | None = None  # the saved form without its maps; None if not known yet

    def to_numpy(self) -> Any:
        """Return the fitted NumPy estimator with these parameters."""
        from believable.recalibrate import load_recalibrator

        return load_recalibrator(self._text())

    @classmethod
    def from_numpy(cls, estimator: Recalibrator, *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE) -> Self:
        """Make the module of a fitted NumPy estimator.

        Parameters
        ----------
        estimator : Recalibrator
            The fitted estimator of the same name.
        device, dtype : optional
            Device and type of the parameters.

        Returns
        -------
        RecalibrationModule
            Its output for logits are the logits of the estimator's probabilities.
        """
        check_dtype(dtype)
        if not isinstance(estimator, cls._estimator()):
            raise InputError(
                f"{cls.__name__} is made from the NumPy {cls.__name__}, not from {type(estimator).__name__}"
            )
        saved = json.loads(estimator.to_json())
        module = cls(len(saved["classes"]))
        module._refuse(saved)
        module._load(saved)
        return module.to(device=device, dtype=dtype)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the NumPy estimator as JSON, and write it to a file if a path is given."""
        return str(self.to_numpy().to_json(path))

    @classmethod
    def from_json(
        cls, source: str | os.PathLike[str], *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
    ) -> Self:
        """Load the module of a saved recalibrator: a path, or the JSON text itself."""
        from believable.recalibrate import load_recalibrator

        return cls.from_numpy(load_recalibrator(source), device=device, dtype=dtype)

    # --- what a module implements ---

    @abstractmethod
    def _map(self) -> dict[str, Any]:
        """Return the parameters as plain numbers, under the names of the saved form."""

    @abstractmethod
    def _set(self, fitted: dict[str, Any]) -> None:
        """Set the parameters from the saved form."""

    @abstractmethod
    def _blank(self) -> dict[str, Any]:
        """Return columns, classes and settings for a module without a fit or an estimator."""

    def _refuse(self, saved: dict[str, Any]) -> None:
        """Raise if the map of an estimator does not take logits."""

    # --- conversion ---

    @classmethod
    def _estimator(cls) -> type[Recalibrator]:
        """Return the NumPy estimator class of the same name."""
        from believable import recalibrate

        found: type[Recalibrator] = getattr(recalibrate, cls.__name__)
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Do what `to`, `half` and `cuda` do, except half types: these few numbers need their precision."""

        def wide(tensor: Tensor) -> Tensor:
            made = fn(tensor)
            return tensor.to(made.device, torch.float32) if made.dtype in HALF_TYPES else made

        super()._apply(wide, recurse)
        return self

    def _text(self) -> str:
        from believable.recalibrate.saved import MAP_SCHEMA, MAP_VERSION

        form = self._blank() if self._form is None else self._form
        head = {"schema": MAP_SCHEMA, "version": MAP_VERSION, "method": type(self).__name__}
        return json.dumps({**head, **form, "maps": [self._map()]})

    def _load(self, saved: dict[str, Any]) -> None:
        (fitted,) = saved["maps"]
        self._set(fitted)
        self._form = {name: saved[name] for name in ("input", "columns", "classes", "settings")}


def as_module(
    recalibrator: Recalibrator, *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
) -> RecalibrationModule:
    """Make a module of a fitted recalibrator: temperature, vector or matrix scaling, or Dirichlet calibration.

    Its `to_numpy()` returns the recalibrator, with exactly the same numbers if the parameters are float64.

    Parameters
    ----------
    recalibrator : Recalibrator
        A recalibrator that is fitted, or loaded with `load_recalibrator`. Vector and matrix scaling must have been
        fitted on logits; the others give the same result for logits as for their probabilities.
    device, dtype : optional
        Device and type of the parameters.

    Returns
    -------
    RecalibrationModule

    Examples
    --------
    >>> from believable.recalibrate import load_recalibrator
    >>> from believable.torch import TemperatureScaling
    >>> scaling = TemperatureScaling(n_classes=3)
    >>> again = as_module(load_recalibrator(scaling.to_json()))
    >>> again(torch.tensor([[3.0, 0.0, 0.0]]))
    tensor([[2., 0., 0.]], grad_fn=...)
    """
    from believable.torch.maps import MODULES

    modules = {module.__name__: module for module in MODULES}
    module = modules.get(type(recalibrator).__name__)
    if module is None:
        raise InputError(f"there is a module for {', '.join(modules)}, and none for {type(recalibrator).__name__}")
    return module.from_numpy(recalibrator, device=device, dtype=dtype)


def check_dtype(dtype: Any) -> None:
    """Raise unless parameters may have this type."""
    if dtype not in (torch.float64, torch.float32):
        raise InputError(
            "{argument} must be torch.float64 or torch.float32, got {got!r}; logits may have any float type",
            argument="dtype",
            got=dtype,
        )


def form(columns: int, n_classes: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the saved form of a map of logits whose classes are numbers, without the map."""
    return {"input": "logits", "columns": columns, "classes": list(range(n_classes)), "settings": settings}


def assign(parameter: Tensor, values: Any) -> None:
    """Set the values of a parameter."""
    with torch.no_grad():
        parameter.copy_(torch.as_tensor(values, dtype=torch.float64, device="cpu"))
