"""Sums over all pairs of rows, with gradients, in float64: the torch counterpart of `_kernels.pairs`.

`line_form` is for points on [0, 1] and the Laplace kernel exp(-|x_i - x_j| / h), in n log n. Points are sorted once.
A running sum that decays by exp(-step / h) collects all pairs below each point, and one from the other end all pairs
above. The first gives the value, both give the gradient.

`pair_form` is for probability vectors and any kernel, tile by tile on any device. Besides the input it needs the memory
of a few tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from believable._kernels.pairs import LARGEST_SAFE_EXPONENT, NARROWEST_BY_PRODUCTS, Similarity
from believable.errors import UndefinedError

# Rows of a tile, and differences held at once (as many classes of a tile as fit): what is in the cache of a core, or
# keeps a GPU busy, with 64 MB.
TILE_ROWS = {"cpu": 256, "cuda": 1024}
DIFFERENCES_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 23}


# --- points on a line -------------------------------------------------------------------------------------------------


def line_form(x: Tensor, values: Tensor, bandwidth: float, *, diagonal: bool) -> Tensor:
    """Return sum_ij v_i v_j exp(-|x_i - x_j| / h) over all pairs, or over pairs of different rows, in float64.

    Differentiable in x and in the values, twice where no two x are equal. At equal x, where |x_i - x_j| has a kink, the
    pair adds nothing to the gradient in x, so that the order of rows does not matter.
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
        # The sum strictly below a point is the one before the first point equal to it; likewise above.
        fixed = x.detach()
        below = before[torch.searchsorted(fixed, fixed).clamp(max=len(x) - 1)]  # NaN is sorted last
        above = after[torch.searchsorted(fixed, fixed, right=True) - 1]
        pull = values * ((above - below) / bandwidth)
        return 2 * grad * pull[place], 2 * grad * around[place], None, None


def faded_sums(x: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Return S_j = sum over i <= j of v_i exp(-(x_j - x_i) / h), for ascending x that spans at most 1.

    For h of at least 1 / 100 this is a running sum of v exp(x / h), divided by exp(x / h): in this range float64 does
    not overflow, and loses at most two digits. For a smaller h, sums over the last 2, 4, 8, … points are formed, each
    from two of the previous ones.
    """
    if bandwidth * LARGEST_SAFE_EXPONENT >= 1:
        growth = torch.exp((x - x[:1]) / bandwidth)
        return torch.cumsum(values * growth, dim=0) / growth
    sums, step = values, 1
    while step < len(x):
        fade = _fade(x[step:] - x[:-step], bandwidth)
        sums = torch.cat([sums[:step], sums[step:] + fade * sums[:-step]])
        step *= 2
    return sums


def faded_before(x: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Return the same sums over i < j; S_j - v_j would lose digits where v_j is large."""
    sums = faded_sums(x, values, bandwidth)
    return torch.cat([torch.zeros_like(sums[:1]), _fade(x.diff(), bandwidth) * sums[:-1]])


def _fade(gaps: Tensor, bandwidth: float) -> Tensor:
    return torch.exp(-(gaps / bandwidth))


# --- probability vectors ----------------------------------------------------------------------------------------------


def pair_form(points: Tensor, values: Tensor, similarity: Similarity, *, diagonal: bool) -> Tensor:
    """Return sum_ij k(P_i, P_j) <v_i, v_j> over all pairs of rows of two (n, K) matrices, or of different rows.

    Differentiable once in both, for the kernels "tv" and "gaussian"; a second derivative raises an error. Where two
    entries are equal, and |P_ik - P_jk| has a kink, they add nothing to the gradient in P.
    """
    return _PairForm.apply(points, values, similarity, diagonal)


class _PairForm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, values: Tensor, similarity: Similarity, diagonal: bool) -> Tensor:
        slopes = any(ctx.needs_input_grad[:2])
        sums = torch.zeros_like(values)  # sums of k_ij v_j over j
        pulls = torch.zeros_like(points) if slopes else None
        for a, b in tiles(len(points), points.device.type):
            k = between(points[a], points[b], similarity)
            once = a == b
            if once and not diagonal:
                k.fill_diagonal_(0)
            if pulls is None:  # only the total is needed, and the other half is equal
                sums[a].addmm_(k, values[b], alpha=1 if once else 2)
                continue
            sums[a].addmm_(k, values[b])
            if not once:
                sums[b].addmm_(k.T, values[a])
            k *= values[a] @ values[b].T
            of_a, of_b = _pull(points[a], points[b], k, similarity)
            pulls[a] += of_a
            if not once:
                pulls[b] += of_b
        if pulls is not None:
            ctx.save_for_backward(points, values, pulls, sums)
        return (sums * values).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        points, values, pulls, sums = ctx.saved_tensors
        slopes = (_Once.apply(2 * grad * slope, points, values) for slope in (pulls, sums))
        return *slopes, None, None


