"""`row_terms` in one pass over each row, with Triton: sums of exponentials, without storing probabilities."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COMPILED_TYPES = (torch.float32, torch.float16, torch.bfloat16)
MAX_BLOCK_COLUMNS = 1024  # the columns that a program reads at once
COLUMNS_PER_WARP = 512  # two of the widest loads for each thread, of bfloat16
BLOCKS_ON_THEIR_WAY = tl.constexpr(4)

LOG2_E = tl.constexpr(1.4426950408889634)
LOG_2 = tl.constexpr(0.6931471805599453)
MAX_BITS_APART = tl.constexpr(40)  # a million times e squared is still far from overflow then
LOWEST_STEP = tl.constexpr(-745.13321)  # exp of anything lower is 0


@triton.jit
def added(apart, sum1, sum2, steps):  # type: ignore[no-untyped-def]
    """Add e = exp(apart), e^2, and e times the exponent in bits, which is exact where logits are not apart."""
    # -inf has probability 0; NaN stays and makes the sums NaN.
    bits = tl.maximum(apart * LOG2_E, -2000, tl.PropagateNan.ALL)
    e = tl.exp2(bits)
    return sum1 + e, sum2 + e * e, steps + e * bits


@triton.jit
def larger(z, start, mosts, starts):  # type: ignore[no-untyped-def]
    """Return the larger logits, and the start of their blocks; the earlier of equal ones."""
    new = z > mosts
    return tl.where(new, z, mosts), tl.where(new, start, starts)


@triton.jit
def vocabulary_rows(  # type: ignore[no-untyped-def]
    logits, labels, table, K, stride, step, ignored, R,
    BLOCK: tl.constexpr, DEPTH: tl.constexpr, RANKED: tl.constexpr,
):  # fmt: skip
    """Handle one row of any length per program; write its column of the table.

    A table has a row, `step` apart, for each of: log loss, Brier score, entropy, the R largest probabilities, and their
    columns. Logits of -inf are probabilities of 0. A row whose label is `ignored` or not a column is left out, with NaN
    and -1, which also stand for a row without probabilities. DEPTH is at least the number of blocks.
    """
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row).to(tl.int64)
    table += row
    step = tl.cast(step, tl.int64)
    nothing = float("nan")
    if (label < 0) | (label >= K) | (label == ignored):
        for i in range(0, 3 + R):
            tl.store(table + i * step, nothing)
        for i in range(3 + R, 3 + 2 * R):
            tl.store(table + i * step, -1.0)
        return
    logits += row * stride
    column = tl.arange(0, BLOCK)
    infinity = float("inf")
    mosts = tl.full([BLOCK], -infinity, tl.float32)  # the largest among columns a block apart, and its block's start
    starts = tl.zeros([BLOCK], tl.int32)
    sum1 = tl.zeros([BLOCK], tl.float32)
    sum2 = tl.zeros([BLOCK], tl.float32)
    steps = tl.zeros([BLOCK], tl.float32)
    # Exponentials are relative to the largest of the first columns. Only if the overall largest is so far that sums
    # might overflow, the row is read again, relative to the overall largest.
    beside = tl.max(tl.load(logits + column, mask=column < K, other=-infinity).to(tl.float32), axis=0)
    beside = tl.where(tl.abs(beside) < infinity, beside, 0.0)
    # Whole blocks, without masks, are requested before those in front of them have been used.
    whole = K // BLOCK * BLOCK
    for start in tl.range(0, whole, BLOCK, num_stages=BLOCKS_ON_THEIR_WAY):
        z = tl.load(logits + start + column).to(tl.float32)
        mosts, starts = larger(z, start, mosts, starts)
        sum1, sum2, steps = added(z - beside, sum1, sum2, steps)
    for start in range(whole, K, BLOCK):
        at = start + column
        z = tl.load(logits + at, mask=at < K, other=-infinity).to(tl.float32)
        mosts, starts = larger(z, start, mosts, starts)
        sum1, sum2, steps = added(z - beside, sum1, sum2, steps)
    most = tl.max(mosts, axis=0)
    top = tl.min(tl.where(mosts == most, starts + column, K))
    if (tl.abs(most - beside) * LOG2_E > MAX_BITS_APART) & (tl.abs(most) < infinity):
        beside = most
        sum1 = tl.zeros([BLOCK], tl.float32)
        sum2 = tl.zeros([BLOCK], tl.float32)
        steps = tl.zeros([BLOCK], tl.float32)
        for start in range(0, K, BLOCK):
            at = start + column
            z = tl.load(logits + at, mask=at < K, other=-infinity).to(tl.float32)
            sum1, sum2, steps = added(z - beside, sum1, sum2, steps)
    gap = most.to(tl.float64) - beside.to(tl.float64)
    scale = tl.exp(-gap)
    total, squares = tl.sum(sum1.to(tl.float64)) * scale, tl.sum(sum2.to(tl.float64)) * scale * scale
    weighted = tl.sum(steps.to(tl.float64)) * LOG_2 * scale - gap * total
    found = (total > 0.5) & (tl.abs(most) < infinity)
    total = tl.maximum(total, 1.0)
    log_total = tl.log(total)
    own_step = tl.load(logits + label).to(tl.float64) - most.to(tl.float64)
    own = tl.where(own_step < LOWEST_STEP, 0.0, tl.exp(own_step)) / total
    beyond = (total - 1) / total
    if_hit = beyond * beyond + tl.maximum(squares - 1, 0.0) / (total * total)
    score = tl.where(top == label, if_hit, 1 - 2 * own + squares / (total * total))
    tl.store(table, tl.where(found, log_total - own_step, nothing))
    tl.store(table + step, tl.where(found, score, nothing))
    tl.store(table + 2 * step, tl.where(found, log_total - weighted / total, nothing))
    tl.store(table + 3 * step, tl.where(found, 1 / total, nothing))
    tl.store(table + (3 + R) * step, tl.where(found, top, -1).to(tl.float64))
    if RANKED:
        # Whatever comes next in the order of ranks (larger first, then lower columns) is the first of its lane, the
        # columns a block apart. So a lane is read again only when its first is taken, to find the one that follows.
        firsts = tl.where(starts + column < K, starts + column, K)  # K stands for none left
        depth = tl.arange(0, DEPTH) * BLOCK
        value = most
        place = top
        for i in range(1, R):
            lane = place % BLOCK
            at = depth + lane
            z = tl.load(logits + at, mask=at < K, other=-infinity).to(tl.float32)
            left = ((z < value) | ((z == value) & (at > place))) & (at < K)
            z = tl.where(left, z, -infinity)
            most_left = tl.max(z, axis=0)
            first_left = tl.min(tl.where(left & (z == most_left), at, K), axis=0)
            mosts = tl.where(column == lane, most_left, mosts)
            firsts = tl.where(column == lane, first_left, firsts)
            value = tl.max(mosts, axis=0)
            place = tl.min(tl.where(mosts == value, firsts, K), axis=0)
            away = value.to(tl.float64) - most.to(tl.float64)
            p = tl.where(away < LOWEST_STEP, 0.0, tl.exp(away)) / total
            tl.store(table + (3 + i) * step, tl.where(found, p, nothing))
            tl.store(table + (3 + R + i) * step, tl.where(found, place, -1).to(tl.float64))


def suits(logits: Tensor) -> bool:
    """Return whether the pass can read these logits."""
    return logits.dtype in COMPILED_TYPES and logits.stride(1) == 1


def write_row_terms(table: Tensor, logits: Tensor, labels: Tensor, r: int, ignored: int = -1) -> None:
    """Fill the columns of a table, of shape (3 + 2r, n) in float64, as `vocabulary_rows` says; labels are contiguous.

    Any r takes the registers of r = 1, because ranks are found one after the other.
    """
    n, width = logits.shape
    if not n:
        return
    block = min(MAX_BLOCK_COLUMNS, triton.next_power_of_2(width))
    with torch.cuda.device_of(logits):
        vocabulary_rows[(n,)](
            logits,
            labels,
            table,
            width,
            logits.stride(0),
            table.stride(0),
            ignored,
            r,
            BLOCK=block,
            DEPTH=triton.next_power_of_2(triton.cdiv(width, block)),
            RANKED=r > 1,
            num_warps=max(1, block // COLUMNS_PER_WARP),
        )
