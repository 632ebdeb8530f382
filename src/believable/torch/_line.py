"""Sums over all pairs of points on [0, 1] with the Laplace kernel exp(-|x_i - x_j| / h), in n log n, with gradients.

The points are sorted once. Going up, what is behind fades by exp(-step / h), so that one running sum sees every pair
below each point, and one that goes down every pair above. The value is made of the first; its gradient of both.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from believable.kernels.laplace import SPAN


def line_form(x: Tensor, values: Tensor, bandwidth: float, *, diagonal: bool) -> Tensor:
    """sum_ij v_i v_j exp(-|x_i - x_j| / h) over all pairs, or over those of different rows, in float64.

    Differentiable in x and in the values, twice where no two x are equal. At equal x, where |x_i - x_j| has a kink, the
    pair adds nothing to the gradient in x, so that the order of rows never matters.
    """
    return _LineForm.apply(x.double(), values.double(), bandwidth, diagonal)


class _LineForm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, bandwidth: float, diagonal: bool) -> Tensor:
        order = torch.argsort(x, stable=True)
        ctx.save_for_backward(x, values, order)
        ctx.choices = bandwidth, diagonal
        if not len(x):
            return x.new_zeros(())
        x, values = x[order], values[order]
        sums = faded_sums(x, values, bandwidth)
        gaps = x.diff()
        if not diagonal:
            return 2 * (values[1:] * _fade(gaps, bandwidth) * sums[:-1]).sum()
        # The kernel is the overlap of one-sided exponentials, so the form is the integral of S^2: nothing cancels.
        squares = sums.square()
        return squares[-1] - (squares[:-1] * torch.expm1(-2 * (gaps / bandwidth))).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, values, order = ctx.saved_tensors
        bandwidth, diagonal = ctx.choices
        place = order.argsort()
        x, values = x[order], values[order]
        before = faded_before(x, values, bandwidth)
        after = faded_before(-x.flip(0), values.flip(0), bandwidth).flip(0)
        around = before + after + values if diagonal else before + after
        # What is strictly below a point is what stands before the first of those that equal it; likewise above.
        fixed = x.detach()
        below = before[torch.searchsorted(fixed, fixed).clamp(max=len(x) - 1)]  # NaN is put after the last
        above = after[torch.searchsorted(fixed, fixed, right=True) - 1]
        pull = values * ((above - below) / bandwidth)
        return 2 * grad * pull[place], 2 * grad * around[place], None, None


def faded_sums(x: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """S_j = sum over i <= j of v_i exp(-(x_j - x_i) / h); x ascends, and does not span more than 1.

    From h = 1 / 100 on, one running sum of v exp(x / h), divided by exp(x / h): in this range float64 neither overflows
    nor loses more than two digits. For a smaller h, any above 0, sums over the last 2, 4, 8, … points, each made of two
    of the ones before.
    """
    if bandwidth * SPAN >= 1:
        growth = torch.exp((x - x[:1]) / bandwidth)
        return torch.cumsum(values * growth, dim=0) / growth
    sums, step = values, 1
    while step < len(x):
        fade = _fade(x[step:] - x[:-step], bandwidth)
        sums = torch.cat([sums[:step], sums[step:] + fade * sums[:-step]])
        step *= 2
    return sums


def faded_before(x: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """The same over i < j. Not S_j - v_j, which would round where v_j is large."""
    sums = faded_sums(x, values, bandwidth)
    return torch.cat([torch.zeros_like(sums[:1]), _fade(x.diff(), bandwidth) * sums[:-1]])


def _fade(gaps: Tensor, bandwidth: float) -> Tensor:
    return torch.exp(-(gaps / bandwidth))
