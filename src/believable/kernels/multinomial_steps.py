"""Newton's steps for `multinomial`: from all second derivatives, or by conjugate gradients where they are too many."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from believable._types import Float64s, Floats
from believable.kernels.multinomial_frame import Frame

REDUNDANT = 1e-12  # curvature below this share of the largest is rounding: in such directions nothing is moved
DAMPING = 1e-15
MOST_PRODUCTS = 200
MOST_OWN = 1 << 22  # curvatures within classes
SLIGHT, LEAST = 1e-13, 1e-20  # what keeps a preconditioner regular: shares of an entry, of the same of other classes
TIED = 1e-9  # a ridge in some direction below this share of the largest is none


class Costs(Protocol):
    """The problem, as far as steps need it."""

    @property
    def ridge(self) -> Float64s: ...
    @property
    def diagonal(self) -> bool: ...
    def own_curvatures(self, c: Float64s) -> Float64s: ...
    def curvature_times(self, c: Float64s, direction: Float64s) -> Float64s: ...


class Slopes(Protocol):
    """A place, as far as steps need it."""

    @property
    def gradient(self) -> Float64s: ...
    @property
    def curvature(self) -> Float64s: ...


class Directions:
    """Steps from all second derivatives, except in the directions that change nothing.

    Those are found where all classes are equally probable, which depends on the logits alone. Coefficients are scaled
    by their own curvatures, but not mixed: where a logit is masked its class has no probability, hence no curvature,
    however large the logit, and sums with other classes would drown what is left.
    """

    def __init__(self, problem: Costs, frame: Frame) -> None:
        even = _even_curvature(frame.moments, problem.diagonal)
        root = np.sqrt(np.diag(even))
        root[root == 0] = 1
        values, vectors = np.linalg.eigh(even / root[:, None] / root)
        idle = (vectors[:, values <= REDUNDANT * values[-1]] / root[:, None]).T.reshape(-1, *problem.ridge.shape)
        self.frame, self.unseen = frame, np.linalg.qr(idle.reshape(len(idle), -1).T)[0]
        self.sizes = sizes = frame.sizes_of(problem.diagonal)
        # Directions that the likelihood does not see, orthonormal in these units; those among them with a ridge.
        columns = [(frame.back(one) * sizes).ravel() for one in idle]
        idle = np.linalg.qr(np.column_stack(columns))[0]
        roots = np.sqrt(problem.ridge).ravel() / sizes.ravel()
        self.roots = roots / max(roots.max(), np.finfo(np.float64).tiny)
        _, strengths, turned = np.linalg.svd(self.roots[:, None] * idle, full_matrices=False)
        tied = strengths > TIED
        self.tied, self.idle = idle @ turned[tied].T, idle @ turned[~tied].T
        self.nothing = np.array([frame.forth(one.reshape(sizes.shape) / sizes).ravel() for one in self.idle.T]).T

    def within(self, change: Float64s) -> Float64s:
        """A change of coefficients of logits that does the same, with the least ridge cost and length."""
        scaled = (self.sizes * change).ravel()
        if self.tied.shape[1]:
            seen = self.roots[:, None] * self.tied
            scaled = scaled - self.tied @ np.linalg.lstsq(seen, self.roots * scaled, rcond=TIED)[0]
        scaled = scaled - self.idle @ (self.idle.T @ scaled)
        moved = self.frame.forth(scaled.reshape(change.shape) / self.sizes - change).ravel()
        moved = self.unseen @ (self.unseen.T @ moved)  # again: offsets of columns magnify rounding
        return np.asarray(change + self.frame.back(moved.reshape(change.shape)))

    def newton(self, here: Float64s, place: Slopes, accuracy: float) -> Float64s:
        scale = 1 / np.sqrt(np.maximum(np.diag(place.curvature), 0) + DAMPING)
        curvature = place.curvature * scale * scale[:, None]
        np.einsum("ii->i", curvature)[:] += DAMPING
        slope = scale * place.gradient.ravel()
        if self.nothing.size:
            nothing = np.linalg.qr(self.nothing / scale[:, None])[0]
            curvature += nothing @ nothing.T
            slope -= nothing @ (nothing.T @ slope)
        try:
            step = scale * np.linalg.solve(curvature, slope)
        except np.linalg.LinAlgError:  # by chance: rounding makes it singular
            step = scale * np.linalg.lstsq(curvature, slope, rcond=REDUNDANT)[0]
        return np.asarray(-step.reshape(here.shape))


class Products:
    """Steps by conjugate gradients, preconditioned by the curvatures within each class.

    Where these would be too many numbers, by second moments of the logits for all classes alike.
    """

    def __init__(self, problem: Costs, frame: Frame) -> None:
        self.problem, self.frame = problem, frame
        self.few = problem.ridge.size * problem.ridge.shape[1] <= MOST_OWN
        values, vectors = np.linalg.eigh(frame.moments)
        self.idle = vectors[:, values <= REDUNDANT * values[-1]]

    def within(self, change: Float64s) -> Float64s:
        """A change of coefficients of logits that does the same, without ridges the shortest."""
        if self.problem.ridge.any():
            return change
        if self.problem.diagonal:
            return np.column_stack([change[:, 0], change[:, 1] - change[:, 1].mean()])
        idle = np.linalg.qr((self.frame.back(self.idle.T) * self.frame.sizes).T)[0]
        change = change - change.mean(axis=0)
        moved = self.frame.forth(-(change * self.frame.sizes @ idle) @ idle.T / self.frame.sizes)
        moved = (moved @ self.idle) @ self.idle.T  # again: offsets of columns magnify rounding
        return np.asarray(change + self.frame.back(moved))

    def newton(self, here: Float64s, place: Slopes, accuracy: float) -> Float64s:
        own = self._own(here)
        roots = np.sqrt(np.einsum("kii->ki", own))
        inverse = np.linalg.inv(own / roots[:, :, None] / roots[:, None]) / roots[:, :, None] / roots[:, None]
        step, residual = np.zeros_like(here), -self._seen(place.gradient)
        ahead = direction = self._seen(_by_class(inverse, residual))
        size = first = float(np.vdot(residual, ahead))
        for _ in range(MOST_PRODUCTS):
            bent = self._seen(self.problem.curvature_times(here, direction))
            bend = float(np.vdot(direction, bent))
            if not bend > REDUNDANT * float(np.vdot(direction, _by_class(own, direction))):
                if direction is ahead:
                    break  # a direction that changes nothing
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
        """Without ridges, the part in directions that change anything."""
        if self.problem.diagonal or self.problem.ridge.any() or not self.idle.size:
            return c
        return np.asarray(c - (c @ self.idle) @ self.idle.T)

    def _own(self, here: Float64s) -> Float64s:
        """Curvatures within classes, made regular, or nearly these: (K, width, width) or (1, width, width)."""
        if self.few:
            own = self.problem.own_curvatures(here)
        else:
            own = self.frame.moments[None] / len(here)
            own = own + self.frame.bends(np.median(self.problem.ridge, axis=0)[None])
        diagonal = np.einsum("kii->ki", own)
        diagonal += SLIGHT * diagonal + LEAST * diagonal.max(axis=0) + np.finfo(np.float64).tiny
        return np.asarray(own)


def _by_class(matrices: Floats, c: Float64s) -> Float64s:
    """The matrix of each class times its coefficients."""
    return np.asarray((matrices @ c[..., None])[..., 0])


def _even_curvature(moments: Float64s, diagonal: bool) -> Float64s:
    """Second derivatives of the likelihood where all classes are equally probable."""
    n_classes = len(moments) - 1
    apart = np.eye(n_classes) / n_classes - 1 / n_classes**2
    if not diagonal:
        return np.asarray(np.kron(apart, moments), np.float64)
    own, means = moments[:-1, :-1], np.broadcast_to(moments[:-1, -1:], apart.shape)
    seen = np.stack([np.stack([own, means], -1), np.stack([means.T, np.ones_like(apart)], -1)], -2)
    return np.asarray((apart[:, :, None, None] * seen).transpose(0, 2, 1, 3).reshape(2 * n_classes, 2 * n_classes))
