"""Sums over all pairs with the Laplace kernel exp(-|x_i - x_j| / h) of sorted points, without looking at the pairs.

Going up through sorted points, what is behind fades by exp(-step / h): one running sum sees every pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Float64s
from believable.kernels._backend import twin
from believable.kernels.compiled import laplace as compiled

SPAN = 100.0  # exponents up to here neither overflow nor lose more than two digits


@twin(compiled.faded_sums)
def faded_sums(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """S_j = sum over i <= j of v_i exp(-(x_j - x_i) / h), along the last axis; x ascends."""
    if x[-1] - x[0] <= SPAN * bandwidth:
        growth = np.exp((x - x[0]) / bandwidth)
        sums: Float64s = np.cumsum(values * growth, axis=-1)
        sums /= growth
        return sums
    # Too wide to scale at once. Sums over the last 2, 4, 8, … points, each made of two of the ones before.
    sums = np.array(values, np.float64)
    step = 1
    while step < len(x):
        fade = _fade(x[step:] - x[:-step], bandwidth)
        if not fade.any():
            break
        sums[..., step:] += fade * sums[..., :-step]
        step *= 2
    return sums


@twin(compiled.faded_before)
def faded_before(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """The same over i < j: what stands before each point. Not S_j - v_j, which would round where v_j is large."""
    before = np.zeros(values.shape)
    before[..., 1:] = _fade(np.diff(x), bandwidth) * faded_sums(x, values, bandwidth)[..., :-1]
    return before


@twin(compiled.faded_around)
def faded_around(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """sum over j != i of v_j exp(-|x_i - x_j| / h)."""
    return faded_before(x, values, bandwidth) + faded_before(-x[::-1], values[..., ::-1], bandwidth)[..., ::-1]


@twin(compiled.pairs_of_blocks)
def pairs_of_blocks(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """sum over i < j of v_i v_j exp(-|x_i - x_j| / h) for each row of two matrices, all rows at once."""
    order = np.argsort(x, axis=1)
    x, values = (np.take_along_axis(matrix, order, axis=1).T.copy() for matrix in (x, values))
    total, behind = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for j in range(1, len(x)):
        behind += values[j - 1]
        behind *= _fade(x[j] - x[j - 1], bandwidth)
        total += behind * values[j]
    return total


@twin(compiled.laplace_form)
def laplace_form(x: Float64s, values: Float64s, bandwidth: float) -> Any:
    """sum_ij v_i v_j exp(-|x_i - x_j| / h), each point with itself included.

    As a sum of squares, sum_j S_j^2 (1 - exp(-2 (x_{j+1} - x_j) / h)), the last of them whole: the kernel is the
    overlap of one-sided exponentials, so the form is the integral of S^2. Nothing cancels, and its root is as exact as
    the values are even where it is near 0.
    """
    sums = faded_sums(x, values, bandwidth)
    sums *= sums
    with np.errstate(over="ignore"):  # points further apart than a quotient can say share nothing
        share = -np.expm1(-2 * (np.diff(x) / bandwidth))
    return (sums[..., :-1] * share).sum(axis=-1) + sums[..., -1]


def _fade(gap: Float64s, bandwidth: float) -> Float64s:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-(gap / bandwidth)))
