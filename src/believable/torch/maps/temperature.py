"""The temperature of least cost for logits on any device: the search of `kernels.fit_temperature`, its sums in torch.

One evaluation reads the logits once, piece by piece, and brings three numbers to the host. Most of the way is gone on a
sample and in float32; the last evaluation is in float64, because the sum that has to vanish is a difference of two that
do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from believable import _check
from believable._kernels import LogitRows, TemperatureFit
from believable._kernels.temperature import (
    CLOSE,
    EXACT,
    FLATTEST,
    FURTHEST,
    LONGEST,
    MANY,
    SHARPEST,
    Slopes,
    search,
    typical_difference,
)
from believable.errors import InputError
from believable.torch.counting.rows import rows_of
from believable.torch.maps import logits
from believable.torch.maps.base import DTYPE, RecalibrationModule, assign, check_dtype, form
from believable.torch.maps.logits import Piece, Seen, check_classes, pieces_of, refuse_one_hot
from believable.torch.targets import check_floats, widened

FLOOR = {torch.float32: -80.0, torch.float64: -700.0}  # exp of less is nothing
A_FEW = 64  # rows that say how large logits are


def least_cost(pieces: Sequence[Piece], device: torch.device) -> TemperatureFit:
    """The temperature of these rows, and which limit it is; see `TemperatureFit`."""
    rows = Seen.of(pieces, device)
    if rows.spread == 0:
        return TemperatureFit(1.0, "equal")
    sample = rows.sample()
    b = 1 / _start(sample, rows.spread)
    if rows.right:
        return TemperatureFit(1 / search(lambda at: shortfall(rows, at), b, 1 / LONGEST, EXACT), "right")
    lowest = min(FLATTEST / min(rows.spread, FLATTEST * LONGEST), LONGEST)
    rough = rows.dtype != torch.float64 and 1e-15 < rows.spread < 1e15
    if sample is not None and rows.n_rows * rows.width >= MANY and 2 * len(sample.labels) <= rows.n_rows:
        some = Seen.of([sample], device)
        if not some.right:
            b = search(lambda at: slopes(some, at, rough), b, lowest, CLOSE)
        if rough and b > lowest:
            b = search(lambda at: slopes(rows, at, rough), b, lowest, math.inf)
    b = search(lambda at: slopes(rows, at), b, lowest, EXACT)
    return TemperatureFit(1 / b, "useless" if b == lowest else "")


def slopes(rows: Seen, b: float, rough: bool = False) -> Slopes:
    """First, second and third derivative of the cost, times b, b^2 and b^3: cumulants of x, less the label's own x."""
    dtype = torch.float32 if rough and 1e-30 < b < 1e30 else torch.float64
    total = torch.zeros(3, dtype=torch.float64, device=rows.device)
    quick = logits.fused(rows.device)
    for piece, top, behind in rows.each():
        if quick:
            wide = dtype == torch.float64
            total += quick.sums(piece.logits, top, behind, piece.weights, b, wide, False, FLOOR[dtype], FURTHEST)
            continue
        mass, *sums = power_sums(piece.logits, top, b, dtype, 3, rows.spread)
        mean, square, cube = (each / mass for each in sums)
        variance = square - mean * mean
        first = mean - (b * behind).clamp(min=-FURTHEST)
        total += _totals([first, variance, cube - mean * (square + 2 * variance)], piece.weights)
    first, second, third = total.tolist()
    return first, second, third


def shortfall(rows: Seen, b: float) -> Slopes:
    """log SHARPEST less the log of what labels that are all among the largest cost above the infimum, on average."""
    total = torch.zeros(2, dtype=torch.float64, device=rows.device)
    quick, floor = logits.fused(rows.device), FLOOR[torch.float64]
    for piece, top, behind in rows.each():
        if quick:
            total += quick.sums(piece.logits, top, behind, piece.weights, b, True, True, floor, FURTHEST)[:2]
            continue
        ties = (piece.logits == top.unsqueeze(1)).sum(dim=1)
        mass, first = power_sums(piece.logits, top, b, torch.float64, 1, rows.spread)
        total += _totals([torch.log1p((mass - ties) / ties), first / mass], piece.weights)
    excess, fall = total.tolist()
    if not excess > 0:
        return math.inf, 0.0, 0.0
    return math.log(SHARPEST) - math.log(excess / rows.weight), -fall / excess, 0.0


