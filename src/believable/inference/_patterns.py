"""Shapes that the true gaps may have, given the observed ones.

How much noise adds to an error depends on how the true gaps are shaped: many small ones hide in it, one large one does
not. Each shape is a draw from the posterior under a mixture of priors: smooth along the scores, smooth with rough
edges, and sparse (most gaps zero, a few of any size). Some shrink towards scores of 0 and 1 and some do not, and
amplitudes are mixed too, so nothing has to be chosen; what does not fit the observed gaps has no weight.
"""

from __future__ import annotations

import numpy as np

from believable._types import Float64s, Int64s

REACH = 0.3  # how far along the scores smooth gaps resemble each other
# The share of a prior's variance that is smooth, and how gaps shrink towards 0 and 1: as a power of p (1 - p), which is
# 1 for a shift of the logits.
SMOOTH = ((0.5, 0.5), (0.95, 0.5), (1.0, 0.5), (0.95, 1.0), (1.0, 1.0), (0.5, 0.0), (0.95, 0.0), (1.0, 0.0))
SMOOTHEST = 0.9
WIDE, OUTLYING = 0.3, 0.05  # how large outlying gaps are, and their share of those that are not zero
NONZERO = (0.3, 0.7, 1.0)  # the share of gaps that are not zero, where shapes are sparse
AMPLITUDES = np.array([0.25, 0.5, 1, 2, 4, 8])  # in units of the noise
DENSE_WEIGHT = 50.0  # how much more likely a smooth shape is than a sparse one, before looking
MOST_DENSE = 300  # above so many cells only the sparse priors, which treat cells one by one


def draw_patterns(
    gap: Float64s,
    variance: Float64s,
    score: Float64s,
    group: Int64s,
    n_draws: int,
    rng: np.random.Generator,
    *,
    rough: bool,
) -> Float64s:
    """Draws of the true gaps, of shape (n_draws, cells); only smooth shapes unless `rough`."""
    variance = np.maximum(variance, 1e-12)
    components: list[_Dense | _Sparse] = []
    if len(gap) <= MOST_DENSE:
        alike = np.exp(-((score[:, None] - score) ** 2) / (2 * REACH**2)) * (group[:, None] == group)
        for share, power in SMOOTH:
            if share < SMOOTHEST and not rough:
                continue
            scale, amplitudes = _scale(score, variance, power)
            shape = (share * alike + (1 - share + 1e-9) * np.eye(len(gap))) * np.outer(scale, scale)
            components += [_Dense(gap, variance, a**2 * shape) for a in amplitudes]
    if rough or not components:
        for power in (0.5, 0.0):
            scale, amplitudes = _scale(score, variance, power)
            components += [_Sparse(gap, variance, (a * scale) ** 2, share) for share in NONZERO for a in amplitudes]
    fit = np.array([part.log_fit for part in components])
    chance = np.exp(fit - fit.max())
    chance /= chance.sum()
    counts = rng.multinomial(n_draws, chance)
    return np.concatenate([part.draw(k, rng) for part, k in zip(components, counts, strict=True) if k])


def _scale(score: Float64s, variance: Float64s, power: float) -> tuple[Float64s, Float64s]:
    """How large gaps are at each score beside each other, and the amplitudes to try."""
    scale = np.maximum(score * (1 - score), 1e-6) ** power
    return scale, np.asarray(AMPLITUDES * np.sqrt(np.mean(variance) / np.mean(scale**2)))


class _Dense:
    """Gaps jointly normal with a given covariance."""

    def __init__(self, gap: Float64s, variance: Float64s, prior: Float64s) -> None:
        root = np.linalg.cholesky(prior + np.diag(variance))
        half = np.linalg.solve(root, gap)
        self.log_fit = float(np.log(DENSE_WEIGHT) - half @ half / 2 - np.log(np.diag(root)).sum())
        self.prior, self.root, self.half = prior, root, half

    def draw(self, n: int, rng: np.random.Generator) -> Float64s:
        pulled = np.linalg.solve(self.root, self.prior)
        mean, covariance = pulled.T @ self.half, self.prior - pulled.T @ pulled
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        noise = rng.standard_normal((n, len(mean))) * np.sqrt(np.maximum(values, 0))
        return np.asarray(mean + noise @ vectors.T)


class _Sparse:
    """Gaps independent of each other, each zero, normal, or now and then of any size."""

    def __init__(self, gap: Float64s, variance: Float64s, prior: Float64s, share: float) -> None:
        wide = np.full(len(gap), WIDE**2)
        self.kept, fit = [], []
        for weight, slab in (
            (1 - share, np.zeros(len(gap))),
            (share * (1 - OUTLYING), prior),
            (share * OUTLYING, wide),
        ):
            total = variance + slab
            with np.errstate(divide="ignore"):
                fit.append(np.log(weight) - (gap**2 / total + np.log(total)) / 2)
            kept = slab / total
            self.kept.append((kept * gap, np.sqrt(kept * variance)))
        either = np.logaddexp.reduce(fit)
        self.log_fit = float(either.sum())
        self.chance = np.exp(np.array(fit) - either)

    def draw(self, n: int, rng: np.random.Generator) -> Float64s:
        nothing, normal, _ = self.chance
        which = rng.random((n, len(nothing)))
        zero, wide = which < nothing, which >= nothing + normal
        empty = np.flatnonzero(zero.all(axis=1))  # a shape has to have something in it
        chance = 1 - nothing + 1e-300
        zero[empty, rng.choice(len(chance), len(empty), p=chance / chance.sum())] = False
        (mean, deviation), (wide_mean, wide_deviation) = self.kept[1:]
        mean, deviation = np.where(wide, wide_mean, mean), np.where(wide, wide_deviation, deviation)
        return np.asarray(~zero * (mean + deviation * rng.standard_normal(zero.shape)))
