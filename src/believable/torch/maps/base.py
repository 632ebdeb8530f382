"""`RecalibrationModule`: what recalibrators share in torch, and their NumPy form, which is also their JSON form."""

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
    """A map from logits to logits with parameters, which is a recalibrator of `believable.recalibrate` in torch.

    Parameters are float64, so that they are those of the NumPy estimator to the last bit; `module.float()` makes them
    float32, where a device has no other. They are never narrower: `model.half()` and the like leave them float32 in a
    model that is otherwise of a half type. Logits are returned in the type they came in: float64 is computed in
    float64, everything else in float32, half types too.
    """

    _form: dict[str, Any] | None = None  # the saved form but for its maps; None: not known yet

    def to_numpy(self) -> Any:
        """The fitted NumPy estimator with these parameters."""
        from believable.recalibrate import load_recalibrator

        return load_recalibrator(self._text())

    @classmethod
    def from_numpy(cls, estimator: Recalibrator, *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE) -> Self:
        """The module of a fitted NumPy estimator.

        Parameters
        ----------
        estimator : Recalibrator
            Of the same name.
        device, dtype : optional
            Of the parameters.

        Returns
        -------
        RecalibrationModule
            On logits it gives those of the estimator's probabilities.
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
        """The JSON text of the NumPy estimator, also written to a file if a path is given."""
        return str(self.to_numpy().to_json(path))

    @classmethod
    def from_json(
        cls, source: str | os.PathLike[str], *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
    ) -> Self:
        """The module of a saved recalibrator: a path, or the JSON text itself."""
        from believable.recalibrate import load_recalibrator

        return cls.from_numpy(load_recalibrator(source), device=device, dtype=dtype)

    # --- what a module says of itself ---

    @abstractmethod
    def _map(self) -> dict[str, Any]:
        """Parameters under the names of the saved form, in plain numbers."""

    @abstractmethod
    def _set(self, learnt: dict[str, Any]) -> None:
        """Take parameters from the saved form."""

    @abstractmethod
    def _blank(self) -> dict[str, Any]:
        """Columns, classes and settings where neither a fit nor an estimator said them."""

    def _refuse(self, saved: dict[str, Any]) -> None:
        """Raise where the map of an estimator is not one of logits."""

    # --- between the two ---

    @classmethod
    def _estimator(cls) -> type[Recalibrator]:
        """The NumPy estimator of the same name."""
        from believable import recalibrate

        found: type[Recalibrator] = getattr(recalibrate, cls.__name__)
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """What `to`, `half` and `cuda` do to each parameter, but for half types: these numbers are few and matter."""

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
        (learnt,) = saved["maps"]
        self._set(learnt)
        self._form = {name: saved[name] for name in ("input", "columns", "classes", "settings")}


def as_module(
    recalibrator: Recalibrator, *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
) -> RecalibrationModule:
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
    """Raise unless parameters may be of this type."""
    if dtype not in (torch.float64, torch.float32):
        raise InputError(
            "{argument} must be torch.float64 or torch.float32, got {got!r}: logits may be of any float type",
            argument="dtype",
            got=dtype,
        )


def form(columns: int, n_classes: int, settings: dict[str, Any]) -> dict[str, Any]:
    """The saved form of a map of logits whose classes are numbers, but for the map."""
    return {"input": "logits", "columns": columns, "classes": list(range(n_classes)), "settings": settings}


def assign(parameter: Tensor, values: Any) -> None:
    """Set the numbers of a parameter."""
    with torch.no_grad():
        parameter.copy_(torch.as_tensor(values, dtype=torch.float64, device="cpu"))
