"""Temperature scaling as a module: all logits divided by one number."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor, nn

from believable import _check
from believable.errors import InputError
from believable.torch.counting.rows import Rows, rows_of
from believable.torch.maps.base import PARAMETER_TYPE, RecalibrationModule, assign, check_dtype, form
from believable.torch.maps.logits import LogitPiece, check_classes, pieces_of, refuse_one_hot
from believable.torch.maps.temperature_search import compiled_passes, least_cost
from believable.torch.targets import check_floats, widened

START_TEMPERATURE = 1.5


@final
class TemperatureScaling(RecalibrationModule):
    """Temperature scaling: z / T, with z the logits and T > 0.

    `fit` finds the T that minimises the mean of -log softmax(z / T)[label], the same as
    `believable.recalibrate.TemperatureScaling(input="logits")`, including its limits, which a `LimitWarning` reports.
    The problem is convex in 1/T and one-dimensional, so bracketed Newton steps find T to a relative 1e-8 in a few
    passes over the logits. The order of the classes is preserved.

    The module can also be trained: T is a parameter. Nothing keeps it positive then.

    Parameters
    ----------
    n_classes : int, optional
        The number of classes, needed only for `to_numpy` without `fit`.
    device, dtype : optional
        Device and type of the parameter. The default, float64, keeps T exactly as fitted.

    Attributes
    ----------
    temperature : nn.Parameter of shape (1,)
        T; starts as 1.5.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML.

    Examples
    --------
    >>> import torch
    >>> random = torch.Generator().manual_seed(0)
    >>> z = torch.randn(5000, 3, generator=random)
    >>> labels = torch.multinomial(z.softmax(dim=1), 1, generator=random)[:, 0]
    >>> scaling = TemperatureScaling()
    >>> round(scaling.fit(2 * z, labels), 1)
    2.0
    >>> scaled = scaling(2 * z)
    """

    def __init__(
        self, n_classes: int | None = None, *, device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
    ) -> None:
        super().__init__()
        check_dtype(dtype)
        self.n_classes = None if n_classes is None else _check.positive_integer(n_classes, "n_classes", 2)
        self.temperature = nn.Parameter(torch.full((1,), START_TEMPERATURE, device=device, dtype=dtype))

    def forward(self, logits: Tensor) -> Tensor:
        """Divide logits of any shape by T, in their own type."""
        if not torch.jit.is_scripting():  # which does not support these arguments
            check_floats(logits)
        wide = widened(logits)
        return (wide / self.temperature.to(wide.dtype)).to(logits.dtype)

    def fit(
        self,
        logits: Tensor,
        labels: Tensor,
        lr: float = 0.01,
        max_iter: int = 50,
        *,
        sample_weight: Tensor | None = None,
        ignore_index: int | None = None,
    ) -> float:
        """Fit T, on the device of the logits.

        Parameters
        ----------
        logits : Tensor of shape (N, K), (N, K, ...), or of one event (N,)
            Any floating-point type, with classes on axis 1. One event is two classes, with logits 0 and z.
        labels : Tensor of shape (N,), (N, ...)
            Integers 0..K-1, or `ignore_index`.
        lr, max_iter : optional
            Accepted for compatibility with other implementations, and ignored: there is no learning rate, and the
            search ends when T is exact.
        sample_weight : Tensor of the shape of the labels, optional
            A row of weight 2 counts as two rows, a row of weight 0 as none.
        ignore_index : int, optional
            Rows with this label are left out, whatever their logits.

        Returns
        -------
        float
            T. Where the data do not determine it, a limit with a `LimitWarning`: see the NumPy estimator.
        """
        with torch.no_grad():
            refuse_one_hot(logits, labels)
            rows = rows_of(logits, labels, sample_weight, from_logits=True, ignore_index=ignore_index)
            columns = 1 if rows.scores.ndim == 2 else rows.n_classes
            return self._fit_pieces(_pieces(rows), columns, rows.scores.device)

    def _fit_pieces(self, pieces: list[LogitPiece], columns: int, device: torch.device) -> float:
        """Fit T to checked pieces."""
        n_classes = max(columns, 2)
        check_classes(pieces, n_classes)
        found = least_cost(pieces, device)
        if found.limit:
            from believable.recalibrate.temperature import warn_of

            warn_of(found)
        self._set({"temperature": found.temperature})
        self.n_classes, self._form = n_classes, form(columns, n_classes, {"objective": "nll"})
        return found.temperature

    def extra_repr(self) -> str:
        return "" if self.temperature.is_meta else f"temperature={self.temperature.item():.6g}"

    def _map(self) -> dict[str, Any]:
        return {"temperature": self.temperature.item()}

    def _set(self, fitted: dict[str, Any]) -> None:
        assign(self.temperature, [fitted["temperature"]])

    def _blank(self) -> dict[str, Any]:
        if self.n_classes is None:
            raise InputError(
                "a temperature does not say how many classes there are, which the NumPy estimator has to know: fit it, "
                "or make it with TemperatureScaling(n_classes)"
            )
        return form(self.n_classes, self.n_classes, {"objective": "nll"})


def _pieces(rows: Rows) -> list[LogitPiece]:
    """Return the rows as pieces; compiled passes need no extra memory for logits of classes, so those are not cut."""
    device = rows.scores.device
    return pieces_of(rows, device, whole=rows.kind == "multiclass" and compiled_passes(device) is not None)
