"""Which cell of a grid, or which bin, a score is in: the rules of `Grid.assign` and `Edges.index` as expressions."""

from __future__ import annotations

import narwhals as nw
import numpy as np

from believable.binning import LOGIT_REACH, Edges, Grid
from believable.engines.expressions import either, exactly, flag, number, sigmoid

Stage = dict[str, nw.Expr]


def stages(place: str, p: nw.Expr, sort: Grid | Edges) -> list[Stage]:
    """Columns to add one stage after the other; the last is `place`, a whole number of type float64.

    On uniform grids and bins it is what `Grid.assign` and `Edges.index` say, to the last bit. On a logit-spaced grid
    the engine's own log and exp are used: a score within a few roundings of an edge may fall into the cell beside.
    Stages, because an expression that is used twice is worked out twice by some engines.
    """
    if isinstance(sort, Edges) and sort.strategy != "uniform":
        inner = [flag(p > exactly(edge)) for edge in sort.values[1:-1]]
        return [{place: nw.sum_horizontal(*inner) if inner else p * number(0)}]
    if isinstance(sort, Edges):
        made, within = _uniform(place, p, len(sort), sort.dtype)
        return [*made, {place: either(p <= number(0), number(0), within - number(1))}]
    made, within = _uniform(place, p, sort.n_cells, sort.dtype) if sort.spacing == "uniform" else _logit(place, p, sort)
    above = either(p >= number(1), number(sort.n_cells + 1), within)
    return [*made, {place: either(p <= number(0), number(0), above)}]


def _uniform(place: str, p: nw.Expr, n: int, dtype: str) -> tuple[list[Stage], nw.Expr]:
    """m with (m-1)/n < p <= m/n: multiply, round up, then compare with the edges themselves, by division."""
    guess, each = nw.col(f"{place}_guess"), nw.col(f"{place}_each")
    above = p > _rounded(guess / each, dtype)
    below = p <= _rounded((guess - number(1)) / each, dtype)
    # A column of its own: polars divides by a constant by multiplying with its inverse, which is off in the last bit.
    made = [{f"{place}_guess": (p * number(n)).ceil(), f"{place}_each": p * number(0) + number(n)}]
    return made, guess + flag(above) - flag(below)


def _rounded(edge: nw.Expr, dtype: str) -> nw.Expr:
    """Edges are rounded to the type of the scores."""
    return edge if dtype == "float64" else edge.cast(nw.Float32).cast(nw.Float64)


def _logit(place: str, p: nw.Expr, grid: Grid) -> tuple[list[Stage], nw.Expr]:
    """The same by the logit: m with edge(m-1) < p <= edge(m)."""
    guess, n = nw.col(f"{place}_guess"), number(grid.n_cells)
    safe = nw.col(f"{place}_safe")
    rest = either(safe > number(0.5), _rest(number(1) - safe, grid.dtype), number(1) - safe)
    steps = ((safe / rest).log() / number(LOGIT_REACH) + number(1)) / number(2) * n
    upper, lower = nw.col(f"{place}_upper"), nw.col(f"{place}_lower")
    made: list[Stage] = [
        {f"{place}_safe": either((p > number(0)) & (p < number(1)), p, number(0.5))},
        {f"{place}_guess": steps.ceil()},
        {f"{place}_guess": either(guess < number(1), number(1), either(guess > n, n, guess))},
        {f"{place}_upper": _logit_at(guess, grid), f"{place}_lower": _logit_at(guess - number(1), grid)},
        {
            f"{place}_upper": _rounded(sigmoid(upper), grid.dtype),
            f"{place}_lower": _rounded(sigmoid(lower), grid.dtype),
        },
    ]
    above = (guess < n) & (p > upper)  # the outermost edges are 0 and 1
    below = (guess > number(1)) & (p <= lower)
    return made, guess + flag(above) - flag(below)


def _rest(rest: nw.Expr, dtype: str) -> nw.Expr:
    """1 - edge of the lowest edge that is rounded to the score or above it: near 1, scores are coarser than cells.

    In float64 the sigmoid rounds its 1 + exp(-z) to a multiple of eps; its cast to float32 is the coarser one there.
    """
    if dtype == "float64":
        eps = number(float(np.finfo(dtype).eps))
        return ((rest / eps).floor() + number(0.5)) * eps
    return rest + number(float(np.finfo(dtype).epsneg) / 2)


def _logit_at(k: nw.Expr, grid: Grid) -> nw.Expr:
    return number(LOGIT_REACH) * (number(2) * (k / number(grid.n_cells)) - number(1))
