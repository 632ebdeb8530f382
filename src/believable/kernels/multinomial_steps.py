"""Newton's steps for `multinomial`: from all second derivatives, or by conjugate gradients where they are too many."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from believable._types import Float64s, Floats

REDUNDANT = 1e-12  # curvature below this share of the largest is rounding: in such directions nothing is moved
DAMPING = 1e-15
MOST_PRODUCTS = 200
MOST_OWN = 1 << 22  # curvatures within classes
SLIGHT = 1e-10  # what keeps a preconditioner regular, as a share of its largest entry


class Costs(Protocol):
    """The problem, as far as steps need it."""

    @property
    def z(self) -> Floats: ...
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
    """Steps in the directions that change anything.

    Those are eigenvectors of the curvature at equal probabilities, which depends on the logits alone. Measured in them,
    that curvature is one.
    """

    def __init__(self, problem: Costs, moments: Float64s) -> None:
        even = _even_curvature(moments, problem.diagonal)
        np.einsum("ii->i", even)[:] += 2 * problem.ridge.ravel()
        self.shape = problem.ridge.shape
        self.root = np.sqrt(np.diag(even))
        self.root[self.root == 0] = 1
        values, vectors = np.linalg.eigh(even / self.root[:, None] / self.root)
        keep = values > REDUNDANT * values[-1]
        self.vectors, self.lengths = vectors[:, keep], np.sqrt(values[keep])
        self.basis = self.vectors / self.lengths / self.root[:, None]

    def within(self, change: Float64s) -> Float64s:
        """The part of a change that does anything."""
        part = self.vectors @ (self.vectors.T @ (self.root * change.ravel()))
        return np.asarray((part / self.root).reshape(self.shape))

    def newton(self, here: Float64s, place: Slopes, accuracy: float) -> Float64s:
        curvature = self.basis.T @ place.curvature @ self.basis
        np.einsum("ii->i", curvature)[:] += DAMPING
        step = self.basis @ np.linalg.solve(curvature, self.basis.T @ place.gradient.ravel())
        return np.asarray(-step.reshape(self.shape))


class Products:
    """Steps by conjugate gradients, preconditioned by the curvatures within each class.

    Where these would be too many numbers, by second moments of the logits for all classes alike.
    """

    def __init__(self, problem: Costs, moments: Float64s) -> None:
        self.problem = problem
        self.few = problem.ridge.size * problem.ridge.shape[1] <= MOST_OWN
        self.values, self.vectors = np.linalg.eigh(moments)
        self.free = not problem.ridge.any()

    def within(self, change: Float64s) -> Float64s:
        """Without ridges, the part of a change that does anything."""
        if not self.free:
            return change
        if self.problem.diagonal:
            return np.column_stack([change[:, 0], change[:, 1] - change[:, 1].mean()])
        vectors = self.vectors[:, self.values > REDUNDANT * self.values[-1]]
        return np.asarray(((change - change.mean(axis=0)) @ vectors) @ vectors.T)

    def newton(self, here: Float64s, place: Slopes, accuracy: float) -> Float64s:
        own = self._own(here)
        inverse = np.asarray(np.linalg.inv(own), np.float64)
        step, residual = np.zeros_like(here), -place.gradient
        ahead = direction = _by_class(inverse, residual)
        size = first = float(np.vdot(residual, ahead))
        for _ in range(MOST_PRODUCTS):
            bent = self.problem.curvature_times(here, direction)
            bend = float(np.vdot(direction, bent))
            if not bend > REDUNDANT * float(np.vdot(direction, _by_class(own, direction))):
                break  # a direction that changes nothing
            step += size / bend * direction
            residual = residual - size / bend * bent
            ahead = _by_class(inverse, residual)
            size, before = float(np.vdot(residual, ahead)), size
            if size <= accuracy**2 * first:
                break
            direction = ahead + size / before * direction
        return step

    def _own(self, here: Float64s) -> Float64s:
        """Curvatures within classes, made regular, or nearly these: (K, width, width) or (1, width, width)."""
        if self.few:
            own = self.problem.own_curvatures(here)
        else:
            own = (self.vectors * self.values) @ self.vectors.T[None] / len(here)
            np.einsum("kii->ki", own)[:] += 2 * np.median(self.problem.ridge)
        diagonal = np.einsum("kii->ki", own)
        diagonal += SLIGHT * diagonal.max(axis=0) + np.finfo(np.float64).tiny
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