def power_sums(logits: Tensor, top: Tensor, b: float, dtype: torch.dtype, order: int, spread: float) -> list[Tensor]:
    """Sums over the classes of exp(x) x^j, j = 0..order, with x = b (z - top) <= 0, in float64."""
    x = logits.to(dtype) - top.to(dtype).unsqueeze(1)
    x.mul_(b)
    if not b * spread < -FLOOR[dtype]:
        x.clamp_(min=FLOOR[dtype])
    terms = x.exp()
    sums = [terms.sum(dim=1, dtype=torch.float64)]
    for _ in range(order):
        terms.mul_(x)
        sums.append(terms.sum(dim=1, dtype=torch.float64))
    return sums


def _totals(values: list[Tensor], weights: Tensor | None) -> Tensor:
    """Weighted sums; a row of weight zero may hold anything."""
    stacked = torch.stack(values).flatten(1)
    if weights is None:
        return stacked.sum(dim=1)
    w = weights.flatten()
    return torch.where(w > 0, stacked * w, 0).sum(dim=1)


def _start(sample: Piece | None, spread: float) -> float:
    """A typical difference of logits, from a few rows on the host."""
    if sample is None:
        return min(max(spread / 2, 1 / LONGEST), LONGEST)
    some = sample.logits[:: max(1, len(sample.labels) // A_FEW), :, 0].double().cpu().numpy()
    return typical_difference(LogitRows(some, some.max(axis=1), some[:, 0], None, spread))


# --- temperature scaling as a module: all logits divided by one number ------------------------------------------------


START = 1.5


@final
class TemperatureScaling(RecalibrationModule):
    """Temperature scaling: z / T, with z the logits and T > 0.

    `fit` finds the T that minimises the mean of -log softmax(z / T)[label]: that of the NumPy
    `believable.recalibrate.TemperatureScaling(input="logits")`, at its limits too, which a `LimitWarning` reports. The
    problem is convex in 1/T and of one dimension, so Newton's method, kept between slopes of both signs, finds it in a
    few looks at the logits, to 1e-8 of itself. The order of the classes stays.

    The module can also be trained: T is a parameter, and nothing keeps it positive then.

    Parameters
    ----------
    n_classes : int, optional
        Only for `to_numpy` without `fit`: how many classes there are.
    device, dtype : optional
        Of the parameter. In float64, the default, T is kept as it was found.

    Attributes
    ----------
    temperature : nn.Parameter of shape (1,)
        T, 1.5 to begin with.

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

    def __init__(self, n_classes: int | None = None, *, device: Any = None, dtype: torch.dtype = DTYPE) -> None:
        super().__init__()
        check_dtype(dtype)
        self.n_classes = None if n_classes is None else _check.positive_integer(n_classes, "n_classes", 2)
        self.temperature = nn.Parameter(torch.full((1,), START, device=device, dtype=dtype))

    def forward(self, logits: Tensor) -> Tensor:
        """The logits of any shape, divided by T, in their own type."""
        if not torch.jit.is_scripting():  # which does not know these words
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
        """Find T, on the device of the logits, and set the parameter.

        Parameters
        ----------
        logits : Tensor of shape (N, K), (N, K, ...), or of one event (N,)
            In any floating-point type; the classes are axis 1. One event is two classes, with logits 0 and z.
        labels : Tensor of shape (N,), (N, ...)
            Whole numbers 0..K-1, or those of `ignore_index`.
        lr, max_iter : optional
            Accepted, because other implementations take them, and without any part in the answer: there is no learning
            rate, and the search ends when T is exact.
        sample_weight : Tensor of the shape of the labels, optional
            Weight 2 is the row twice, weight 0 no row.
        ignore_index : int, optional
            Rows with this label are left out, whatever their logits.

        Returns
        -------
        float
            T. It is a limit, with a `LimitWarning`, where the data do not determine it: see the NumPy estimator.
        """
        with torch.no_grad():
            refuse_one_hot(logits, labels)
            rows = rows_of(logits, labels, sample_weight, from_logits=True, ignore_index=ignore_index)
            columns = 1 if rows.scores.ndim == 2 else rows.n_classes
            return self._fit_pieces(pieces_of(rows, rows.scores.device), columns, rows.scores.device)

    def _fit_pieces(self, pieces: list[Piece], columns: int, device: torch.device) -> float:
        """Find T from pieces that were checked."""
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

    def _set(self, learnt: dict[str, Any]) -> None:
        assign(self.temperature, [learnt["temperature"]])

    def _blank(self) -> dict[str, Any]:
        if self.n_classes is None:
            raise InputError(
                "a temperature does not say how many classes there are, which the NumPy estimator has to know: fit it, "
                "or make it with TemperatureScaling(n_classes)"
            )
        return form(self.n_classes, self.n_classes, {"objective": "nll"})
