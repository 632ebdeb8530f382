"""The passes of a search for a temperature, with Triton: each reads the logits once and writes a few numbers per row.

A program handles a tile of rows and loops over the classes. It computes what `temperature_search` computes in plain
torch, in float32 or float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from believable.torch.maps.logits import LogitPiece

MAX_TILE_COLUMNS = 1024
TILE_ENTRIES_IN_FLOAT32, TILE_ENTRIES_IN_FLOAT64 = 2048, 1024


@triton.jit
def _extrema(  # type: ignore[no-untyped-def]
    logits, lows, tops, n, inner, outer_step, class_step, inner_step, K,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Find the smallest and the largest logit of each row; NaN if one is not finite."""
    kind = tl.float64 if WIDE else tl.float32
    infinity = float("inf")
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < n
    start = row // inner * outer_step + row % inner * inner_step
    low = tl.full([ROWS], infinity, kind)
    top = tl.full([ROWS], -infinity, kind)
    wrong = tl.zeros([ROWS], tl.int32)
    for first in range(0, K, COLUMNS):
        column = (first + tl.arange(0, COLUMNS)).to(tl.int64)
        inside = there[:, None] & (column < K)[None, :]
        z = tl.load(logits + start[:, None] + column[None, :] * class_step, mask=inside, other=0).to(kind)
        wrong += tl.sum(tl.where(tl.abs(z) < infinity, 0, 1), axis=1)
        low = tl.minimum(low, tl.min(tl.where(inside, z, infinity), axis=1))
        top = tl.maximum(top, tl.max(tl.where(inside, z, -infinity), axis=1))
    tl.store(lows + row, tl.where(wrong > 0, float("nan"), low), mask=there)
    tl.store(tops + row, tl.where(wrong > 0, float("nan"), top), mask=there)


@triton.jit
def _sums(  # type: ignore[no-untyped-def]
    logits, tops, behind, weights, factor, totals, n, inner, outer_step, class_step, inner_step, K,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, RIGHT: tl.constexpr, WEIGHTED: tl.constexpr,
    FLOOR: tl.constexpr, FURTHEST: tl.constexpr,
):  # fmt: skip
    """Compute three sums over a program's rows: the slopes, or if all labels are RIGHT the excess and its slope."""
    kind = tl.float64 if WIDE else tl.float32
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < n
    start = row // inner * outer_step + row % inner * inner_step
    exact = tl.load(factor)
    b = exact.to(kind)
    top = tl.load(tops + row, mask=there, other=0).to(kind)
    mass = tl.zeros([ROWS, COLUMNS], kind)
    sum1 = tl.zeros([ROWS, COLUMNS], kind)
    sum2 = tl.zeros([ROWS, COLUMNS], kind)
    sum3 = tl.zeros([ROWS, COLUMNS], kind)
    ties = tl.zeros([ROWS, COLUMNS], kind)
    for first in range(0, K, COLUMNS):
        column = (first + tl.arange(0, COLUMNS)).to(tl.int64)
        inside = there[:, None] & (column < K)[None, :]
        z = tl.load(logits + start[:, None] + column[None, :] * class_step, mask=inside, other=0).to(kind)
        x = tl.maximum((z - top[:, None]) * b, FLOOR)
        term = tl.where(inside, tl.exp(x), 0)
        mass += term
        term *= x
        sum1 += term
        if RIGHT:
            ties += tl.where(inside & (z == top[:, None]), 1, 0).to(kind)
        else:
            term *= x
            sum2 += term
            sum3 += term * x
    whole = tl.where(there, tl.sum(mass.to(tl.float64), axis=1), 1)
    mean = tl.sum(sum1.to(tl.float64), axis=1) / whole
    if RIGHT:
        even = tl.where(there, tl.sum(ties.to(tl.float64), axis=1), 1)
        more = (whole - even) / even
        near = more - more * more / 2 + more * more * more / 3
        one = tl.where(more < 1e-4, near, tl.log(1 + more))
        two = mean
        three = tl.zeros([ROWS], tl.float64)
    else:
        square = tl.sum(sum2.to(tl.float64), axis=1) / whole
        cube = tl.sum(sum3.to(tl.float64), axis=1) / whole
        two = square - mean * mean
        one = mean - tl.maximum(exact * tl.load(behind + row, mask=there, other=0), -FURTHEST)
        three = cube - mean * (square + 2 * two)
    if WEIGHTED:
        weight = tl.load(weights + row, mask=there, other=0)
        there = there & (weight > 0)
        one *= weight
        two *= weight
        three *= weight
    place = totals + tl.program_id(0).to(tl.int64) * 3
    tl.store(place, tl.sum(tl.where(there, one, 0), axis=0))
    tl.store(place + 1, tl.sum(tl.where(there, two, 0), axis=0))
    tl.store(place + 2, tl.sum(tl.where(there, three, 0), axis=0))


def extrema(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest and largest logit of each row (m, p) of logits (m, K, p), in their type; NaN if infinite."""
    wide = logits.dtype == torch.float64
    low = torch.empty((logits.shape[0], logits.shape[2]), dtype=logits.dtype, device=logits.device)
    top = torch.empty_like(low)
    rows, columns, grid = _tile(logits, wide)
    with torch.cuda.device_of(logits):
        _extrema[(grid,)](logits, low, top, *_layout(logits), rows, columns, wide, enable_fp_fusion=True)
    return low, top


@dataclass(frozen=True, slots=True)
class Sums:
    """Which sums to compute, and how.

    Attributes
    ----------
    wide : bool
        Whether to compute in float64; otherwise in float32, accumulated in float64.
    all_right : bool
        Whether all labels have the largest logit: then the excess and its slope are computed, otherwise the slopes.
    floor : float
        The lowest exponent; exp of anything lower is negligible.
    furthest : float
        The largest distance of a label from the top, times b.
    """

    wide: bool
    all_right: bool
    floor: float
    furthest: float


def sums(piece: LogitPiece, top: Tensor, behind: Tensor, b: float, how: Sums) -> Tensor:
    """Return three sums over the rows of a piece, in float64; `top` and `behind` are those of `SeenLogits`."""
    logits, _, weights = piece
    rows, columns, grid = _tile(logits, how.wide)
    factor = torch.full((1,), b, dtype=torch.float64, device=logits.device)  # a plain argument would be float32
    totals = torch.empty((grid, 3), dtype=torch.float64, device=logits.device)
    with torch.cuda.device_of(logits):
        _sums[(grid,)](
            logits,
            top.contiguous(),
            behind.contiguous(),
            behind if weights is None else weights.contiguous(),
            factor,
            totals,
            *_layout(logits),
            rows,
            columns,
            how.wide,
            how.all_right,
            weights is not None,
            how.floor,
            how.furthest,
            enable_fp_fusion=True,  # explicit, because the default changes in later versions
        )
    return totals.sum(dim=0)


def _tile(logits: Tensor, wide: bool) -> tuple[int, int, int]:
    """Return the rows and columns of a tile, and the number of row tiles."""
    columns = min(MAX_TILE_COLUMNS, triton.next_power_of_2(logits.shape[1]))
    rows = max(1, (TILE_ENTRIES_IN_FLOAT64 if wide else TILE_ENTRIES_IN_FLOAT32) // columns)
    return rows, columns, triton.cdiv(logits.shape[0] * logits.shape[2], rows)


def _layout(logits: Tensor) -> tuple[int, ...]:
    m, n_classes, p = logits.shape
    return (m * p, p, *logits.stride(), n_classes)
