"""Rows of many classes in one pass, with Triton: a warp or more has a whole row in its registers.

Programs go over the rows, each with sums of its own, which are added to the tally at the end. What a row adds is what
`believable.torch._reference` says; the largest class is kept apart from the rest, so that nothing cancels where it is
nearly sure.
"""

from __future__ import annotations

import triton
import triton.language as tl

MOST_CLASSES = 8192  # in registers
LOG2_E = tl.constexpr(1.4426950408889634)
LOG_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def _add(a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5):
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4, a5 + b5


@triton.jit
def _cell(p, edges, CELLS: tl.constexpr):
    """Right-closed cells k/CELLS; 0 and 1 have cells of their own. The edges decide where a product is near one."""
    below = (p * CELLS).to(tl.int32)
    below = tl.where((below > 0) & (p <= tl.load(edges + below)), below - 1, below)
    return tl.where(p == 0, 0, tl.where(p == 1, CELLS + 1, below + 1))


@triton.jit
def _add_pair(table, group, CELLS: tl.constexpr, cell, outcome, p, where):
    entry = table + ((group * (CELLS + 2) + cell) * 2 + outcome) * 3
    tl.atomic_add(entry, p * 0 + 1, mask=where, sem="relaxed")
    tl.atomic_add(entry + 1, p, mask=where, sem="relaxed")
    tl.atomic_add(entry + 2, p * p, mask=where, sem="relaxed")


