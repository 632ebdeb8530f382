"""One pass over 1-D scores and 0/1 labels: the sums behind proper scores, and the cell of every row.

The plain form of each sum is in `believable.stats.sums.row_terms`. Here logarithms are taken once, for the log loss,
the entropy and the logit-spaced cells; buffers are used again from block to block (new memory costs as much as a
multiplication); and nothing is chosen row by row (`where` waits for every label it cannot foretell): labels multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels.reference import row_blocks

# Of scores, and their logits (which may be overwritten), to cells as floats; whatever it says of 0 and 1 is not used.
Place = Callable[[Floats, Float64s], Floats]
Sums = dict[str, float]

ADDITIVE = ("n", "wp", "wy", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance")
BLOCK = 1 << 16  # rows: buffers leave the nearest cache, but threads hand each other the interpreter half as often
PIECE = 1 << 13  # so short that BLAS starts no threads, which on a busy machine wait longer than they work


class BinaryPass:
    """Goes over rows part by part and keeps the sums.

    Parameters
    ----------
    places : sequence of callables
        One for each grid.
    last : sequence of int
        The cell of 1 on each grid; that of 0 is 0.
    """

    def __init__(self, places: Sequence[Place] = (), last: Sequence[int] = ()) -> None:
        self._places, self._last = places, last
        self._p, *self._buffers = np.empty((7, BLOCK))
        self._parts: list[Sums] = []

    def over(self, scores: Floats, labels: Array) -> None:
        """Sum these rows."""
        for rows in row_blocks(len(scores), at_least=BLOCK):
            self._block(scores[rows], labels[rows], self._p[: rows.stop - rows.start])

    def over_cells(self, scores: Floats, labels: Array, p: Float64s, code: Ints) -> None:
        """Sum these rows; fill `p` with the scores and `code` with 2 * (sum of the cells) + label.

        As scores grow so does every cell, so the sum of cells says what each of them is.
        """
        for rows in row_blocks(len(scores), at_least=BLOCK):
            self._block(scores[rows], labels[rows], p[rows], code[rows])

    def sums(self) -> Sums:
        """Those named in `ADDITIVE`, and "deviation", the sum of squared differences from the mean score."""
        sums = {name: float(np.sum([part[name] for part in self._parts])) for name in ADDITIVE}
        # From each block's mean to that of all (Chan et al. 1983).
        mean = sums["wp"] / sums["n"]
        moved = [part["deviation"] + part["n"] * (part["wp"] / part["n"] - mean) ** 2 for part in self._parts]
        return sums | {"deviation": float(np.sum(moved))}

    def _block(self, scores: Floats, labels: Array, p: Float64s, code: Ints | None = None) -> None:
        q, y, log_p, log_q, work, spare = (buffer[: len(scores)] for buffer in self._buffers)
        p[...] = scores
        y[...] = labels
        np.subtract(1, p, out=q)
        zero = np.flatnonzero(scores == 0) if scores.min() == 0 else None
        one = np.flatnonzero(scores == 1) if scores.max() == 1 else None
        with np.errstate(divide="ignore"):
            np.log(p, out=log_p)
            np.log1p(np.negative(p, out=log_q), out=log_q)
        impossible = False  # that an event of probability 0 happened
        if zero is not None:
            impossible |= bool(labels[zero].any())
            log_p[zero] = 0  # as 0 log 0 is 0 in the entropy; the log loss is infinite or does not look here
        if one is not None:
            impossible |= not labels[one].all()
            log_q[one] = 0
        sums = _sums(scores, labels, p, q, y, log_p, log_q, work, spare)
        self._parts.append(sums | {"nll": np.inf} if impossible else sums)
        if code is None:
            return

        logit = np.subtract(log_p, log_q, out=log_p)
        for place, last in zip(self._places, self._last, strict=True):
            work[...] = logit
            cell = place(scores, work)
            if zero is not None:
                cell[zero] = 0
            if one is not None:
                cell[one] = last
            cell += cell
            y += cell
        code[...] = y


def _sums(
    scores: Floats,
    labels: Array,
    p: Float64s,
    q: Float64s,
    y: Float64s,
    log_p: Float64s,
    log_q: Float64s,
    work: Float64s,
    spare: Float64s,
) -> Sums:
    """What a block adds; q = 1 - p is used up."""
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
        "wp": total,
        "wy": int(np.count_nonzero(labels)),
        "brier": brier,
        "nll": nll,
        "correct": int(np.count_nonzero((scores > 0.5) == labels)),
        "confidence": confidence,
        "entropy": entropy,
        "spread": spread,
        "spread_variance": spread_variance,
        "deviation": inner(from_mean, from_mean),
    }


def inner(a: Float64s, b: Float64s) -> float:
    """Sum of products."""
    if len(a) % PIECE:
        return float(np.einsum("i,i->", a, b))
    return float(np.matmul(a.reshape(-1, 1, PIECE), b.reshape(-1, PIECE, 1)).sum())
