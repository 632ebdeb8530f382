"""Expressions with the same meaning on every engine: constants, logarithms, and the cell or bin of a score."""

from __future__ import annotations

import narwhals as nw
import numpy as np

from believable.binning import LOGIT_REACH, Edges, Grid


def number(value: float) -> nw.Expr:
    """Return a 64-bit constant: without a type, some engines would make it a decimal, others an integer."""
    return nw.lit(float(value), dtype=nw.Float64)


def exactly(value: float) -> nw.Expr:
    """Return an exact constant: an integer divided by powers of two.

    An engine that writes constants as text may read 17 digits back as a decimal, and round it to a neighbouring number.
    """
    above, below = float(value).as_integer_ratio()
    made = nw.lit(above, dtype=nw.Int64).cast(nw.Float64)
    while below > 1:
        step = min(below, 1 << 52)
        made = made / number(step)
        below //= step
    return made


def flag(condition: nw.Expr) -> nw.Expr:
    """Return 1 where the condition holds, else 0."""
    return either(condition, number(1), number(0))


def either(condition: nw.Expr, this: nw.Expr, that: nw.Expr) -> nw.Expr:
    """Return one expression where the condition holds, else the other; some engines evaluate both."""
    return nw.when(condition).then(this).otherwise(that)


def sigmoid(z: nw.Expr) -> nw.Expr:
    """Return 1 / (1 + exp(-z)) without overflow, computed in the order of `kernels.sigmoid`."""
    small = (number(0) - z.abs()).exp()
    return either(z >= number(0), number(1), small) / (number(1) + small)


def minus_log(p: nw.Expr) -> nw.Expr:
    """Return -log p, and 0 where p is 0, because log 0 is an error on some engines and null on others."""
    return number(0) - either(p > number(0), p, number(1)).log()


def minus_log_of_rest(p: nw.Expr) -> nw.Expr:
    """Return -log(1 - p), and 0 where p is 1, as precise for small p as log1p, which not every engine has.

    With u = 1 - p rounded, log(1 - p) = log(u) (-p) / (u - 1): the rounding of u cancels.
    """
    rest = number(1) - p
    inside = (rest > number(0)) & (rest < number(1))
    safe = either(inside, rest, number(0.5))
    precise = safe.log() * p / (safe - number(1))
    return either(inside, precise, either(p < number(1), p, number(0)))


# ----------------------------------------------------------------------------------------------------------------------
# the cell of a grid, or the bin, of a score: the rules of `Grid.assign` and `Edges.index` as expressions


Stage = dict[str, nw.Expr]


def stages(place: str, p: nw.Expr, sort: Grid | Edges) -> list[Stage]:
    """Return columns to add in stages; the last is `place`, an integer of type float64.

    On uniform grids and bins it equals `Grid.assign` and `Edges.index` exactly. A logit-spaced grid uses the engine's
    own log and exp, so a score within rounding of an edge may fall into the neighbouring cell. There are stages because
    some engines evaluate an expression that is used twice two times.
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
    """Return m with (m-1)/n < p <= m/n: multiply, round up, then compare with the edges, computed by division."""
    guess, each = nw.col(f"{place}_guess"), nw.col(f"{place}_each")
    above = p > _rounded(guess / each, dtype)
    below = p <= _rounded((guess - number(1)) / each, dtype)
    # A separate column, because polars divides by a constant by multiplying with its inverse, which rounds differently.
    made = [{f"{place}_guess": (p * number(n)).ceil(), f"{place}_each": p * number(0) + number(n)}]
    return made, guess + flag(above) - flag(below)


def _rounded(edge: nw.Expr, dtype: str) -> nw.Expr:
    """Round edges to the type of the scores."""
    return edge if dtype == "float64" else edge.cast(nw.Float32).cast(nw.Float64)


def _logit(place: str, p: nw.Expr, grid: Grid) -> tuple[list[Stage], nw.Expr]:
    """Return m with edge(m-1) < p <= edge(m) on a logit-spaced grid."""
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
    """Return 1 - edge for the lowest edge that rounds to the score or above: near 1, scores are coarser than cells.

    In float64 the sigmoid rounds its 1 + exp(-z) to a multiple of eps; its cast to float32 is the coarser one there.
    """
    if dtype == "float64":
        eps = number(float(np.finfo(dtype).eps))
        return ((rest / eps).floor() + number(0.5)) * eps
    return rest + number(float(np.finfo(dtype).epsneg) / 2)


def _logit_at(k: nw.Expr, grid: Grid) -> nw.Expr:
    return number(LOGIT_REACH) * (number(2) * (k / number(grid.n_cells)) - number(1))
