"""Shared code of linear maps of all logits as modules: they are fitted by the NumPy estimators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from believable import _check
from believable.errors import InputError
from believable.torch.counting.rows import Rows, rows_of
from believable.torch.maps.base import PARAMETER_TYPE, RecalibrationModule, assign, check_dtype, form
from believable.torch.maps.logits import checked
from believable.torch.targets import check_floats, same_rows, widened

Penalty = float | Literal["auto"]


class LinearModule(RecalibrationModule):
    """A linear map of the logits of K classes, fitted by the NumPy estimator of the same name.

    Attributes
    ----------
    n_classes : int
        The number K of classes.
    penalty : "auto" or float
        The strength of the penalty that `fit` uses.
    penalty_ : float or None
        The strength that `fit` used.
    """

    def __init__(self, n_classes: int, penalty: Penalty, dtype: torch.dtype) -> None:
        from believable.recalibrate.linear import check_penalty

        super().__init__()
        check_penalty(penalty)
        check_dtype(dtype)
        self.n_classes = _check.positive_integer(n_classes, "n_classes", 2)
        self.penalty = penalty
        self.penalty_: float | None = None

    def fit(
        self,
        logits: Tensor,
        labels: Tensor,
        *,
        sample_weight: Tensor | None = None,
        ignore_index: int | None = None,
    ) -> Self:
        """Fit the parameters.

        The NumPy estimator fits them, on the CPU and in float64; logits on another device are copied.

        Parameters
        ----------
        logits : Tensor of shape (N, K), (N, K, ...), or of one event (N,), where K = 2
            Any floating-point type, with classes on axis 1.
        labels : Tensor of shape (N,), (N, ...)
            Integers 0..K-1, or `ignore_index`.
        sample_weight : Tensor of the shape of the labels, optional
            A row of weight 2 counts as two rows, a row of weight 0 as none.
        ignore_index : int, optional
            Rows with this label are left out, whatever their logits.

        Returns
        -------
        self
        """
        with torch.no_grad():
            logits, labels = torch.as_tensor(logits), torch.as_tensor(labels)
            self._check_shape(tuple(logits.shape))
            same_rows(labels, logits)
            rows = rows_of(logits, labels, sample_weight, from_logits=True, ignore_index=ignore_index)
            z, y, w = as_arrays(rows)
        fitted = self._estimator()(input="logits", penalty=self.penalty).fit(z, y, sample_weight=w)
        (parameters,) = fitted.maps_
        assert parameters is not None
        self._set(parameters)
        self.penalty_ = fitted.penalty_
        self._form = form(1 if z.ndim == 1 else self.n_classes, self.n_classes, {"penalty": self.penalty})
        return self

    def forward(self, logits: Tensor) -> Tensor:
        """Recalibrate logits of shape (N, K) or (N, K, ...), or (N,) for one event, in their own type."""
        check_floats(logits)
        self._check_shape(tuple(logits.shape))
        wide = widened(logits)
        if self.n_classes == 2:
            half = (wide if wide.dim() == 1 else wide[:, 1] - wide[:, 0]) / 2
            wide = torch.stack([-half, half], dim=1)
        mapped = self._mapped(wide)
        if logits.dim() == 1:
            mapped = mapped[:, 1] - mapped[:, 0]
        return mapped.to(logits.dtype)

    @abstractmethod
    def _mapped(self, logits: Tensor) -> Tensor:
        """Return recalibrated logits (N, K, ...); one event is a pair that sums to zero."""

    def extra_repr(self) -> str:
        return f"n_classes={self.n_classes}"

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        event = len(shape) == 1 and self.n_classes == 2
        if not event and (len(shape) < 2 or shape[1] != self.n_classes):
            raise InputError(
                f"{type(self).__name__}({self.n_classes}) takes logits of shape (N, {self.n_classes}), got {shape}"
            )

    def _blank(self) -> dict[str, Any]:
        return form(self.n_classes, self.n_classes, {"penalty": self.penalty})

    def _load(self, saved: dict[str, Any]) -> None:
        super()._load(saved)
        self.penalty = saved["settings"]["penalty"]


class AffineModule(LinearModule):
    """W x + b; a subclass defines x."""

    def __init__(
        self, n_classes: int, *, penalty: Penalty = "auto", device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
    ) -> None:
        super().__init__(n_classes, penalty, dtype)
        self.weight = nn.Parameter(torch.eye(n_classes, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(n_classes, device=device, dtype=dtype))

    def _affine(self, x: Tensor) -> Tensor:
        """Return W x + b along axis 1 of x (N, K, ...), in its type, also under autocast."""
        with torch.autocast(x.device.type, enabled=False):
            product = (x.movedim(1, -1) @ self.weight.to(x.dtype).T).movedim(-1, 1)
        return product + over_classes(self.bias, x)

    def _map(self) -> dict[str, Any]:
        return {"weights": self.weight.tolist(), "intercepts": self.bias.tolist()}

    def _set(self, fitted: dict[str, Any]) -> None:
        assign(self.weight, fitted["weights"])
        assign(self.bias, fitted["intercepts"])


def as_arrays(rows: Rows) -> tuple[Any, Any, Any]:
    """Return logits (n,) or (n, K), labels and weights (or None) as NumPy arrays, without ignored rows."""
    labels, weights = checked(rows)
    scores = rows.scores.flatten() if rows.scores.ndim == 2 else rows.scores.movedim(1, 2).flatten(0, 1)
    labels = labels.flatten()
    if weights is not None:
        keep = weights.flatten() > 0
        scores, labels, weights = scores[keep], labels[keep], weights.flatten()[keep]
    if scores.dtype in (torch.float16, torch.bfloat16):
        scores = scores.float()
    given = weights if rows.weights is not None else None
    return scores.cpu().numpy(), labels.cpu().numpy(), None if given is None else given.cpu().numpy()


def over_classes(values: Tensor, like: Tensor) -> Tensor:
    """Return numbers by class in the type of logits (N, K, ...), shaped to broadcast along axis 1."""
    return values.to(like.dtype).reshape([-1] + [1] * (like.dim() - 2))


def only_logits(saved: dict[str, Any]) -> None:
    """Raise unless the map was fitted on logits: these maps depend on constants in a row, as between z and log p."""
    if saved["input"] != "logits":
        raise InputError(
            f"this {saved['method']} was fitted on probabilities, so it maps log p and not the logits of a model: fit "
            "one with input='logits'"
        )
