"""`row_terms` in one pass over each row, with Triton: sums of exponentials, without storing probabilities."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COMPILED_TYPES = (torch.float32, torch.float16, torch.bfloat16)
MAX_BLOCK_COLUMNS = 512  # the columns that a program reads at once

LOG2_E = tl.constexpr(1.4426950408889634)
LOG_2 = tl.constexpr(0.6931471805599453)
MAX_BITS_APART = tl.constexpr(40)  # a million times e squared is still far from overflow then


@triton.jit
def vocabulary_rows(  # type: ignore[no-untyped-def]
    logits,
    labels,
    confidence,
    own_nll,
    brier,
    entropy,
    top_column,
    K,
    stride,
    BLOCK: tl.constexpr,
):
    """Handle one row of any length per program.

    Logits of -inf are probabilities of 0. A row whose label is not a column is left out: its confidence is not written.
    A row without probabilities gets the confidence NaN.
    """
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row).to(tl.int64)
    if (label < 0) | (label >= K):
        return
    logits += row * stride
    column = tl.arange(0, BLOCK)
    infinity = float("inf")
    mosts = tl.full([BLOCK], -infinity, tl.float32)  # the largest among columns a block apart, and its column
    starts = tl.zeros([BLOCK], tl.int32)
    sum1 = tl.zeros([BLOCK], tl.float32)
    sum2 = tl.zeros([BLOCK], tl.float32)
    steps = tl.zeros([BLOCK], tl.float32)
    # Exponentials are relative to the largest of the first columns. Only if the overall largest is so far that sums
    # might overflow, the row is read again, relative to the overall largest.
    beside = tl.max(tl.load(logits + column, mask=column < K, other=-infinity).to(tl.float32), axis=0)
    beside = tl.where(tl.abs(beside) < infinity, beside, 0.0)
    most = beside
    again = True
    for _ in range(2):
        if again:
            for start in range(0, K, BLOCK):
                at = start + column
                z = tl.load(logits + at, mask=at < K, other=-infinity).to(tl.float32)
                larger = z > mosts
                mosts = tl.where(larger, z, mosts)
                starts = tl.where(larger, start, starts)
                # -inf has probability 0; NaN stays and makes the sums NaN.
                bits = tl.maximum((z - beside) * LOG2_E, -2000, tl.PropagateNan.ALL)
                e = tl.exp2(bits)
                sum1 += e
                sum2 += e * e
                steps += e * bits
            most = tl.max(mosts, axis=0)
            again = (tl.abs(most - beside) * LOG2_E > MAX_BITS_APART) & (tl.abs(most) < infinity)
            if again:
                beside = most
                sum1 = tl.zeros([BLOCK], tl.float32)
                sum2 = tl.zeros([BLOCK], tl.float32)
                steps = tl.zeros([BLOCK], tl.float32)
                mosts = tl.full([BLOCK], -infinity, tl.float32)
    top = tl.min(tl.where(mosts == most, starts + column, K))
    own_step = tl.load(logits + label).to(tl.float64) - most.to(tl.float64)
    gap = most.to(tl.float64) - beside.to(tl.float64)
    scale = tl.exp(-gap)
    total, squares = tl.sum(sum1.to(tl.float64)) * scale, tl.sum(sum2.to(tl.float64)) * scale * scale
    weighted = tl.sum(steps.to(tl.float64)) * LOG_2 * scale - gap * total
    found = (total > 0.5) & (tl.abs(most) < infinity)
    total = tl.maximum(total, 1.0)
    log_total = tl.log(total)
    own = tl.where(own_step < -745.13321, 0.0, tl.exp(own_step)) / total
    nothing = float("nan")
    tl.store(confidence + row, tl.where(found, 1 / total, nothing))
    tl.store(own_nll + row, tl.where(found, log_total - own_step, nothing))
    beyond = (total - 1) / total
    if_hit = beyond * beyond + tl.maximum(squares - 1, 0.0) / (total * total)
    score = tl.where(top == label, if_hit, 1 - 2 * own + squares / (total * total))
    tl.store(brier + row, tl.where(found, score, nothing))
    tl.store(entropy + row, tl.where(found, log_total - weighted / total, nothing))
    tl.store(top_column + row, tl.where(found, top, -1))


def suits(logits: Tensor) -> bool:
    """Return whether the pass can read these logits."""
    return logits.dtype in COMPILED_TYPES and logits.stride(1) == 1


def row_terms(logits: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    """Return confidence, log loss, Brier score, entropy and predicted column of each row, of any length.

    The confidence is NaN, and the column -1, where the label is not a column or the logits have no softmax.
    """
    n, width = logits.shape
    made = [torch.full((n,), torch.nan, dtype=torch.float64, device=logits.device) for _ in range(4)]
    top = torch.full((n,), -1, dtype=torch.int32, device=logits.device)
    if n:
        block = min(MAX_BLOCK_COLUMNS, triton.next_power_of_2(width))
        warps = max(1, block // 256)
        with torch.cuda.device_of(logits):
            vocabulary_rows[(n,)](
                logits, labels.contiguous(), *made, top, width, logits.stride(0), BLOCK=block, num_warps=warps
            )
    return *made, top.long()
