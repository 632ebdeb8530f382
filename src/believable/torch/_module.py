"""What recalibration modules share: their NumPy form, which is also their JSON form, and how they compute."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from believable.errors import InputError
from believable.recalibrate import Recalibrator, load_recalibrator
from believable.recalibrate.saved import SCHEMA, VERSION

DTYPE = torch.float64


class RecalibrationModule(nn.Module, ABC):
    """A map from logits to logits with parameters, which is a recalibrator of `believable.recalibrate` in torch.

    Parameters are float64, so that they are those of the NumPy estimator to the last bit; `module.float()` makes them
    float32, where a device has no other. Logits are returned in the type they came in: float64 is computed in float64,
    everything else in float32, half types too.
    """

    estimator: ClassVar[type[Recalibrator]]
    _form: dict[str, Any] | None = None  # the saved form but for its maps; None: not known yet

    def to_numpy(self) -> Any:
        """The fitted NumPy estimator with these parameters."""
        return load_recalibrator(self._text())

    @classmethod
    def from_numpy(cls, estimator: Recalibrator, *, device: Any = None, dtype: torch.dtype = DTYPE) -> Self:
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
        if not isinstance(estimator, cls.estimator):
            raise InputError(
                f"{cls.__name__} is made from the NumPy {cls.__name__}, not from {type(estimator).__name__}"
            )
        saved = json.loads(estimator.to_json())
        module = cls._empty(len(saved["classes"]))
        module._refuse(saved)
        module._load(saved)
        return module.to(device=device, dtype=dtype)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The JSON text of the NumPy estimator, also written to a file if a path is given."""
        return str(self.to_numpy().to_json(path))

    @classmethod
    def from_json(cls, source: str | os.PathLike[str], *, device: Any = None, dtype: torch.dtype = DTYPE) -> Self:
        """The module of a saved recalibrator: a path, or the JSON text itself."""
        return cls.from_numpy(load_recalibrator(source), device=device, dtype=dtype)

    # --- what a module says of itself ---

    @classmethod
    @abstractmethod
    def _empty(cls, n_classes: int) -> Self:
        """A module for so many classes."""

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

    def _text(self) -> str:
        form = self._blank() if self._form is None else self._form
        head = {"schema": SCHEMA, "version": VERSION, "method": self.estimator.__name__}
        return json.dumps({**head, **form, "maps": [self._map()]})

    def _load(self, saved: dict[str, Any]) -> None:
        (learnt,) = saved["maps"]
        self._set(learnt)
        self._form = {name: saved[name] for name in ("input", "columns", "classes", "settings")}


def form(columns: int, n_classes: int, settings: dict[str, Any]) -> dict[str, Any]:
    """The saved form of a map of logits whose classes are numbers, but for the map."""
    return {"input": "logits", "columns": columns, "classes": list(range(n_classes)), "settings": settings}


def assign(parameter: Tensor, values: Any) -> None:
    """Set the numbers of a parameter."""
    with torch.no_grad():
        parameter.copy_(torch.as_tensor(values, dtype=torch.float64))


def widened(logits: Tensor) -> Tensor:
    """Logits in the type that is computed in: float64 stays, everything else is float32."""
    return logits if logits.dtype == torch.float64 else logits.to(torch.float32)
