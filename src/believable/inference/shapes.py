"""Shapes that the true gaps may have, given the observed ones.

How much noise adds to an error depends on the shape of the true gaps: many small gaps disappear in the noise, one large
gap does not. Each shape is a draw from the posterior under a mixture of priors: smooth along the scores, smooth with a
rough part, and sparse (most gaps zero, a few of any size). Some priors shrink gaps towards scores of 0 and 1, some do
not, and several amplitudes are mixed. With several classes, a part of the gaps may be the same function of the score in
all of them. Nothing has to be chosen: priors that do not fit get no weight.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from believable._types import Float64s, Int64s
from believable.inference.cells import groups_of_scores

REACH_OF_SMOOTH_GAPS = 0.3  # standard deviation of the kernel that correlates smooth gaps along the scores
REACH_OF_WAVY_GAPS = 0.1  # the same for gaps that change their sign a few times
# The smooth share of a prior's variance, and how gaps shrink towards 0 and 1: as a power of p (1 - p), which is 1 for a
# shift of the logits.
SMOOTH_PRIORS = ((0.5, 0.5), (0.95, 0.5), (1.0, 0.5), (0.95, 1.0), (1.0, 1.0), (0.5, 0.0), (0.95, 0.0), (1.0, 0.0))
# The same for gaps that classes share in part, and these parts of the variance.
SHARED_PRIORS = ((0.5, 0.5), (0.95, 0.5), (0.5, 1.0), (0.95, 1.0), (0.95, 0.0))
SHARED_PARTS = (0.5, 0.9, 0.99, 0.999)
WAVY_PRIORS = ((0.95, 0.5), (1.0, 0.5), (1.0, 1.0), (1.0, 0.0))
REACH_OF_SHIFTS, PARTS_BESIDE_SHIFTS = 1.0, (0.0, 0.5, 0.9)  # gaps of one sign in each class
SHIFT_PRIORS = ((1.0, 0.5), (1.0, 1.0))
MIN_SMOOTH_SHARE = 0.9  # priors with a smaller smooth share are not used if shapes must be smooth
OUTLYING_GAP, OUTLYING_SHARE = 0.3, 0.05  # size of outlying gaps, and their share of the nonzero gaps
NONZERO_SHARES = (0.3, 0.7, 1.0)  # shares of nonzero gaps in sparse shapes
PRIOR_AMPLITUDES = np.array([0.25, 0.5, 1, 2, 4, 8])  # in units of the noise
MOST_SMALLER_AMPLITUDES = 8  # that are added for several strata, whose cells differ much in their noise
WEIGHT_OF_SMOOTH_PRIORS = 50.0  # prior odds of a smooth shape over a sparse one
PLACE_GAPS = (0.1, 0.3)  # standard deviations of gaps that are in one or two places only
MOST_CELLS_OF_PLACE = 3  # neighbouring cells that make up a place
WEIGHT_OF_PLACES = 600.0  # prior odds of one or two places over a sparse prior
MAX_CELLS_FOR_PLACES = 60
MAX_CELLS_FOR_SMOOTH_PRIORS = 300  # with more cells in a stratum, only the sparse priors are fast enough


def draw_patterns(
    gap: Float64s,
    variance: Float64s,
    score: Float64s,
    stratum: Int64s,
    n_draws: int,
    rng: np.random.Generator,
    *,
    rough: bool,
    pooled_variance: Float64s | None = None,
) -> Float64s:
    """Draw the true gaps from their posterior, shape (n_draws, cells).

    Unless `rough`, gaps are smooth or in one or two places. With several strata, the pooled variance is that of what
    they show together; the other one treats every cell alone.
    """
    variance = np.maximum(variance, 1e-12)
    components: list[_Dense | _Sparse | _Places] = []
    if np.bincount(stratum).max() <= MAX_CELLS_FOR_SMOOTH_PRIORS:
        common = variance if pooled_variance is None else np.maximum(pooled_variance, 1e-12)
        components += _smooth_components(gap, common, score, stratum, rough)
    if rough or not components:
        for power in (0.5, 0.0):
            scale, amplitudes = _scale(score, variance, power)
            components += [
                _Sparse(gap, variance, (a * scale) ** 2, share) for share in NONZERO_SHARES for a in amplitudes
            ]
    if stratum[0] == stratum[-1] and 3 <= len(gap) <= MAX_CELLS_FOR_PLACES:
        components += [_Places(gap, variance, score, size) for size in PLACE_GAPS]
    fit = np.array([part.log_fit for part in components])
    chance = np.exp(fit - fit.max())
    chance /= chance.sum()
    counts = rng.multinomial(n_draws, chance)
    return np.concatenate([part.draw(k, rng) for part, k in zip(components, counts, strict=True) if k])


def _scale(score: Float64s, variance: Float64s, power: float) -> tuple[Float64s, Float64s]:
    """Return the relative size of gaps at each score, and the amplitudes to mix."""
    scale = np.maximum(score * (1 - score), 1e-6) ** power
    return scale, np.asarray(PRIOR_AMPLITUDES * np.sqrt(np.mean(variance) / np.mean(scale**2)))


def _smooth_components(
    gap: Float64s, variance: Float64s, score: Float64s, stratum: Int64s, rough: bool
) -> list[_Dense]:
    blocks = _Blocks(stratum)
    priors = [(REACH_OF_SMOOTH_GAPS, 0.0, prior) for prior in SMOOTH_PRIORS]
    if blocks.shape[0] == 1:
        priors += [(REACH_OF_WAVY_GAPS, 0.0, prior) for prior in WAVY_PRIORS]
    else:
        priors += [(REACH_OF_SMOOTH_GAPS, *prior) for prior in product(SHARED_PARTS, SHARED_PRIORS)]
        priors += [(REACH_OF_SHIFTS, *prior) for prior in product(PARTS_BESIDE_SHIFTS, SHIFT_PRIORS)]
    data = {reach: _Data(blocks, gap, variance, score, reach) for reach in {reach for reach, *_ in priors}}
    components: list[_Dense] = []
    for reach, part, (share, power) in priors:
        if share < MIN_SMOOTH_SHARE and not rough:
            continue
        scale, amplitudes = _scale(score, variance, power)
        if blocks.shape[0] > 1:
            least = 0.25 * np.sqrt(1 / np.mean(scale**2 / variance))
            n_smaller = np.clip(np.ceil(np.log2(amplitudes[0] / least)), 0, MOST_SMALLER_AMPLITUDES)
            amplitudes = np.append(amplitudes[0] / 2.0 ** np.arange(n_smaller, 0, -1), amplitudes)
        components += [_Dense(data[reach], a * scale, share, part) for a in amplitudes]
    return components


class _Blocks:
    """The cells of each stratum as a row of a matrix, padded to equal length."""

    def __init__(self, stratum: Int64s) -> None:
        _, row, size = np.unique(stratum, return_inverse=True, return_counts=True)
        order = np.argsort(row, kind="stable")
        column = np.empty(len(row), np.intp)
        column[order] = np.arange(len(row)) - np.repeat(np.cumsum(size, dtype=np.intp) - size, size)
        self.at, self.shape = (row, column), (len(size), int(size.max()))

    def fill(self, values: Float64s, padding: float = 0.0) -> Float64s:
        """Return the values in blocks; leading axes stay."""
        filled = np.full((*values.shape[:-1], *self.shape), padding)
        filled[..., self.at[0], self.at[1]] = values
        return filled

    def flat(self, filled: Float64s) -> Float64s:
        """Return the values of the cells in their own order; leading axes stay."""
        return filled[..., self.at[0], self.at[1]]


class _Data:
    """Observed gaps and their variances, in blocks, and how similar the scores of cells are."""

    def __init__(self, blocks: _Blocks, gap: Float64s, variance: Float64s, score: Float64s, reach: float) -> None:
        self.blocks = blocks
        self.gap, self.variance = blocks.fill(gap), blocks.fill(variance, 1.0)
        self.alike = _alike(blocks.fill(score), reach)
        self.group = group = groups_of_scores(score)
        self.member = np.swapaxes(blocks.fill(np.eye(group.max() + 1)[:, group]), 0, 1).swapaxes(1, 2)
        self.alike_groups = _alike(np.bincount(group, score) / np.bincount(group), reach)


def _alike(score: Float64s, reach: float) -> Float64s:
    return np.asarray(np.exp(-((score[..., :, None] - score[..., None, :]) ** 2) / (2 * reach**2)))


class _Dense:
    """Prior of jointly normal gaps: a part that all strata share, and parts of their own.

    What strata share is one gap for each group of scores, so its fit needs small matrices only (Woodbury's identity).

    Parameters
    ----------
    data : _Data
    scale : ndarray
        Standard deviation of each gap.
    smooth : float
        Share of the variance that is smooth along the scores; the rest is independent.
    shared : float
        Share of the variance that all strata share.
    """

    def __init__(self, data: _Data, scale: Float64s, smooth: float, shared: float) -> None:
        self.data = data
        size = data.blocks.fill(scale)
        one = np.eye(size.shape[1])
        both = size[:, :, None] * size[:, None, :]
        self.prior = (1 - shared) * (smooth * data.alike + (1 - smooth + 1e-9) * one) * both
        self.root = np.linalg.cholesky(self.prior + data.variance[:, :, None] * one)
        half = np.linalg.solve(self.root, data.gap[:, :, None])[:, :, 0]
        log_fit = np.log(WEIGHT_OF_SMOOTH_PRIORS) - np.sum(half**2) / 2
        log_fit -= np.log(np.diagonal(self.root, axis1=1, axis2=2)).sum()
        self.loading: Float64s | None = None
        if shared:
            among = shared * (smooth * data.alike_groups + (1 - smooth + 1e-6) * np.eye(len(data.alike_groups)))
            self.loading = size[:, :, None] * data.member @ np.linalg.cholesky(among)
            seen = np.linalg.solve(self.root, self.loading)
            precision = np.eye(len(among)) + np.einsum("kbi,kbj->ij", seen, seen)
            self.shared_root = np.linalg.cholesky(precision)
            pull = np.linalg.solve(self.shared_root, np.einsum("kbi,kb->i", seen, half))
            log_fit += pull @ pull / 2 - np.log(np.diag(self.shared_root)).sum()
            self.pull = pull
        self.log_fit = float(log_fit)

    def draw(self, n: int, rng: np.random.Generator) -> Float64s:
        data = self.data
        gap, common = data.gap, np.zeros(1)
        if self.loading is not None:
            factor = np.linalg.solve(self.shared_root.T, self.pull[:, None] + rng.standard_normal((len(self.pull), n)))
            common = np.moveaxis(self.loading @ factor, -1, 0)
            gap = gap - common
        pulled = np.linalg.solve(self.root, self.prior)
        toward = np.swapaxes(np.linalg.solve(np.swapaxes(self.root, 1, 2), pulled), 1, 2)
        covariance = self.prior - np.swapaxes(pulled, 1, 2) @ pulled
        values, vectors = np.linalg.eigh((covariance + np.swapaxes(covariance, 1, 2)) / 2)
        spread = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        noise = rng.standard_normal((*data.gap.shape, n))
        own = toward @ (np.moveaxis(gap, 0, -1) if gap.ndim == 3 else gap[:, :, None]) + spread @ noise
        return data.blocks.flat(np.moveaxis(own, -1, 0) + common)


class _Sparse:
    """Prior of independent gaps, each of them zero, normal or, rarely, of any size."""

    def __init__(self, gap: Float64s, variance: Float64s, prior: Float64s, share: float) -> None:
        wide = np.full(len(gap), OUTLYING_GAP**2)
        self.kept, fit = [], []
        for weight, slab in (
            (1 - share, np.zeros(len(gap))),
            (share * (1 - OUTLYING_SHARE), prior),
            (share * OUTLYING_SHARE, wide),
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
        empty = np.flatnonzero(zero.all(axis=1))  # a shape needs at least one nonzero gap
        chance = 1 - nothing + 1e-300
        zero[empty, rng.choice(len(chance), len(empty), p=chance / chance.sum())] = False
        (mean, deviation), (wide_mean, wide_deviation) = self.kept[1:]
        mean, deviation = np.where(wide, wide_mean, mean), np.where(wide, wide_deviation, deviation)
        return np.asarray(~zero * (mean + deviation * rng.standard_normal(zero.shape)))


class _Places:
    """Prior of gaps that are zero except for one or two places, each of them a few neighbouring cells of equal gaps."""

    def __init__(self, gap: Float64s, variance: Float64s, score: Float64s, size: float) -> None:
        order = np.argsort(score, kind="stable")
        n = len(gap)
        spans = [(i, i + k) for k in range(1, MOST_CELLS_OF_PLACE + 1) for i in range(n - k + 1)]
        self.inside = np.zeros((len(spans), n))
        for row, (start, stop) in zip(self.inside, spans, strict=True):
            row[order[start:stop]] = 1.0
        precision = self.inside @ (1 / variance) + 1 / size**2
        self.mean = self.inside @ (gap / variance) / precision
        self.deviation = 1 / np.sqrt(precision)
        gain = precision * self.mean**2 / 2 - np.log(precision * size**2) / 2
        nothing = -np.sum(gap**2 / variance + np.log(variance)) / 2
        starts, stops = np.array(spans).T
        first, second = np.nonzero(stops[:, None] < starts)  # pairs with something between them
        single = np.arange(len(spans))
        self.first, self.second = np.append(single, first), np.append(single, second)
        self.is_pair = np.arange(len(self.first)) >= len(spans)
        fit = np.append(gain - np.log(len(spans)), gain[first] + gain[second] - np.log(max(len(first), 1)))
        either = np.logaddexp.reduce(fit)
        self.chance = np.exp(fit - either)
        self.log_fit = float(np.log(WEIGHT_OF_PLACES / 2) + either + nothing)

    def draw(self, n: int, rng: np.random.Generator) -> Float64s:
        which = rng.choice(len(self.chance), n, p=self.chance / self.chance.sum())
        drawn = np.zeros((n, self.inside.shape[1]))
        for place, present in ((self.first[which], True), (self.second[which], self.is_pair[which])):
            gap = self.mean[place] + self.deviation[place] * rng.standard_normal(n)
            drawn += (present * gap)[:, None] * self.inside[place]
        return drawn