@triton.jit
def many_classes(
    scores,
    labels,
    edges,
    group_edges,
    confidence_table,
    top_label_table,
    classwise_table,
    sums,
    by_class,
    invalid,
    n,
    inner,
    ignore_index,
    slack,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
    CELLS: tl.constexpr,
    GROUP_CELLS: tl.constexpr,
    LOGITS: tl.constexpr,
    IGNORE: tl.constexpr,
    STRIDED: tl.constexpr,
    REPLICATED: tl.constexpr,
    CONFIDENCE: tl.constexpr,
    TOP_LABEL: tl.constexpr,
    CLASSWISE: tl.constexpr,
):
    """Count rows: the sums, the sums by class, and the cells of each notion that is asked for.

    REPLICATED: the table of the confidence has a copy for each program.
    """
    program = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    here = column < K
    if REPLICATED:
        confidence_table += program.to(tl.int64) * (CELLS + 2) * 6
    p_sums = tl.zeros([BLOCK], tl.float32)
    pp_sums = tl.zeros([BLOCK], tl.float32)
    if CLASSWISE:
        n_first = tl.zeros([BLOCK], tl.float32)
        p_first = tl.zeros([BLOCK], tl.float32)
        pp_first = tl.zeros([BLOCK], tl.float32)
    zero = tl.zeros([], tl.float64)
    counted, briers, nlls, finite_nlls, corrects, confidences = zero, zero, zero, zero, zero, zero
    entropies, spreads, spread_variances, brier_chances, nll_chances = zero, zero, zero, zero, zero
    briers2, nlls2, confidences2, entropies2 = zero, zero, zero, zero
    infinity = float("inf")

    for row in range(program, n, tl.num_programs(0)):
        place = row + tl.zeros([], tl.int64)
        label = tl.load(labels + place).to(tl.int64)
        kept = True
        if IGNORE:
            kept = label != ignore_index
        if kept:
            # What is no class has no probability, and is finite: so it need not be left out of any sum.
            if STRIDED:
                start, step_of_class = place // inner * K * inner + place % inner, inner
                z = tl.load(scores + start + column.to(tl.int64) * inner, mask=here, other=-1e30).to(tl.float32)
            else:
                start, step_of_class = place * K, 1
                z = tl.load(scores + start + column, mask=here, other=-1e30).to(tl.float32)
            known = (label >= 0) & (label < K)
            own_score = tl.load(scores + start + tl.where(known, label, 0) * step_of_class).to(tl.float32)
            most = tl.max(z, axis=0)
            top = tl.min(tl.where(z == most, column, BLOCK))
            if LOGITS:
                bits = (z - most) * LOG2_E
                e = tl.exp2(bits)
            else:
                e = tl.where(here, z, 0)
                bits = tl.log2(tl.where(e > 0, e, 1))
            other = tl.where(column == top, 0, e)  # beside the largest, a small rest would be rounded away
            square = other * other
            rest, second, third, fourth, steps, squared_steps = tl.reduce(
                (other, square, square * other, square * square, e * bits, e * bits * bits), 0, _add
            )
            finite = (steps == steps) & (tl.abs(most) <= 3.4028234663852886e38)  # one that is not makes all sums NaN
            steps *= LOG_2
            squared_steps *= LOG_2 * LOG_2
            inside, one = True, True
            if LOGITS:
                share = 1 / (1 + rest)
                own_step = own_score.to(tl.float64) - most.to(tl.float64)
                log_sum = tl.where(rest < 1e-3, rest - rest * rest * (0.5 - rest / 3), tl.log(1 + rest))
                confidence = 1 / (1 + rest.to(tl.float64))
                first = share
                own = tl.where(own_score == most, share, tl.exp(own_step.to(tl.float32)) * share)
                rest, steps, squared_steps = rest * share, steps * share, squared_steps * share
                second = second * share * share
                third = third * share * share * share
                fourth = fourth * share * share * share * share
                entropy = log_sum - steps
                nll = tl.where(own_step < -745.13321, infinity, log_sum.to(tl.float64) - own_step)  # a double is 0
                short = rest
            else:
                share = 1.0
                least = tl.min(e)
                inside = (least >= 0) & (most <= 1)
                one = tl.abs(most + rest - 1) <= slack
                confidence = most.to(tl.float64)
                first, own = most, own_score
                entropy = -steps
                nll = tl.where(own > 0, -tl.log(own.to(tl.float64)), infinity)
                short = 1 - most
            if finite & inside & one & known:
                hit = top == label
                squares = first * first + second
                tilt = 1 - 2 * first
                missing = tl.where(hit, short, 1 - own)
                brier = missing * missing + tl.where(hit, second, first * first + (second - own * own))
                of_others = rest - 5 * second + 8 * third - 4 * fourth
                if LOGITS:
                    spread = 2 * tl.where(hit, second - first * rest, first * first + (second - own))
                    below = first * rest - second
                    squared_below = first * (first * rest - 2 * second) + third
                    by_chance = squared_below - below * below
                else:
                    spread = (1 - most - rest) + 2 * (squares - own)
                    by_chance = first * first * first + third - squares * squares
                nll_chance = squared_steps - steps * steps
                finite_nll = tl.where(nll < infinity, nll, 0)
                counted += 1
                briers += brier.to(tl.float64)
                nlls += nll
                finite_nlls += finite_nll
                corrects += hit.to(tl.float64)
                confidences += confidence
                entropies += entropy.to(tl.float64)
                spreads += spread.to(tl.float64)
                spread_variances += (first * short * tilt * tilt + of_others).to(tl.float64)
                brier_chances += 4 * tl.maximum(by_chance, 0).to(tl.float64)
                nll_chances += tl.maximum(nll_chance, 0).to(tl.float64)
                briers2 += brier.to(tl.float64) * brier.to(tl.float64)
                nlls2 += finite_nll * finite_nll
                confidences2 += confidence * confidence
                entropies2 += entropy.to(tl.float64) * entropy.to(tl.float64)
                p_sums += e * share
                pp_sums += (e * share) * (e * share)
                tl.atomic_add(by_class + 2 * K + label, 1.0, sem="relaxed")
                tl.atomic_add(by_class + 3 * K + label, 1.0, sem="relaxed")
                tl.atomic_add(by_class + 4 * K + label, brier.to(tl.float64), sem="relaxed")
                score_of_top = confidence if LOGITS else most
                if CONFIDENCE:
                    cell = _cell(score_of_top, edges, CELLS)
                    _add_pair(confidence_table, 0, CELLS, cell, hit.to(tl.int32), confidence, cell >= 0)
                if TOP_LABEL:
                    cell = _cell(score_of_top, group_edges, GROUP_CELLS)
                    _add_pair(top_label_table, top, GROUP_CELLS, cell, hit.to(tl.int32), confidence, cell >= 0)
                if CLASSWISE:
                    # Most entries lie in the first cell above 0: those are added up without asking where. The label
                    # and the largest are counted each by itself.
                    p = e * share
                    first_edge = tl.load(group_edges + 1).to(tl.float32)
                    nothing = (bits < -1075) if LOGITS else (e == 0)
                    others = here & (column != top) & (column != label)
                    low = others & (p <= first_edge) & (nothing == 0)
                    n_first += tl.where(low, 1.0, 0.0)
                    p_first += tl.where(low, p, 0)
                    pp_first += tl.where(low, p * p, 0)
                    beyond = others & (low == 0)
                    if tl.max(beyond.to(tl.int32)) > 0:
                        of_class = _cell(tl.where(beyond, p, 0), group_edges, GROUP_CELLS)
                        of_class = tl.where((of_class == 0) & (nothing == 0), 1, of_class)
                        _add_pair(classwise_table, column, GROUP_CELLS, of_class, 0, p.to(tl.float64), beyond)
                    cell = _cell(score_of_top, group_edges, GROUP_CELLS)
                    _add_pair(classwise_table, top, GROUP_CELLS, cell, hit.to(tl.int32), confidence, cell >= 0)
                    score_of_own = tl.exp(own_step) * confidence if LOGITS else own
                    cell = _cell(score_of_own, group_edges, GROUP_CELLS)
                    _add_pair(classwise_table, label, GROUP_CELLS, cell, 1, score_of_own.to(tl.float64), hit == 0)
            else:
                reason = tl.where(finite == 0, 0, tl.where(inside == 0, 1, tl.where(one == 0, 2, 3)))
                tl.atomic_add(invalid + reason, 1, sem="relaxed")

    tl.atomic_add(by_class + column, p_sums.to(tl.float64), mask=here, sem="relaxed")
    tl.atomic_add(by_class + K + column, pp_sums.to(tl.float64), mask=here, sem="relaxed")
    if CLASSWISE:
        entry = classwise_table + (column.to(tl.int64) * (GROUP_CELLS + 2) + 1) * 6
        tl.atomic_add(entry, n_first.to(tl.float64), mask=here, sem="relaxed")
        tl.atomic_add(entry + 1, p_first.to(tl.float64), mask=here, sem="relaxed")
        tl.atomic_add(entry + 2, pp_first.to(tl.float64), mask=here, sem="relaxed")
    # In the order of SUMS in _tally.py.
    tl.atomic_add(sums, counted, sem="relaxed")
    tl.atomic_add(sums + 1, counted, sem="relaxed")
    tl.atomic_add(sums + 2, counted, sem="relaxed")
    tl.atomic_add(sums + 3, briers, sem="relaxed")
    tl.atomic_add(sums + 4, nlls, sem="relaxed")
    tl.atomic_add(sums + 5, corrects, sem="relaxed")
    tl.atomic_add(sums + 6, confidences, sem="relaxed")
    tl.atomic_add(sums + 7, entropies, sem="relaxed")
    tl.atomic_add(sums + 8, spreads, sem="relaxed")
    tl.atomic_add(sums + 9, spread_variances, sem="relaxed")
    tl.atomic_add(sums + 10, briers, sem="relaxed")
    tl.atomic_add(sums + 11, briers, sem="relaxed")
    tl.atomic_add(sums + 12, finite_nlls, sem="relaxed")
    tl.atomic_add(sums + 13, corrects, sem="relaxed")
    tl.atomic_add(sums + 14, confidences, sem="relaxed")
    tl.atomic_add(sums + 15, entropies, sem="relaxed")
    tl.atomic_add(sums + 16, briers2, sem="relaxed")
    tl.atomic_add(sums + 17, nlls2, sem="relaxed")
    tl.atomic_add(sums + 18, corrects, sem="relaxed")
    tl.atomic_add(sums + 19, confidences2, sem="relaxed")
    tl.atomic_add(sums + 20, entropies2, sem="relaxed")
    tl.atomic_add(sums + 21, brier_chances, sem="relaxed")
    tl.atomic_add(sums + 22, nll_chances, sem="relaxed")


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
