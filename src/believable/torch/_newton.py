"""The temperature of least cost for logits on any device: the search of `kernels.fit_temperature`, its sums in torch.

One evaluation reads the logits once, piece by piece, and brings three numbers to the host. Most of the way is gone on a
sample and in float32; the last evaluation is in float64, because the sum that has to vanish is a difference of two that
do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from believable.kernels import LogitRows, TemperatureFit
from believable.kernels.temperature import (
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
from believable.torch import _pieces
from believable.torch._pieces import Piece, Seen

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
    quick = _pieces.fused(rows.device)
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
    quick, floor = _pieces.fused(rows.device), FLOOR[torch.float64]
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
