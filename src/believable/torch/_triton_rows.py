"""Rows of a vocabulary in one pass, with Triton: no probabilities are kept, and the softmax is corrected as it goes."""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LOG_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def vocabulary_rows(
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
    """One program a row, of any length: the softmax is corrected as larger logits turn up.

    Logits of -inf are probabilities of 0. A row of a label that is no column is left out: its confidence stays what it
    was. That of a row which has no probabilities is NaN.
    """
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row).to(tl.int64)
    if (label < 0) | (label >= K):
        return
    logits += row * stride
    column = tl.arange(0, BLOCK)
    infinity = float("inf")
    most = tl.full([], -infinity, tl.float32)
    top = tl.full([], 0, tl.int32)
    sum1 = tl.zeros([BLOCK], tl.float32)
    sum2 = tl.zeros([BLOCK], tl.float32)
    steps = tl.zeros([BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        at = start + column
        z = tl.load(logits + at, mask=at < K, other=-infinity).to(tl.float32)
        largest = tl.max(z, axis=0)
        if largest > most:
            top = start + tl.min(tl.where(z == largest, column, BLOCK))
            moved = tl.where(most == -infinity, 0.0, (most - largest) * LOG2_E)
            scale = tl.where(most == -infinity, 0.0, tl.exp2(moved))
            steps = scale * (steps + moved * sum1)
            sum1 *= scale
            sum2 *= scale * scale
            most = largest
        # -inf has no probability, whatever the largest; NaN stays what it is, and makes the sums so.
        bits = tl.maximum((z - tl.where(most == -infinity, 0.0, most)) * LOG2_E, -2000, tl.PropagateNan.ALL)
        e = tl.exp2(bits)
        sum1 += e
        sum2 += e * e
        steps += e * bits
    own_step = tl.load(logits + label).to(tl.float64) - most.to(tl.float64)
    total, squares = tl.sum(sum1.to(tl.float64)), tl.sum(sum2.to(tl.float64))
    weighted = tl.sum(steps.to(tl.float64)) * LOG_2
    log_total = tl.log(total)
    own = tl.where(own_step < -745.13321, 0.0, tl.exp(own_step)) / total
    found = (total >= 1) & (tl.abs(most) < infinity)
    tl.store(confidence + row, tl.where(found, 1 / total, float("nan")))
    tl.store(own_nll + row, tl.where(found, log_total - own_step, float("nan")))
    beyond = (total - 1) / total
    if_hit = beyond * beyond + tl.maximum(squares - 1, 0.0) / (total * total)
    tl.store(brier + row, tl.where(top == label, if_hit, 1 - 2 * own + squares / (total * total)))
    tl.store(entropy + row, log_total - weighted / total)
    tl.store(top_column + row, tl.where(found, top, -1))
