"""The shares of a mixture whose components are known."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s
from believable.kernels.reference import row_blocks

EM_STEPS, NEWTON_STEPS = 10, 200
SETTLED = 1e-12  # the EM algorithm would move no share further, and no absent component asks for one
RIDGE = 1e-12  # of the diagonal, for components that the data do not tell apart
TINY = 1e-6  # a share below this that the EM algorithm makes smaller is dropped, and comes back if that was wrong
HALVINGS = 60


def mixture_shares(density: Float64s, weight: Float64s, start: Float64s) -> tuple[Float64s, bool]:
    """Shares t that maximise sum_i w_i log(sum_k t_k f_ik), and whether they are found; f is (n, K), w positive.

    The EM algorithm, t_k <- t_k h_k with h_k the weighted mean of f_ik / sum_j t_j f_ij, has this maximum as its fixed
    point, but creeps where components overlap. So it begins, and Newton's method on t >= 0 goes on: -sum_i w_i log(f t)
    + sum_k t_k, which has its minimum at the same t and needs no constraint on their sum. The start is positive.
    """
    weight = weight / weight.sum()
    shares = start / start.sum()
    for _ in range(EM_STEPS):
        shares = shares * _pull(density, weight, shares)
    for _ in range(NEWTON_STEPS):
        pull = _pull(density, weight, shares)
        if (pull - 1).max() <= SETTLED and np.abs(shares * (pull - 1)).max() <= SETTLED:
            return shares / shares.sum(), True
        shares = _newton(density, weight, shares, pull)
    return shares / shares.sum(), False


def _pull(density: Float64s, weight: Float64s, shares: Float64s) -> Float64s:
    """h: what the EM algorithm multiplies the shares by."""
    return np.asarray((weight / (density @ shares)) @ density)


def _newton(density: Float64s, weight: Float64s, shares: Float64s, pull: Float64s) -> Float64s:
    """The shares after a step that lowers the cost, halved until it does; one of the EM algorithm if none does."""
    free = (shares > TINY) | (pull > 1)
    part = density[:, free] if not free.all() else density
    curvature = _curvature(part, weight, density @ shares)
    diagonal = np.diagonal(curvature)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    scaled = curvature / scale / scale[:, None]
    np.fill_diagonal(scaled, 1 + RIDGE)
    step = -shares  # of those that are not free, which are on their way to zero
    step[free] = np.linalg.solve(scaled, (pull[free] - 1) / scale) / scale

    before = _cost(density, weight, shares)
    for halving in range(HALVINGS):
        moved = np.maximum(shares + step / 2**halving, 0)
        gain = (pull - 1) @ (moved - shares)
        if gain > 0 and _cost(density, weight, moved) <= before - 1e-4 * gain + 1e-15 * (1 + abs(before)):
            return np.asarray(moved)
    return shares * pull


def _cost(density: Float64s, weight: Float64s, shares: Float64s) -> float:
    mixed = density @ shares
    return float(shares.sum() - weight @ np.log(mixed)) if mixed.min() > 0 else np.inf


def _curvature(density: Float64s, weight: Float64s, mixed: Float64s) -> Float64s:
    """Sum of w_i f_ik f_il / (f t)_i^2."""
    total = np.zeros((density.shape[1], density.shape[1]))
    root = np.sqrt(weight) / mixed
    for rows in row_blocks(*density.shape):
        one = density[rows] * root[rows, None]
        total += one.T @ one
    return total
