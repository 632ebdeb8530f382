"""The search of `multinomial`: coordinates in which logits are of order one, and Newton's steps in them.

Columns are centred and scaled, u = (z - centre) / scale, and coefficients are those of u. This leaves the cost
unchanged, but large offsets of columns no longer dominate. Centre and scale are the mean and standard deviation of the
logits that are not outliers: a masked logit of -1e9 would dominate the others.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from believable._kernels.rows import row_blocks
from believable._kernels.solve import Iterate
from believable._types import Float64s, Floats

FARTHEST_LOGIT = 1e100  # larger logits are clipped to this, so that their squares do not overflow
FAR_OUT = 1e3  # logits further out than this many spreads of the middle (at least this many nats) are outliers
MIDDLE_ROWS = 2000  # rows that determine the middle of a column
CONSTANT_SPREAD = 1e-13  # a smaller spread, relative to the centre, is rounding
TINIEST_SPREAD = 1e-100  # a smaller spread counts as none: squares would underflow, and coefficients are limited too


class Coordinates(NamedTuple):
    """A change of coordinates of K logits, and of coefficients (K, K + 1) or (K, 2) with it.

    Attributes
    ----------
    centre, scale, seen : ndarray of shape (K,)
        u = (z - centre) * seen. `seen` is 1 / scale; it is 0 for a constant column, whose scale is 1.
    bound : ndarray of shape (2, K, 1)
        Bounds of u, except for outliers.
    widest : ndarray of shape (K + 1,)
        The largest |u| without outliers, and 1.
    moments : ndarray of shape (K + 1, K + 1)
        Weighted means of products of (u, 1), with outliers clipped to their bound.
    """

    centre: Float64s
    scale: Float64s
    seen: Float64s
    bound: Float64s
    widest: Float64s
    moments: Float64s

    @property
    def sizes(self) -> Float64s:
        """Return the root mean squares of (z, 1)."""
        return np.append(np.hypot(self.centre, self.scale), 1)

    def sizes_of(self, diagonal: bool) -> Float64s:
        """Return the root mean square of the input of every coefficient, (K, 2) or (K, K + 1)."""
        if diagonal:
            return np.column_stack([self.sizes[:-1], np.ones(len(self.scale))])
        return np.tile(self.sizes, (len(self.scale), 1))

    def forth(self, change: Float64s) -> Float64s:
        """Convert a change of coefficients of z to one of coefficients of u."""
        w, b = change[:, :-1], change[:, -1:]
        if w.shape[1] == 1:
            return np.hstack([w * self.scale[:, None], b + w * self.centre[:, None]])
        return np.hstack([w * self.scale, b + (w @ self.centre)[:, None]])

    def back(self, change: Float64s) -> Float64s:
        """Convert a change of coefficients of u to one of coefficients of z."""
        if change.shape[1] == 2:
            w = change[:, :1] / self.scale[:, None]
            return np.hstack([w, change[:, 1:] - w * self.centre[:, None]])
        w = change[:, :-1] / self.scale
        return np.hstack([w, change[:, -1:] - (w @ self.centre)[:, None]])

    def slopes(self, gradient: Float64s) -> Float64s:
        """Convert a gradient with respect to coefficients of z to one with respect to those of u."""
        w, b = gradient[:, :-1], gradient[:, -1:]
        if w.shape[1] == 1:
            return np.hstack([(w - b * self.centre[:, None]) / self.scale[:, None], b])
        return np.hstack([(w - b * self.centre) / self.scale, b])

    def bends(self, ridge: Float64s) -> Float64s:
        """Return second derivatives of sum ridge * (coefficients of z)^2 within rows, (rows, width, width)."""
        ratio = -self.centre / self.scale
        diagonal = ridge.shape[1] == 2
        tilt = np.column_stack([ratio, np.ones_like(ratio)]) if diagonal else np.append(ratio, 1)[None]
        scale = self.scale[:, None] if diagonal else self.scale
        result = 2 * ridge[:, -1, None, None] * (tilt[:, :, None] * tilt[:, None, :])
        np.einsum("kii->ki", result)[:, :-1] += 2 * ridge[:, :-1] / scale**2
        return np.asarray(result)


def frame_of(z: Floats, weights: Float64s | None) -> Coordinates:
    """Return the coordinates for logits (n, K), with weights that sum to one."""
    n, n_classes = z.shape
    middle, spread = _middle(z, weights)
    bound = np.append(FAR_OUT * np.maximum(spread, 1) / spread, 1)[:, None]
    total, widest = np.zeros((n_classes + 1,) * 2), np.zeros(n_classes)
    for rows in row_blocks(n, n_classes):
        v = np.ones((n_classes + 1, len(z[rows])))
        v[:-1] = z[rows].T
        np.clip(v, -FARTHEST_LOGIT, FARTHEST_LOGIT, out=v)
        v[:-1] -= middle[:, None]
        v[:-1] /= spread[:, None]
        np.clip(v, -bound, bound, out=v)
        total += (v / n if weights is None else v * weights[rows]) @ v.T
        np.maximum(widest, np.abs(v[:-1]).max(axis=1), out=widest)
    mean = total[-1, :-1]
    covariance = total[:-1, :-1] - mean[:, None] * mean
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0))
    centre = middle + spread * mean
    seen = spread * deviation > np.maximum(CONSTANT_SPREAD * np.abs(centre), TINIEST_SPREAD)
    deviation[~seen] = 1
    scale = np.where(seen, spread * deviation, 1.0)
    inverse = np.where(seen, 1 / scale, 0)
    moments = np.zeros_like(total)
    moments[:-1, :-1] = covariance / deviation / deviation[:, None] * (seen & seen[:, None])
    moments[-1, -1] = 1
    ends = np.stack([-1, 1])[:, None] * bound[:-1, 0] * spread
    widest = (widest * spread + np.abs(middle - centre)) * inverse
    bounds = ((middle - centre + ends) * inverse)[..., None]
    return Coordinates(centre, scale, inverse, bounds, np.append(widest, 1), moments)


def _middle(z: Floats, weights: Float64s | None) -> tuple[Float64s, Float64s]:
    """Return the middle of each column and its positive width, from some of the rows.

    They are the median and the interquartile range. If the latter is many nats wide, part of the logits may be masked,
    and the narrowest quarter of the logits is used instead. If it is 0, a wider range is used.
    """
    used = np.arange(len(z)) if weights is None else np.flatnonzero(weights)
    some = np.clip(z[used[:: max(1, len(used) // MIDDLE_ROWS)]].astype(np.float64), -FARTHEST_LOGIT, FARTHEST_LOGIT)
    marks = np.quantile(some, np.linspace(0, 1, 21), axis=0)
    middle, spread = marks[10], marks[15] - marks[5]
    quarters, columns = marks[5:] - marks[:-5], np.arange(len(middle))
    quarters[quarters <= CONSTANT_SPREAD * np.abs(marks[5:])] = np.inf
    first = quarters.argmin(axis=0)
    narrow = quarters[first, columns]
    masked = (spread > FAR_OUT * np.maximum(narrow, 1)) & (narrow < np.inf)
    middle = np.where(masked, (marks[first, columns] + marks[first + 5, columns]) / 2, middle)
    spread = np.where(masked, narrow, spread)
    for width in (marks[19] - marks[1], marks[20] - marks[0], np.maximum(np.abs(middle), 1)):
        spread = np.where(spread > CONSTANT_SPREAD * np.abs(middle), spread, width)
    return middle, spread


# --- Newton's steps ---------------------------------------------------------------------------------------------------
# They come from all second derivatives, or from conjugate gradients if those are too many.


REDUNDANT_CURVATURE = 1e-12  # a smaller share of the largest curvature is rounding: no step is taken in such directions
CURVATURE_DAMPING = 1e-15
MOST_PRODUCTS = 200
MOST_CLASS_CURVATURES = 1 << 22  # with more curvatures within classes, all classes share one preconditioner
# These keep a preconditioner regular: a share of the entry, and of the same entry of other classes.
PRECONDITIONER_SHARE, PRECONDITIONER_FLOOR = 1e-13, 1e-20
TIED_RIDGE = 1e-9  # in a direction, a ridge below this share of the largest counts as 0


class Costs(Protocol):
    """The part of the problem that steps need."""

    @property
    def ridge(self) -> Float64s: ...
    @property
    def diagonal(self) -> bool: ...
    def own_curvatures(self, c: Float64s) -> Float64s: ...
    def curvature_times(self, c: Float64s, direction: Float64s) -> Float64s: ...


class Directions:
    """Steps from all second derivatives, except in directions that do not change the likelihood.

    Those directions are found where all classes are equally probable, so they depend only on the logits. Coefficients
    are scaled by their own curvatures, but not mixed: if a logit is masked, its class has no probability and hence no
    curvature, however large the logit, and sums with other classes would swamp the rest.
    """

    def __init__(self, problem: Costs, frame: Coordinates) -> None:
        even = _even_curvature(frame.moments, problem.diagonal)
        root = np.sqrt(np.diag(even))
        root[root == 0] = 1
        values, vectors = np.linalg.eigh(even / root[:, None] / root)
        here = values > REDUNDANT_CURVATURE * values[-1]
        self.even = vectors[:, here] / np.sqrt(values[here]) / root[:, None]
        idle = (vectors[:, ~here] / root[:, None]).T.reshape(-1, *problem.ridge.shape)
        self.frame, self.unseen = frame, np.linalg.qr(idle.reshape(len(idle), -1).T)[0]
        self.sizes = sizes = frame.sizes_of(problem.diagonal)
        # Directions that do not change the likelihood, orthonormal in these units; and those among them with a ridge.
        columns = [(frame.back(one) * sizes).ravel() for one in idle]
        idle = np.linalg.qr(np.column_stack(columns))[0]
        roots = np.sqrt(problem.ridge).ravel() / sizes.ravel()
        self.roots = roots / max(roots.max(), np.finfo(np.float64).tiny)
        _, strengths, turned = np.linalg.svd(self.roots[:, None] * idle, full_matrices=False)
        tied = strengths > TIED_RIDGE
        self.tied, self.idle = idle @ turned[tied].T, idle @ turned[~tied].T
        self.nothing = np.array([frame.forth(one.reshape(sizes.shape) / sizes).ravel() for one in self.idle.T]).T

    def within(self, change: Float64s) -> Float64s:
        """Return the equivalent change of coefficients of logits with the least ridge cost and length."""
        scaled = (self.sizes * change).ravel()
        if self.tied.shape[1]:
            seen = self.roots[:, None] * self.tied
            scaled = scaled - self.tied @ np.linalg.lstsq(seen, self.roots * scaled, rcond=TIED_RIDGE)[0]
        scaled = scaled - self.idle @ (self.idle.T @ scaled)
        moved = self.frame.forth(scaled.reshape(change.shape) / self.sizes - change).ravel()
        moved = self.unseen @ (self.unseen.T @ moved)  # a second time, because offsets of columns magnify rounding
        return np.asarray(change + self.frame.back(moved.reshape(change.shape)))

    def least_curvature(self, curvature: Float64s) -> float:
        """Return the least share of its curvature at equal probabilities that a direction still has."""
        return float(np.linalg.eigvalsh(self.even.T @ curvature @ self.even)[0])

    def newton(self, here: Float64s, place: Iterate, accuracy: float) -> Float64s:
        scale = 1 / np.sqrt(np.maximum(np.diag(place.model), 0) + CURVATURE_DAMPING)
        curvature = place.model * scale * scale[:, None]
        np.einsum("ii->i", curvature)[:] += CURVATURE_DAMPING
        slope = scale * place.gradient.ravel()
        if self.nothing.size:
            nothing = np.linalg.qr(self.nothing / scale[:, None])[0]
            curvature += nothing @ nothing.T
            slope -= nothing @ (nothing.T @ slope)
        try:
            step = scale * np.linalg.solve(curvature, slope)
        except np.linalg.LinAlgError:  # rounding can make the matrix singular
            step = scale * np.linalg.lstsq(curvature, slope, rcond=REDUNDANT_CURVATURE)[0]
        return np.asarray(-step.reshape(here.shape))


class Products:
    """Steps from conjugate gradients, preconditioned by the curvatures within each class.

    If these would be too many numbers, second moments of the logits are used for all classes alike.
    """

    def __init__(self, problem: Costs, frame: Coordinates) -> None:
        self.problem, self.frame = problem, frame
        self.few = problem.ridge.size * problem.ridge.shape[1] <= MOST_CLASS_CURVATURES
        values, vectors = np.linalg.eigh(frame.moments)
        self.idle = vectors[:, values <= REDUNDANT_CURVATURE * values[-1]]

    def within(self, change: Float64s) -> Float64s:
        """Return an equivalent change of coefficients of logits; without ridges, the shortest one."""
        if self.problem.ridge.any():
            return change
        if self.problem.diagonal:
            return np.column_stack([change[:, 0], change[:, 1] - change[:, 1].mean()])
        idle = np.linalg.qr((self.frame.back(self.idle.T) * self.frame.sizes).T)[0]
        change = change - change.mean(axis=0)
        moved = self.frame.forth(-(change * self.frame.sizes @ idle) @ idle.T / self.frame.sizes)
        moved = (moved @ self.idle) @ self.idle.T  # a second time, because offsets of columns magnify rounding
        return np.asarray(change + self.frame.back(moved))

    def newton(self, here: Float64s, place: Iterate, accuracy: float) -> Float64s:
        own = self._own(here)
        roots = np.sqrt(np.einsum("kii->ki", own))
        inverse = np.linalg.inv(own / roots[:, :, None] / roots[:, None]) / roots[:, :, None] / roots[:, None]
        step, residual = np.zeros_like(here), -self._seen(place.gradient)
        ahead = direction = self._seen(_by_class(inverse, residual))
        size = first = float(np.vdot(residual, ahead))
        for _ in range(MOST_PRODUCTS):
            bent = self._seen(self.problem.curvature_times(here, direction))
            bend = float(np.vdot(direction, bent))
            if not bend > REDUNDANT_CURVATURE * float(np.vdot(direction, _by_class(own, direction))):
                if direction is ahead:
                    break  # the direction does not change the cost
                direction = ahead
                continue
            step += size / bend * direction
            residual = residual - size / bend * bent
            ahead = self._seen(_by_class(inverse, residual))
            size, before = float(np.vdot(residual, ahead)), size
            if size <= accuracy**2 * first:
                break
            direction = ahead + size / before * direction
        return step

    def _seen(self, c: Float64s) -> Float64s:
        """Return, without ridges, the part in directions that change the likelihood."""
        if self.problem.diagonal or self.problem.ridge.any() or not self.idle.size:
            return c
        return np.asarray(c - (c @ self.idle) @ self.idle.T)

    def _own(self, here: Float64s) -> Float64s:
        """Return regularised curvatures within classes, or an approximation: (K or 1, width, width)."""
        if self.few:
            own = self.problem.own_curvatures(here)
        else:
            own = self.frame.moments[None] / len(here)
            own = own + self.frame.bends(np.median(self.problem.ridge, axis=0)[None])
        diagonal = np.einsum("kii->ki", own)
        diagonal += (
            PRECONDITIONER_SHARE * diagonal + PRECONDITIONER_FLOOR * diagonal.max(axis=0) + np.finfo(np.float64).tiny
        )
        return np.asarray(own)


def _by_class(matrices: Floats, c: Float64s) -> Float64s:
    """Return the matrix of each class times its coefficients."""
    return np.asarray((matrices @ c[..., None])[..., 0])


def _even_curvature(moments: Float64s, diagonal: bool) -> Float64s:
    """Return the second derivatives of the likelihood where all classes are equally probable."""
    n_classes = len(moments) - 1
    apart = np.eye(n_classes) / n_classes - 1 / n_classes**2
    if not diagonal:
        return np.asarray(np.kron(apart, moments), np.float64)
    own, means = moments[:-1, :-1], np.broadcast_to(moments[:-1, -1:], apart.shape)
    seen = np.stack([np.stack([own, means], -1), np.stack([means.T, np.ones_like(apart)], -1)], -2)
    return np.asarray((apart[:, :, None, None] * seen).transpose(0, 2, 1, 3).reshape(2 * n_classes, 2 * n_classes))
