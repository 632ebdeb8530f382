"""Where recalibrators should end: the definitions, solved literally, slowly and without believable.

All likelihoods here are convex, so a Newton step of no length is the optimum, whoever took the steps before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.data import Array

BLOCK = 1 << 20  # numbers looked at together
NOTHING = 1e-20  # what a further step would gain in mean log loss
MOST_STEPS = 50
FEW, SOME = 4000, 16  # rows that are few, and a row in so many


def temperature(logits: Array, labels: Array) -> float:
    """The inverse temperature of least log loss."""

    def derivatives(b: Array) -> tuple[Array, Array]:
        first = second = 0.0
        for rows in _blocks(logits):
            z = logits[rows].astype(np.float64)
            z -= z.max(axis=1, keepdims=True)
            p = _softmax(b[0] * z)
            mean = (p * z).sum(axis=1)
            first += float((mean - z[np.arange(len(z)), labels[rows]]).sum())
            second += float(((p * z * z).sum(axis=1) - mean**2).sum())
        return np.array([first]) / len(logits), np.array([[second]]) / len(logits)

    if len(logits) > FEW:  # begin where few of the rows end: every look at all of them takes a second
        return float(_newton(derivatives, np.array([temperature(logits[::SOME], labels[::SOME])]))[0])
    return float(_newton(derivatives, np.ones(1))[0])


def logistic(columns: Array, happened: Array) -> Array:
    """Coefficients of the columns (n, k) of largest likelihood, the intercept last."""
    x = np.column_stack([columns, np.ones(len(columns))])

    def derivatives(coefficients: Array) -> tuple[Array, Array]:
        mu = 1 / (1 + np.exp(-(x @ coefficients)))
        return x.T @ (mu - happened) / len(x), (x * (mu * (1 - mu))[:, None]).T @ x / len(x)

    return _newton(derivatives, np.zeros(x.shape[1]))


def multinomial(logits: Array, labels: Array) -> Array:
    """W and b, side by side (K, K + 1), of largest likelihood of softmax(W z + b)."""
    n, k = logits.shape
    x = np.column_stack([logits, np.ones(n)])
    y = np.eye(k)[labels]

    def derivatives(flat: Array) -> tuple[Array, Array]:
        p = _softmax(x @ flat.reshape(k, k + 1).T)
        curvature = np.empty((k, k + 1, k, k + 1))
        for i in range(k):
            for j in range(k):
                curvature[i, :, j, :] = (x * (p[:, i] * ((i == j) - p[:, j]))[:, None]).T @ x
        return ((p - y).T @ x).ravel() / n, curvature.reshape(k * (k + 1), -1) / n

    return _newton(derivatives, np.eye(k, k + 1).ravel()).reshape(k, k + 1)


def vector(logits: Array, labels: Array) -> tuple[Array, Array]:
    """The w and b of K numbers each of largest likelihood of softmax(w z + b)."""
    n, k = logits.shape
    y = np.eye(k)[labels]

    def derivatives(flat: Array) -> tuple[Array, Array]:
        p = _softmax(logits * flat[:k] + flat[k:])
        left = (p - y, (p - y) * logits)
        sides = (p * logits, p)  # of w and of b
        blocks = [[-(a.T @ b) for b in sides] for a in sides]
        for i, a in enumerate((logits, np.ones_like(logits))):
            for j, b in enumerate((logits, np.ones_like(logits))):
                blocks[i][j] += np.diag((p * a * b).sum(axis=0))
        return np.concatenate([left[1].sum(axis=0), left[0].sum(axis=0)]) / n, np.block(blocks) / n

    found = _newton(derivatives, np.concatenate([np.ones(k), np.zeros(k)]))
    return found[:k], found[k:]


def isotonic(scores: Array, happened: Array) -> Array:
    """The isotonic fit of every row: adjacent violators pooled one by one, as the others share SciPy's routine."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    weights: list[float] = []
    sums: list[float] = []
    sizes: list[int] = []
    for weight, total in zip(count.tolist(), np.bincount(place, happened).tolist(), strict=True):
        size = 1
        while sums and sums[-1] * weight >= total * weights[-1]:  # whole numbers: compared without rounding
            weight, total, size = weight + weights.pop(), total + sums.pop(), size + sizes.pop()
        weights.append(weight)
        sums.append(total)
        sizes.append(size)
    return np.repeat(np.array(sums) / np.array(weights), sizes)[place]


def venn_abers(scores: Array, happened: Array, at: Array) -> Array:
    """The ends p0, p1 at some scores: for each, two isotonic fits with one more row."""
    ends = [[isotonic(np.append(scores, s), np.append(happened, label))[-1] for label in (0, 1)] for s in at]
    return np.array(ends)


def of_label(logits: Array, labels: Array, change: Callable[[Array], Array]) -> Array:
    """The probability that softmax of changed logits gives to the label of each row."""
    result = np.empty(len(logits))
    for rows in _blocks(logits):
        z = change(logits[rows].astype(np.float64))
        result[rows] = _softmax(z)[np.arange(len(z)), labels[rows]]
    return result


def _softmax(z: Array) -> Array:
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _newton(derivatives: Callable[[Array], tuple[Array, Array]], here: Array) -> Array:
    for _ in range(MOST_STEPS):
        gradient, curvature = derivatives(here)
        step = np.linalg.lstsq(curvature, gradient, rcond=1e-12)[0]  # softmax leaves some directions open
        here = here - step
        if abs(gradient @ step) < NOTHING:
            return here
    raise ArithmeticError("the literal optimum was not reached")


def _blocks(logits: Array) -> Iterator[slice]:
    step = max(1, BLOCK // logits.shape[1])
    for start in range(0, len(logits), step):
        yield slice(start, min(start + step, len(logits)))
