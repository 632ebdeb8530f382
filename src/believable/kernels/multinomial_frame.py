"""Coordinates for `multinomial` in which logits are of order one.

Columns are centred and scaled, u = (z - centre) / scale, and coefficients are those of u. That changes no cost, but
large offsets of columns no longer hide what the logits say. Centre and scale are mean and standard deviation of the
logits that are not far out: a masked logit of -1e9 would hide the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._types import Float64s, Floats
from believable.kernels.reference import row_blocks

FARTHEST = 1e100  # logits beyond count as this: their squares must be numbers
FAR = 1e3  # times the spread of the middle of a column, or nats if that is more: beyond is far out
SOME = 2000  # rows that tell where the middle of a column is
CONSTANT = 1e-13  # a spread of less, relative to the centre, is rounding


class Frame(NamedTuple):
    """A change of coordinates of K logits, and of coefficients (K, K + 1) or (K, 2) with it.

    Attributes
    ----------
    centre, scale, seen : ndarray of shape (K,)
        u = (z - centre) * seen. `seen` is 1 / scale; a column that is constant is not seen, and its scale is 1.
    bound : ndarray of shape (2, K, 1)
        What u lies between unless it is far out.
    widest : ndarray of shape (K + 1,)
        The largest |u| that is not far out, and 1.
    moments : ndarray of shape (K + 1, K + 1)
        Weighted means of products of (u, 1), where what is far out counts as its bound.
    """

    centre: Float64s
    scale: Float64s
    seen: Float64s
    bound: Float64s
    widest: Float64s
    moments: Float64s

    @property
    def sizes(self) -> Float64s:
        """Root mean squares of (z, 1)."""
        return np.append(np.hypot(self.centre, self.scale), 1)

    def sizes_of(self, diagonal: bool) -> Float64s:
        """Root mean squares of what every coefficient is multiplied by, (K, 2) or (K, K + 1)."""
        if diagonal:
            return np.column_stack([self.sizes[:-1], np.ones(len(self.scale))])
        return np.tile(self.sizes, (len(self.scale), 1))

    def forth(self, change: Float64s) -> Float64s:
        """A change of coefficients of z as one of coefficients of u."""
        w, b = change[:, :-1], change[:, -1:]
        if w.shape[1] == 1:
            return np.hstack([w * self.scale[:, None], b + w * self.centre[:, None]])
        return np.hstack([w * self.scale, b + (w @ self.centre)[:, None]])

    def back(self, change: Float64s) -> Float64s:
        """A change of coefficients of u as one of coefficients of z."""
        if change.shape[1] == 2:
            w = change[:, :1] / self.scale[:, None]
            return np.hstack([w, change[:, 1:] - w * self.centre[:, None]])
        w = change[:, :-1] / self.scale
        return np.hstack([w, change[:, -1:] - (w @ self.centre)[:, None]])

    def slopes(self, gradient: Float64s) -> Float64s:
        """A gradient with respect to coefficients of z as one with respect to those of u."""
        w, b = gradient[:, :-1], gradient[:, -1:]
        if w.shape[1] == 1:
            return np.hstack([(w - b * self.centre[:, None]) / self.scale[:, None], b])
        return np.hstack([(w - b * self.centre) / self.scale, b])

    def bends(self, ridge: Float64s) -> Float64s:
        """Second derivatives of sum ridge * (coefficients of z)^2 within rows, of shape (rows, width, width)."""
        ratio = -self.centre / self.scale
        diagonal = ridge.shape[1] == 2
        tilt = np.column_stack([ratio, np.ones_like(ratio)]) if diagonal else np.append(ratio, 1)[None]
        scale = self.scale[:, None] if diagonal else self.scale
        result = 2 * ridge[:, -1, None, None] * (tilt[:, :, None] * tilt[:, None, :])
        np.einsum("kii->ki", result)[:, :-1] += 2 * ridge[:, :-1] / scale**2
        return np.asarray(result)


def frame_of(z: Floats, weights: Float64s | None) -> Frame:
    """The frame of logits (n, K), for weights that sum to one."""
    n, n_classes = z.shape
    middle, spread = _middle(z, weights)
    bound = np.append(FAR * np.maximum(spread, 1) / spread, 1)[:, None]
    total, widest = np.zeros((n_classes + 1,) * 2), np.zeros(n_classes)
    for rows in row_blocks(n, n_classes):
        v = np.ones((n_classes + 1, len(z[rows])))
        v[:-1] = z[rows].T
        np.clip(v, -FARTHEST, FARTHEST, out=v)
        v[:-1] -= middle[:, None]
        v[:-1] /= spread[:, None]
        np.clip(v, -bound, bound, out=v)
        total += (v / n if weights is None else v * weights[rows]) @ v.T
        np.maximum(widest, np.abs(v[:-1]).max(axis=1), out=widest)
    mean = total[-1, :-1]
    covariance = total[:-1, :-1] - mean[:, None] * mean
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0))
    centre, seen = middle + spread * mean, spread * deviation > CONSTANT * np.abs(middle + spread * mean)
    deviation[~seen] = 1
    scale = np.where(seen, spread * deviation, 1.0)
    inverse = np.where(seen, 1 / scale, 0)
    moments = np.zeros_like(total)
    moments[:-1, :-1] = covariance / deviation / deviation[:, None] * (seen & seen[:, None])
    moments[-1, -1] = 1
    ends = np.stack([-1, 1])[:, None] * bound[:-1, 0] * spread
    widest = (widest * spread + np.abs(middle - centre)) * inverse
    bounds = ((middle - centre + ends) * inverse)[..., None]
    return Frame(centre, scale, inverse, bounds, np.append(widest, 1), moments)


def _middle(z: Floats, weights: Float64s | None) -> tuple[Float64s, Float64s]:
    """The middle of each column and its width, which is positive, from some of the rows.

    That is the median and the range between quartiles. Where the latter is many nats wide, part of the logits may be
    masked: then it is the narrowest quarter of the logits. Where it is one number, it is a wider range.
    """
    used = np.arange(len(z)) if weights is None else np.flatnonzero(weights)
    some = np.clip(z[used[:: max(1, len(used) // SOME)]].astype(np.float64), -FARTHEST, FARTHEST)
    marks = np.quantile(some, np.linspace(0, 1, 21), axis=0)
    middle, spread = marks[10], marks[15] - marks[5]
    quarters, columns = marks[5:] - marks[:-5], np.arange(len(middle))
    quarters[quarters <= CONSTANT * np.abs(marks[5:])] = np.inf
    first = quarters.argmin(axis=0)
    narrow = quarters[first, columns]
    masked = (spread > FAR * np.maximum(narrow, 1)) & (narrow < np.inf)
    middle = np.where(masked, (marks[first, columns] + marks[first + 5, columns]) / 2, middle)
    spread = np.where(masked, narrow, spread)
    for width in (marks[19] - marks[1], marks[20] - marks[0], np.maximum(np.abs(middle), 1)):
        spread = np.where(spread > CONSTANT * np.abs(middle), spread, width)
    return middle, spread
