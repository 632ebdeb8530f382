"""The few expressions that all others are made of, written so that every engine means the same by them."""

from __future__ import annotations

import narwhals as nw


def number(value: float) -> nw.Expr:
    """A constant of 64 bits: without a type, some engines would make it a decimal, others an integer."""
    return nw.lit(float(value), dtype=nw.Float64)


def exactly(value: float) -> nw.Expr:
    """A constant to its last bit: a whole number divided by powers of two.

    An engine that writes constants as text may read 17 digits back as a decimal, and that as a neighbouring number.
    """
    above, below = float(value).as_integer_ratio()
    made = nw.lit(above, dtype=nw.Int64).cast(nw.Float64)
    while below > 1:
        step = min(below, 1 << 52)
        made = made / number(step)
        below //= step
    return made


def flag(condition: nw.Expr) -> nw.Expr:
    """1 where the condition holds, else 0."""
    return either(condition, number(1), number(0))


def either(condition: nw.Expr, this: nw.Expr, that: nw.Expr) -> nw.Expr:
    """One expression where the condition holds, else the other. Both are evaluated by some engines."""
    return nw.when(condition).then(this).otherwise(that)


def sigmoid(z: nw.Expr) -> nw.Expr:
    """1 / (1 + exp(-z)), without overflow, in the order of `kernels.sigmoid`."""
    small = (number(0) - z.abs()).exp()
    return either(z >= number(0), number(1), small) / (number(1) + small)


def minus_log(p: nw.Expr) -> nw.Expr:
    """-log p, and 0 where p is 0: engines differ on log 0, from an error to a null, so it is not asked for."""
    return number(0) - either(p > number(0), p, number(1)).log()


def minus_log_of_rest(p: nw.Expr) -> nw.Expr:
    """-log(1 - p), and 0 where p is 1, as precise for small p as log1p, which not every engine has.

    With u = 1 - p rounded, log(1 - p) = log(u) (-p) / (u - 1): the rounding of u cancels.
    """
    rest = number(1) - p
    inside = (rest > number(0)) & (rest < number(1))
    safe = either(inside, rest, number(0.5))
    precise = safe.log() * p / (safe - number(1))
    return either(inside, precise, either(p < number(1), p, number(0)))