class _Once(torch.autograd.Function):
    """A gradient that raises an error when it is differentiated.

    torch's `once_differentiable` checks incoming gradients alone: it would treat this gradient as a constant, and
    second derivatives would be silently wrong.
    """

    @staticmethod
    def forward(ctx: Any, slope: Tensor, points: Tensor, values: Tensor) -> Tensor:
        return slope.view_as(slope)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        raise UndefinedError("the kernel calibration error of vectors has a gradient, but no second derivatives here")


def tiles(n: int, device: str) -> Iterator[tuple[slice, slice]]:
    """Yield pairs of row ranges that cover the upper half of an n x n matrix, including the diagonal."""
    size = _of(device, TILE_ROWS)
    ranges = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    for i, a in enumerate(ranges):
        for b in ranges[i:]:
            yield a, b


def _of(device: str, sizes: dict[str, int]) -> int:
    return sizes.get(device, sizes["cuda"])


def between(x: Tensor, y: Tensor, similarity: Similarity) -> Tensor:
    """Return the kernel of every row of x with every row of y, (…, a, b), as a new tensor."""
    name, nu = similarity.name, similarity.bandwidth
    if callable(name):
        own: Callable[[Any, Any], Any] = name
        return own(x, y)
    if name == "tv":
        return distance_sums(x, y, 1).div_(-2 * nu).exp_()
    if nu < NARROWEST_BY_PRODUCTS:
        return distance_sums(x, y, 2).div_(nu).div_(-2 * nu).exp_()
    squares = (x @ y.mT).mul_(-2)
    squares += x.square().sum(-1, keepdim=True)
    squares += y.square().sum(-1, keepdim=True).mT
    return squares.clamp_min_(0).div_(-2 * nu * nu).exp_()


def distance_sums(x: Tensor, y: Tensor, power: int) -> Tensor:
    """Return sum_k |x_ik - y_jk|^p of all pairs of rows, from differences, which is exact for nearly equal rows."""
    if x.device.type == "cpu":
        apart = torch.cdist(x, y, p=float(power), compute_mode="donot_use_mm_for_euclid_dist")
        return apart if power == 1 else apart.square_()
    return by_classes(x, y, power)


def by_classes(x: Tensor, y: Tensor, power: int) -> Tensor:
    """Return the same sums in two passes over blocks of classes: differences first, then their norm."""
    total = None
    for here in class_blocks(x, y):
        part = torch.linalg.vector_norm(_apart(x, y, here), power, dim=0)
        part = part if power == 1 else part.square_()
        total = part if total is None else total.add_(part)
    return total


def class_blocks(x: Tensor, y: Tensor) -> Iterator[slice]:
    """Return ranges of classes of about equal length whose differences fit into memory."""
    n_classes = x.shape[-1]
    pairs = x[..., 0].numel() * y.shape[-2]
    blocks = -(-n_classes // max(1, _of(x.device.type, DIFFERENCES_AT_ONCE) // max(pairs, 1)))
    width = -(-n_classes // blocks)
    for start in range(0, n_classes, width):
        yield slice(start, start + width)


def _apart(x: Tensor, y: Tensor, classes: slice) -> Tensor:
    """Return x_ik - y_jk as (classes, …, a, b), so that sums over classes add whole blocks of memory."""
    x, y = (part[..., classes].movedim(-1, 0).contiguous() for part in (x, y))
    return x[..., :, None] - y[..., None, :]


def _pull(x: Tensor, y: Tensor, weighted: Tensor, similarity: Similarity) -> tuple[Tensor, Tensor]:
    """Return sum_j m_ij d log k(x_i, y_j) / d x_i for every row of x, and the same for y."""
    nu = similarity.bandwidth
    if similarity.name == "gaussian":
        of_x = weighted @ y - weighted.sum(1, keepdim=True) * x
        of_y = weighted.T @ x - weighted.sum(0)[:, None] * y
        return of_x / nu / nu, of_y / nu / nu
    of_x, of_y = torch.empty_like(x), torch.empty_like(y)
    for here in class_blocks(x, y):
        signs = _apart(x, y, here).sign_().mul_(weighted)
        of_x[:, here] = signs.sum(2).T
        of_y[:, here] = signs.sum(1).T
    return of_x.div_(-2 * nu), of_y.div_(2 * nu)
