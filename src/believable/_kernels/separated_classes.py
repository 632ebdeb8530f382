"""Whether classes are separated by their logits, so that a multinomial likelihood rises for ever in some direction.

With x the logits of a row and 1, coefficients d separate the classes if d_label x >= d_k x for every row and class k,
and > for some: adding more of d then never lowers the likelihood (Albert & Anderson 1984). The search for a maximum
ends somewhere on the way, after a number of steps that depends on rounding, and so on the order of the rows. Here
linear programming finds d, or shows that there is none.
"""

from __future__ import annotations

import numpy as np

from believable._types import Array, Float64s, Ints

MOST_NUMBERS = 1 << 22  # of the linear program, which takes about a second at this size
MARGIN = 1e-5  # d separates two classes of a row if it moves them further apart than this; d is in [-1, 1]
ROUNDING = 1e-6  # as little as this in the other direction is rounding


def separated(u: Float64s, labels: Ints, free: Array) -> bool | None:
    """Return whether coefficients exist that separate the classes; None if there are too many rows to find out.

    Inputs u (n, K) are of order one, rows of weight 0 left out. `free` (K, 2) or (K, K + 1) says which coefficients,
    of the own logit or of all of them and then of 1, are not held at zero.
    """
    from scipy.optimize import linprog

    n_classes = len(free)
    if len(u) * (n_classes - 1) * free.size > MOST_NUMBERS:
        return None
    rows = np.unique(np.column_stack([labels, u]), axis=0)
    label, x = rows[:, 0].astype(np.intp), np.column_stack([rows[:, 1:], np.ones(len(rows))])
    other = np.nonzero(np.arange(n_classes) != label[:, None])[1].reshape(len(rows), -1)
    gaps = np.zeros((*other.shape, *free.shape))
    pair = np.arange(len(rows))[:, None], np.arange(n_classes - 1)
    for classes, sign in ((label[:, None], 1), (other, -1)):
        own = x[pair[0], classes] if free.shape[1] == 2 else None
        seen = x[:, None] if own is None else np.stack([own, np.broadcast_to(1.0, own.shape)], axis=-1)
        gaps[(*pair, np.broadcast_to(classes, other.shape))] += sign * seen
    gaps = np.unique(gaps.reshape(-1, free.size)[:, free.ravel()], axis=0)
    found = linprog(-gaps.sum(axis=0), A_ub=-gaps, b_ub=np.zeros(len(gaps)), bounds=(-1, 1), method="highs")
    if found.status != 0:
        return None
    apart = gaps @ found.x
    return bool(apart.max() > MARGIN and apart.min() > -ROUNDING)
