"""Partial pooling: what each level of some columns adds to the logit of a common map.

Effects of levels are estimated as if there were some, and then multiplied by the probability that there are. With few
rows, the variation among levels that is most likely is often above 0 by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from believable import _kernels
from believable._kernels.mixed_logistic import MixedLogistic, fit_mixed_logistic
from believable._types import Float64s, Ints
from believable.errors import LimitWarning
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.facts import Map
from believable.recalibrate.inputs import Scores, warn
from believable.recalibrate.platt import PlattScaling

POOLED = ("slope", "intercept", "share", "rows")  # what a map says about each level of a column
MOST_ENTRIES = 20_000  # of more rows, those with the same levels are merged where their scores are close
MERGED = 1 / 64  # in standard deviations of z: the error is of second order in this
SPREAD = 0.5  # standard deviation of the prior on the roots of the covariance, with z in standard deviations
ODDS_OF_NO_EFFECTS = 3.0  # before data, as for an average of maps: no change against any
EVIDENCE_COUNTED = 0.5  # of the gain in log-likelihood, because effects are fitted to the same rows
LARGEST_EFFECT = 1e6  # of a logit, for scores far outside those that were fitted


class LevelRows(NamedTuple):
    """The rows or cells of one event that a map is fitted to.

    Attributes
    ----------
    scores : Scores
        The scores.
    w, wy : ndarray of shape (n,)
        The weights of rows and of events.
    codes : list of ndarray of shape (n,)
        For each column the number of the level, -1 for none.
    cluster : ndarray of shape (n,), optional
        The cluster of each row.
    """

    scores: Scores
    w: Float64s
    wy: Float64s
    codes: list[Ints]
    cluster: Ints | None = None


def fit_pooled(base: Recalibrator, rows: LevelRows, sizes: Sequence[int], per_weight: float) -> list[Map]:
    """Fit what levels add to a fitted common map, and return it for each column.

    `per_weight` is the number of effective rows for each unit of weight. The coefficients of a PlattScaling are fitted
    together with the levels and replaced, unless a threshold on the scores separates the classes.
    """
    z = rows.scores.logit()
    common = common_logit(base, rows.scores)
    together = type(base) is PlattScaling and base.targets == "labels" and not _separates(z, rows.w, rows.wy)

    entries = _Entries(z, rows.w, rows.wy, common, rows.codes)
    if len(z) > MOST_ENTRIES:
        entries = entries.merged()

    def fit(factor: float) -> MixedLogistic:
        return fit_mixed_logistic(
            entries.z,
            entries.w * factor,
            entries.wy * factor,
            entries.codes,
            sizes,
            None if together else entries.common,
            prior=SPREAD,
        )

    found = fit(per_weight)
    if rows.cluster is not None:
        eta = (found.slope * z + found.intercept if together else common) + sum(
            _added(z, code, *effects.T) for code, effects in zip(rows.codes, found.effects, strict=True)
        )
        found = fit(per_weight / residual_design_effect(rows.wy - rows.w * _kernels.sigmoid(eta), rows.cluster))
    if not found.converged:
        warn("the search for the variation among levels ended before its maximum: the last step was used", LimitWarning)
    kept = 1 / (1 + ODDS_OF_NO_EFFECTS * np.exp(-EVIDENCE_COUNTED * np.array(found.gains)))
    if together:
        none = float(np.prod(1 - kept))
        slope, intercept = none * np.array(found.common) + (1 - none) * np.array([found.slope, found.intercept])
        base.maps_ = ({"slope": float(slope), "intercept": float(intercept)},)
    return [
        {
            "slope": (own * effects[:, 1]).tolist(),
            "intercept": (own * effects[:, 0]).tolist(),
            "share": (own * np.clip(share, 0, 1)).tolist(),
            "rows": np.bincount(code[code >= 0], rows.w[code >= 0], size).tolist(),
        }
        for own, effects, share, code, size in zip(kept, found.effects, found.shares, rows.codes, sizes, strict=True)
    ]


def apply_pooled(base: Recalibrator, pooled: Sequence[Map], scores: Scores, codes: Sequence[Ints]) -> Float64s:
    """Return probabilities (n, 2); rows to which no level adds anything get those of the common map."""
    p = base._apply_pairs(Scores(scores.values, base.input))
    z = scores.logit()
    added = np.zeros(len(z))
    for one, code in zip(pooled, codes, strict=True):
        added += _added(z, code, np.array(one["intercept"]), np.array(one["slope"]))
    rows = np.flatnonzero(added)
    eta = common_logit(base, scores.take(rows), p[rows, 1]) + added[rows]
    p[rows, 0], p[rows, 1] = _kernels.sigmoid(-eta), _kernels.sigmoid(eta)
    return p


def common_logit(base: Recalibrator, scores: Scores, p: Float64s | None = None) -> Float64s:
    """Return the logit of the common map, exactly for PlattScaling, otherwise within that of 1e-12 and 1 - 1e-12."""
    (fitted,) = base.maps_
    if isinstance(base, PlattScaling) and fitted is not None:
        with np.errstate(over="ignore"):
            return np.asarray(fitted["slope"] * scores.logit() + fitted["intercept"])
    if p is None:
        p = base._apply_pairs(Scores(scores.values, base.input))[:, 1]
    return _kernels.clipped_logit(p)


def _added(z: Float64s, code: Ints, intercept: Float64s, slope: Float64s) -> Float64s:
    """Return what the levels of one column add to the logits of rows."""
    with np.errstate(over="ignore"):
        added = np.append(slope, 0.0)[code] * z + np.append(intercept, 0.0)[code]  # -1 is the last place
    return np.asarray(np.clip(added, -LARGEST_EFFECT, LARGEST_EFFECT))


def _separates(z: Float64s, w: Float64s, wy: Float64s) -> bool:
    """Return whether a threshold separates the classes, so that the likelihood has no maximum."""
    events, others = z[wy > 0], z[wy < w]
    return bool(z.max() > z.min() and (events.min() >= others.max() or events.max() <= others.min()))


def residual_design_effect(residual: Float64s, cluster: Ints) -> float:
    """Return by how much clusters inflate the variance of a sum of residuals; at least 1."""
    together = np.bincount(cluster, residual)
    return max(1.0, float(together @ together) / float(residual @ residual))


class _Entries(NamedTuple):
    """Rows, or rows that were merged: z, weights, weights of events, logits of the common map, levels."""

    z: Float64s
    w: Float64s
    wy: Float64s
    common: Float64s
    codes: Sequence[Ints]

    def merged(self) -> _Entries:
        """Return sums and averages of rows with the same levels whose z lie in the same narrow range."""
        z, w = self.z, self.w
        share = w / w.sum()
        spread = float(np.sqrt(share @ (z - share @ z) ** 2))
        place = np.floor(z / (MERGED * spread)) if spread > 0 else np.zeros(len(z))
        order = np.lexsort((place, *self.codes))
        same = [values[order][1:] == values[order][:-1] for values in (place, *self.codes)]
        starts = np.flatnonzero(np.append(True, ~np.logical_and.reduce(same)))
        weight, wz, wy, wt = (np.add.reduceat(v[order], starts) for v in (w, w * z, self.wy, w * self.common))
        return _Entries(wz / weight, weight, wy, wt / weight, [code[order][starts] for code in self.codes])
