"""Rows of a matrix in an order that depends on nothing but the rows themselves."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s, Ints
from believable.kernels.reference import running_sum
from believable.kernels.sorting import ascending

MOST = 1000  # rows that the median distance is taken over


def row_order(*keys: Float64s) -> Ints:
    """Positions that sort rows by their entries, first entry first; later matrices break ties of the earlier."""
    first = keys[0][:, 0]
    order = ascending(first)
    ordered = first[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):  # few, mostly: only these look at all their entries
        rows = order[tied]
        columns = [column for key in keys for column in key[rows].T]
        order[tied] = rows[np.lexsort(columns[::-1])]
    return order


def runs(rows: Float64s) -> Ints:
    """Where each run of equal rows starts."""
    return np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))


def spread_rows(matrix: Float64s, weight: Float64s) -> tuple[Ints, Float64s]:
    """Distinct rows and their weights; where they are more than `MOST`, so many of them, evenly by weight.

    They are taken along the order of their entries sorted downwards (which class is which matters for ties only), so
    neither the order of rows nor the names of classes decides, and a row twice is a row of weight 2.
    """
    order = row_order(-np.sort(-matrix, axis=1), matrix)
    starts = runs(matrix[order])
    rows, weight = order[starts], np.add.reduceat(weight[order], starts)
    if len(rows) <= MOST:
        return rows, weight
    reached = running_sum(weight)
    targets = (np.arange(MOST) + 0.5) / MOST - 1e-9
    return rows[np.searchsorted(reached, targets * reached[-1], side="left")], np.ones(MOST)


def middle_of_pairs(distance: Float64s, weight: Float64s) -> float:
    """Weighted median of a matrix of distances, every row with itself included; a pair weighs the product.

    The smallest distance at which the cumulative weight reaches half of the total, less 1e-9 of it.
    """
    flat = distance.ravel()
    if np.all(weight == weight[0]):
        half = int(np.ceil((0.5 - 1e-9) * len(flat))) - 1
        return float(np.partition(flat, half)[half])
    order = np.argsort(flat, kind="stable")
    reached = running_sum(np.multiply.outer(weight, weight).ravel()[order])
    return float(flat[order[np.searchsorted(reached, (0.5 - 1e-9) * reached[-1], side="left")]])
