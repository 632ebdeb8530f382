"""Moments of 1-D scores by bin, with a check of every row in the same pass."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from believable._kernels.compiled import binary_pass as compiled
from believable._kernels.partition import CellSums, Moments, Partition, PassGrid, PassSums, Sums
from believable._kernels.rows import extrema, row_blocks
from believable._kernels.sums import n_moments, pair_sums
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Floats, Ints

# Blocks much shorter than the table of sums would spend most of their time adding the table.
ROWS_PER_MOMENT, MOST_MOMENT_ROWS = 8, 1 << 20


@twin(compiled.bin_moments)
def bin_moments(scores: Floats, labels: Array, weights: Array | None, partition: Partition, squares: bool) -> Moments:
    """Return the moments by part of scores with 0/1 labels of any integer type.

    They are invalid if a score is not in [0, 1] or a label is not 0 or 1; weights are not checked.
    """
    n_parts = partition.n_parts
    total, positive = np.zeros((2, n_moments(weights is not None, squares), n_parts))
    for rows in row_blocks(len(scores), at_least=min(ROWS_PER_MOMENT * n_parts, MOST_MOMENT_ROWS)):
        score, label = scores[rows], labels[rows]
        (low, high), (least, most) = extrema(score), extrema(label)
        if not (low >= 0 and high <= 1 and least >= 0 and most <= 1):
            return Moments.invalid()
        weight = None if weights is None else weights[rows]
        block_total, block_positive = pair_sums(partition.place(score), n_parts, score, label, weight, squares)
        total += block_total
        positive += block_positive
    return Moments(total, positive, True)


# --- One pass over 1-D scores and outcomes ----------------------------------------------------------------------------
# The pass computes the sums behind proper scores, and the sums of every cell on some grids.
# `believable.stats.sums.row_terms` has the plain form of each sum. Here logarithms are computed once, for the log loss,
# the entropy and the logit-spaced cells; buffers are reused from block to block (new memory costs as much as a
# multiplication); and labels multiply, because `where` would branch on every row and mispredict.
#
# A row's cell grows with its score on every grid, so the sum of its cell numbers, its code, determines each of them.
# Rows are counted by code, once, and the counts are then added up for every grid.


ADDITIVE_SUMS = (
    *("n", "w", "w2", "wp", "wy", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance"),
    "w2_squared",
)
PASS_BLOCK = (
    1 << 16
)  # rows per block: too large for the L1 cache, but threads pass on the interpreter lock half as often
BLAS_PIECE = 1 << 13  # so short that BLAS starts no threads, which wait longer than they work on a busy machine
COUNTED_ROWS = 1 << 19  # rows counted together: fewer would spend their time on the table, more would round more
CODES_PER_ROW_FOR_SORTING = 4  # from this many codes per row, sorting the codes is faster than scanning the table


@twin(compiled.binary_pass)
def binary_pass(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...] = ()) -> PassSums:
    """Return the sums `ADDITIVE_SUMS` and "deviation", and the cells of each grid with their moments (`n_moments`).

    Labels are 0 and 1, or shares between them, by which a row counts as outcome 1.
    """
    if not _valid(scores, labels):
        return PassSums.invalid()
    if weights is None and labels.dtype.kind in "iu":
        return PassSums(*_plain_pass(scores, labels, grids), True)
    given = np.ones(len(scores)) if weights is None else weights
    parts = [_weighted_sums(scores[rows], labels[rows], given[rows]) for rows in row_blocks(len(scores))]
    return PassSums(_added(parts), _by_grid(scores, labels, weights, grids) if grids else [], True)


@twin(compiled.binary_cells)
def binary_cells(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...]) -> PassSums:
    """Return only the cells of each grid with their moments."""
    if not _valid(scores, labels):
        return PassSums.invalid()
    return PassSums({}, _by_grid(scores, labels, weights, grids), True)


def _valid(scores: Floats, labels: Array) -> bool:
    (low, high), (least, most) = extrema(scores), extrema(labels)
    return low >= 0 and high <= 1 and least >= 0 and most <= 1


def _by_grid(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...]) -> list[CellSums]:
    n_sums, table = len(grids[0].cells), np.zeros(())
    for rows in row_blocks(len(scores), at_least=COUNTED_ROWS):
        p = scores[rows].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            logit = np.log(p) - np.log1p(-p)
        code = _codes(scores[rows], logit, grids)
        few = len(scores) * CODES_PER_ROW_FOR_SORTING < n_sums
        found, code = np.unique(code, return_inverse=True) if few else (np.arange(n_sums), code)
        weight = None if weights is None else weights[rows]
        table = table + pair_sums(code, len(found), scores[rows], labels[rows], weight)
    return _on_each_grid(found, table[0], table[1], (grid.cells for grid in grids))


def _codes(scores: Floats, logit: Float64s, grids: tuple[PassGrid, ...]) -> Ints:
    """Return the sum of the cell numbers of every row."""
    code = np.zeros(len(scores))
    zero, one = np.flatnonzero(scores == 0), np.flatnonzero(scores == 1)
    logit[zero] = logit[one] = 0
    for grid in grids:
        cell = grid.place(scores, logit.copy())
        cell[zero], cell[one] = 0, len(grid.edges)
        code += cell
    return code.astype(np.intp)


def _on_each_grid(found: Ints, total: Float64s, positive: Float64s, cells: Iterable[Ints]) -> list[CellSums]:
    """Convert moments by code to moments by cell of each grid; codes and cells ascend."""
    occupied = np.flatnonzero(total[0])
    found, total, positive = found[occupied], total[:, occupied], positive[:, occupied]
    made = []
    for of_codes in cells:
        cell = of_codes[found].astype(np.int64)
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        by_cell = [np.add.reduceat(terms, starts, axis=1) if len(starts) else terms for terms in (total, positive)]
        made.append((cell[starts], by_cell[0], by_cell[1]))
    return made


@twin(compiled.cells_of_table)
def cells_of_table(table: Float64s, cells: tuple[Ints, ...]) -> list[CellSums]:
    """Return the cells of each grid with their moments, from a table (code, outcome, moment).

    `cells` has for each grid the cell of every code, ascending.
    """
    return _on_each_grid(np.arange(len(table)), table[:, 0].T + table[:, 1].T, table[:, 1].T, cells)


def _added(parts: list[Sums]) -> Sums:
    """Add the sums of all parts; deviations are converted to those from the mean of all rows (Chan et al. 1983)."""
    sums = {name: float(np.sum([part[name] for part in parts])) for name in ADDITIVE_SUMS}
    mean = sums["wp"] / sums["w"]
    moved = [part["deviation"] + part["w"] * (part["wp"] / part["w"] - mean) ** 2 for part in parts]
    return sums | {"n": int(sums["n"]), "deviation": float(np.sum(moved))}


def _weighted_sums(scores: Floats, labels: Array, w: Float64s) -> Sums:
    p, y = scores.astype(np.float64), labels.astype(np.float64)
    w2, q, tilt = w * w, 1 - p, 1 - 2 * p
    squared = y * q**2 + (1 - y) * p**2  # (p - y)^2, in expectation over a soft label
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log1p(-p)
    impossible = np.any((p == 0) & (y > 0)) or np.any((p == 1) & (y < 1))
    log_p[p == 0] = log_q[p == 1] = 0  # because 0 log 0 is 0
    rows: dict[str, Float64s] = {
        "n": np.ones(len(p)),
        "w": w,
        "w2": w2,
        "wp": w * p,
        "wy": w * y,
        "brier": w * squared,
        "nll": -w * (y * log_p + (1 - y) * log_q),
        "correct": w * np.where(p > 0.5, y, 1 - y),
        "confidence": w * np.maximum(p, q),
        "entropy": -w * (p * log_p + q * log_q),
        "spread": w * ((y - p) * tilt),
        "spread_variance": w2 * (tilt**2 * p * q),
        "w2_squared": w2 * squared,
    }
    sums = {name: float(terms.sum()) for name, terms in rows.items()}
    deviation = w * (p - sums["wp"] / sums["w"]) ** 2
    return sums | ({"nll": np.inf} if impossible else {}) | {"deviation": float(deviation.sum())}


# --- The same pass without weights, for labels 0 and 1: several times as fast -----------------------------------------


def _plain_pass(scores: Floats, labels: Array, grids: tuple[PassGrid, ...]) -> tuple[Sums, list[CellSums]]:
    n, over = len(scores), _PlainPass(grids)
    if not grids:
        for rows in row_blocks(n, at_least=PASS_BLOCK):
            over.block(scores[rows], labels[rows])
        return _added(over.parts), []
    n_codes, step = 2 * len(grids[0].cells), min(n, COUNTED_ROWS)
    if n * 2 * CODES_PER_ROW_FOR_SORTING < n_codes and n <= COUNTED_ROWS:
        p, code = over.coded(scores, labels)
        found, inverse = np.unique(code // 2, return_inverse=True)
        code = 2 * inverse.astype(np.int64) + code % 2
        table = np.array([np.bincount(code, term, 2 * len(found)) for term in (None, p, p * p)], np.float64)
    else:
        found, table = np.arange(n_codes // 2), np.zeros((3, n_codes))
        for start in range(0, n, step):
            p, code = over.coded(scores[start : start + step], labels[start : start + step])
            table[0] += np.bincount(code, None, n_codes)
            table[1] += np.bincount(code, p, n_codes)
            p *= p
            table[2] += np.bincount(code, p, n_codes)
    split = table.reshape(3, -1, 2)
    total, positive = split[:, :, 0] + split[:, :, 1], split[:, :, 1]
    return _added(over.parts), _on_each_grid(found, total, positive, (grid.cells for grid in grids))


class _PlainPass:
    """A pass over rows block by block, which keeps the sums of each block in `parts`."""

    def __init__(self, grids: tuple[PassGrid, ...]) -> None:
        self.parts: list[Sums] = []
        self._grids = grids
        self._buffers: Float64s = np.empty((7, 0))
        self._p, self._code = np.empty(0), np.empty(0, np.intp)

    def coded(self, scores: Floats, labels: Array) -> tuple[Float64s, Ints]:
        """Sum these rows; return the scores and 2 * code + label, in memory that the next call reuses."""
        n = len(scores)
        if len(self._p) < n:
            self._p, self._code = np.empty(n), np.empty(n, np.intp)
        for rows in row_blocks(n, at_least=PASS_BLOCK):
            self._p[rows] = scores[rows]
            self.block(scores[rows], labels[rows], self._code[rows])
        return self._p[:n], self._code[:n]

    def block(self, scores: Floats, labels: Array, code: Ints | None = None) -> None:
        """Sum the rows of a block, and fill in their codes."""
        if self._buffers.shape[1] < len(scores):
            self._buffers = np.empty((7, len(scores)))
        buffers = self._buffers[:, : len(scores)]
        p, q, y, log_p, log_q, work, _ = buffers
        p[...] = scores
        y[...] = labels
        np.subtract(1, p, out=q)
        zero = np.flatnonzero(scores == 0) if scores.min() == 0 else None
        one = np.flatnonzero(scores == 1) if scores.max() == 1 else None
        with np.errstate(divide="ignore"):
            np.log(p, out=log_p)
            np.log1p(np.negative(p, out=log_q), out=log_q)
        impossible = False  # whether an event of probability 0 was observed
        if zero is not None:
            impossible |= bool(labels[zero].any())
            log_p[zero] = 0  # because 0 log 0 is 0 in the entropy; the log loss is infinite, or does not use this
        if one is not None:
            impossible |= not labels[one].all()
            log_q[one] = 0
        sums = _plain_sums(scores, labels, buffers)
        self.parts.append(sums | {"nll": np.inf} if impossible else sums)
        if code is None:
            return

        logit = np.subtract(log_p, log_q, out=log_p)
        for grid in self._grids:
            work[...] = logit
            cell = grid.place(scores, work)
            if zero is not None:
                cell[zero] = 0
            if one is not None:
                cell[one] = len(grid.edges)
            cell += cell
            y += cell
        code[...] = y


def _plain_sums(scores: Floats, labels: Array, buffers: Float64s) -> Sums:
    """Return the sums of a block from the buffers p, 1 - p, y, log p and log(1 - p); 1 - p is overwritten."""
    p, q, y, log_p, log_q, work, spare = buffers
    n, total = len(p), float(p.sum())
    np.subtract(1, y, out=work)
    nll = -inner(y, log_p) - inner(work, log_q)
    entropy = -inner(p, log_p) - inner(q, log_q)
    confidence = float(np.maximum(p, q, out=work).sum())
    tilt = np.subtract(q, p, out=work)
    q *= p
    tilt_squared = np.multiply(tilt, tilt, out=spare)
    spread_variance = inner(tilt_squared, q)
    residual = np.subtract(y, p, out=q)
    spread, brier = inner(residual, tilt), inner(residual, residual)
    from_mean = np.subtract(p, total / n, out=work)
    return {
        "n": n,
        "w": n,
        "w2": n,
        "wp": total,
        "wy": int(np.count_nonzero(labels)),
        "brier": brier,
        "nll": nll,
        "correct": int(np.count_nonzero((scores > 0.5) == labels)),
        "confidence": confidence,
        "entropy": entropy,
        "spread": spread,
        "spread_variance": spread_variance,
        "w2_squared": brier,
        "deviation": inner(from_mean, from_mean),
    }


def inner(a: Float64s, b: Float64s) -> float:
    """Return the sum of products."""
    if len(a) % BLAS_PIECE:
        return float(np.einsum("i,i->", a, b))
    return float(np.matmul(a.reshape(-1, 1, BLAS_PIECE), b.reshape(-1, BLAS_PIECE, 1)).sum())


# --- The cell of a score between logit-spaced edges -------------------------------------------------------------------
# Edge k of n cells is the sigmoid of reach * (2k/n - 1), rounded to the type of the scores, so the cell follows from
# the logit by multiplying and rounding down. The edge itself is compared only if that is within rounding of a whole
# number. Towards 1, rounded edges are close together or equal, and logits cannot separate them; but there are few
# different scores there, and a table has the cell of each.


SCORES_NEAR_ONE = 1 << 16  # number of scores in the table: 1, the float below, and so on
MOST_LOGIT_CELLS = 1 << 19  # with more cells, the window of rounding would be wider than a quarter of a cell


def near_one(edges: Floats) -> Array:
    """Return the number of inner edges below each score 1 - j * spacing, j = 0..SCORES_NEAR_ONE."""
    spacing = np.finfo(edges.dtype).epsneg
    scores = edges.dtype.type(1) - np.arange(SCORES_NEAR_ONE + 1).astype(edges.dtype) * spacing
    return np.searchsorted(edges[1:-1], scores, side="left").astype(np.int32)


def logit_floor(scores: Floats, logit: Float64s, edges: Floats, table: Array, reach: float) -> Float64s:
    """Return the number of inner edges below each score, as a float; the logits, at most `reach`, are overwritten.

    Outside the table, rounding an edge moves its logit by at most 2 / SCORES_NEAR_ONE: half a spacing over p(1 - p),
    and the rounding of the logarithms, which is far smaller.
    """
    n_cells = len(edges) - 1
    per_unit = n_cells / (2 * reach)
    window = per_unit * 2 / SCORES_NEAR_ONE
    logit *= per_unit
    logit += reach * per_unit + window
    if scores.min() <= edges[1]:  # scores below the first edge may be far below
        np.maximum(logit, 0, out=logit)
    index = np.floor(logit)
    logit -= index
    near = np.flatnonzero(logit <= 2 * window)
    below = index[near]
    index[near] -= (scores[near] <= edges.take(below.astype(np.intp))) & (below > 0)

    spacing = np.finfo(edges.dtype).epsneg
    high = np.flatnonzero(scores >= 1 - SCORES_NEAR_ONE * spacing)
    if len(high):
        index[high] = table.take(((1 - scores[high]) / spacing).astype(np.intp))
    return index


@twin(compiled.logit_index)
def logit_index(scores: Floats, edges: Floats, table: Array, reach: float) -> Ints:
    """Return the number of inner edges below each score: `bin_index` for logit-spaced edges with table `near_one`."""
    index = np.empty(len(scores), np.intp)
    for rows in row_blocks(len(scores)):
        p = scores[rows].astype(np.float64)
        with np.errstate(divide="ignore"):
            logit = np.minimum(np.log(p) - np.log1p(-p), reach)  # the logit of 1 is infinite
        index[rows] = logit_floor(scores[rows], logit, edges, table, reach)
    return index
