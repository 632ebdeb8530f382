"""Bootstrap replicates of a metric: rows, clusters or cells are drawn with replacement."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _kernels
from believable._kernels import expanded_level
from believable._types import Float64s, Ints
from believable.curves.binned import wilson_ends
from believable.errors import UndefinedError
from believable.inference.cells import ABSENT_SHARE
from believable.inference.clusters import drawn_counts, has_several_pairs_per_row, unit_of_rows
from believable.inference.question import Question
from believable.predictions import Predictions
from believable.stats import BinStats, ScoreSums
from believable.stats.points import Points, PointStats
from believable.stats.sums import row_terms

POINTS_PER_STRATUM = 1000  # points beyond this number are merged before they are resampled
TIED_REPLICATE = 1e-12  # relative and absolute distance within which a replicate equals the value
MIN_CLUSTERS_TO_RESAMPLE = 40  # fewer clusters get an interval with Student's t: see benchmarks/small_samples.py
MOST_EXPONENT = 700.0  # larger ones overflow
MAX_PARTS_LEFT_OUT = 200  # parts of the rows left out in turn, for the acceleration of BCa


def percentile_ends(replicates: Float64s, level: float) -> tuple[float, float]:
    """Return the ends of the central share of the replicates."""
    shares = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(
        replicates, shares, method="inverted_cdf"
    )  # interpolation would fail for infinite replicates
    return float(low), float(high)


def bca_ends(
    replicates: Float64s, left_out: Float64s, value: float, level: float, times: Float64s | None = None
) -> tuple[float, float]:
    """Return bias-corrected and accelerated ends (Efron 1987); `times` is how many rows each left-out value counts."""
    normal = NormalDist()
    tied = np.isclose(replicates, value, rtol=TIED_REPLICATE, atol=TIED_REPLICATE)  # otherwise rounding would decide
    below = (np.count_nonzero((replicates < value) & ~tied) + np.count_nonzero(tied) / 2) / len(replicates)
    if (
        not 0 < below < 1 or not np.isfinite(left_out).all()
    ):  # a certain and wrong prediction makes the log loss infinite
        return percentile_ends(replicates, level)
    bias = normal.inv_cdf(below)
    times = np.ones(len(left_out)) if times is None else times
    pull = np.average(left_out, weights=times) - left_out
    scale = float(np.sum(times * pull**2)) ** 1.5
    acceleration = float(np.sum(times * pull**3)) / (6 * scale) if scale > 0 else 0.0
    ends = []
    for sign in (1, -1):
        shifted = bias + sign * normal.inv_cdf((1 - level) / 2)
        ends.append(normal.cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(replicates, ends, method="inverted_cdf")
    return float(low), float(high)


# --- sums of rows -----------------------------------------------------------------------------------------------------


class SumUnits:
    """The `ScoreSums` of every unit, which can be added up with any counts."""

    like: ScoreSums
    n_units: int
    infinite: Float64s
    columns: dict[str, Float64s]

    def __init__(self, source: Predictions, unit: Ints, n_units: int) -> None:
        terms = row_terms(source)
        weight = np.ones(len(source)) if source.weights is None else source.weights
        square = weight * weight
        certain = np.isinf(terms["nll"]) if terms["nll"].ndim == 1 else np.isinf(terms["nll"]).any(axis=1)
        terms["nll"] = np.where(np.isinf(terms["nll"]), 0, terms["nll"])
        times = source.n_classes if source.kind == "multilabel" else 1

        def by_unit(values: Float64s, weights: Float64s = weight) -> Float64s:
            row = values if values.ndim == 1 else values.sum(axis=1)
            return np.bincount(unit, weights * row, n_units).astype(np.float64)

        def by_class(values: Float64s) -> Float64s:
            return np.stack([by_unit(column) for column in values.T], axis=1)

        ones = np.ones(len(source))
        self.like, self.n_units = ScoreSums.of(source), n_units
        self.infinite = np.bincount(unit, certain, n_units).astype(np.float64)
        self.columns = {"w": times * by_unit(ones), "w2": times * by_unit(ones, square)}
        self.columns |= {
            name: by_unit(terms[name]) for name in ("brier", "nll", "correct", "confidence", "entropy", "spread")
        }
        self.columns |= {
            "spread_variance": by_unit(terms["spread_variance"], square),
            "w2_squared": by_unit(terms["brier"], square),
            "wp": by_class(terms["p"]),
            "wy": by_class(terms["y"]),
            "deviation": by_class(terms["p"] ** 2),
        }

    def values(self, question: Question, counts: Float64s) -> Float64s:
        """Return the metric for each row of counts, which say how often each unit is taken."""
        sums = {name: counts @ column for name, column in self.columns.items()}
        if "nll" in sums:
            sums["nll"] = np.where(counts @ self.infinite > 0, np.inf, sums["nll"])
        class_weight = sums["w"] / (self.like.n_classes if self.like.kind == "multilabel" else 1)
        if "deviation" in sums:
            sums["deviation"] = np.maximum(sums["deviation"] - sums["wp"] ** 2 / class_weight[:, None], 0)
        names = list(self.columns)
        found = []
        for i in range(len(counts)):
            one: dict[str, Any] = {
                name: sums[name][i] if sums[name].ndim == 2 else float(sums[name][i]) for name in names
            }
            found.append(one_value(question, replace(self.like, **one)))
        return np.array(found)


class MeanUnits:
    """The weights and weighted scores of the rows of every unit, for a metric that is a mean over rows."""

    def __init__(self, question: Question, unit: Ints, n_units: int) -> None:
        assert question.row is not None
        scores = question.row.counts(question.source)
        infinite = np.isinf(scores.values)
        weight = np.ones(len(unit)) if scores.weights is None else scores.weights
        self.w = np.bincount(unit, weight, n_units)
        self.total = np.bincount(unit, weight * np.where(infinite, 0, scores.values), n_units)
        self.infinite = np.bincount(unit, infinite, n_units)

    def values(self, question: Question, counts: Float64s) -> Float64s:
        """Return the mean for each row of counts, which say how often each unit is taken."""
        return np.where(counts @ self.infinite > 0, np.inf, (counts @ self.total) / (counts @ self.w))


def units_of(question: Question, unit: Ints, n_units: int) -> SumUnits | MeanUnits:
    """Return what the metric sums over rows, for every unit."""
    assert question.row is not None
    assert question.rows is not None
    if question.row.needs == "rows":
        return MeanUnits(question, unit, n_units)
    return SumUnits(question.rows, unit, n_units)


def sums_interval(
    question: Question, cluster: Ints | None, level: float, method: str, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, str]:
    """Return the interval of a metric of sums over rows, and the method."""
    rows = question.rows
    assert rows is not None
    unit, n_units = unit_of_rows(cluster, len(rows), rng)
    units = units_of(question, unit, n_units)
    few = cluster is not None and n_units < MIN_CLUSTERS_TO_RESAMPLE
    if method == "auto" and needs_jackknife(question, few):
        left_out = units.values(question, 1 - np.eye(n_units)) if n_units > 1 else np.array([question.value()])
        return jackknife_ends(question, left_out, None, level)
    replicates = defined(units.values(question, drawn_counts(n_units, n_draws, rng)))
    n = len(rows) if cluster is None else int(cluster.max()) + 1  # before any were merged
    if method == "percentile":
        return *percentile_ends(replicates, expanded_level(level, n)), "percentile"
    part = np.arange(n_units) % min(n_units, MAX_PARTS_LEFT_OUT)
    without = (part != np.arange(part.max() + 1)[:, None]).astype(np.float64)
    left_out = defined(units.values(question, without)) if len(without) > 1 else np.zeros(1)
    wider = expanded_level(level, n, _kernels.degrees_of_freedom(left_out, n))
    return *bca_ends(replicates, left_out, question.value(), wider), "bca"


def needs_jackknife(question: Question, few_clusters: bool) -> bool:
    """Return whether to use a standard error and Student's t: for few clusters, shares and skill.

    Eight resampled clusters vary too little, and their skewness cannot be estimated. A share of 1 does not vary at all
    when resampled. A skill is compared with the base rate, and its bootstrap is biased where events are rare.
    """
    assert question.row is not None
    facts = question.row.sums
    return few_clusters or facts.is_share or facts.is_skill


def jackknife_ends(
    question: Question, left_out: Float64s, times: Float64s | None, level: float
) -> tuple[float, float, str]:
    """Return the interval from the values without each unit, and the method.

    A share has Wilson's interval, a skill that of the logarithm of the ratio of losses, which is nearly symmetric.
    """
    row, value = question.row, question.value()
    assert row is not None
    if np.isnan(left_out).any():
        raise UndefinedError(
            f"the interval of {row.name} needs each outcome in at least two rows (or clusters): without one of them "
            "the metric is undefined"
        )
    if not np.isfinite(left_out).all():  # a certain and wrong prediction makes the log loss infinite
        finite = left_out[np.isfinite(left_out)]
        return float(finite.min(initial=value)), value, "jackknife"
    n = float(len(left_out) if times is None else times.sum())
    error = _kernels.jackknife_error(left_out, times)
    if row.sums.is_share:
        effective = 1 + value * (1 - value) / error**2 if error > 0 else n  # n itself for rows of equal weight
        low, high = wilson_ends(np.array(value), np.array(effective), _kernels.t_quantile(level, max(n - 1, 1)))
        return float(low), float(high), "wilson"
    if row.sums.is_skill and left_out.max() < 1 and value < 1:
        logs = np.log(1 - left_out)
        reach = _kernels.t_quantile(level, _kernels.degrees_of_freedom(logs, n, times))
        by = math.exp(min(reach * _kernels.jackknife_error(logs, times), MOST_EXPONENT))
        return 1 - (1 - value) * by, 1 - (1 - value) / by, "jackknife"
    reach = error * _kernels.t_quantile(level, _kernels.degrees_of_freedom(left_out, n, times))
    return max(value - reach, row.low), min(value + reach, row.high), "jackknife"


# --- statistics -------------------------------------------------------------------------------------------------------


def statistic_replicates(question: Question, n_draws: int, rng: np.random.Generator) -> Float64s | None:
    """Return replicates from resampled counts of (bin, outcome) or (point, outcome); None if rows are needed."""
    cells = question.cells(POINTS_PER_STRATUM)
    if cells is None:
        return None
    statistic = cells.statistic
    if question.rows is not None:
        weights = question.rows.weights
        unequal = not cells.are_bins and weights is not None and weights.min() < weights.max()
        if unequal or has_several_pairs_per_row(statistic.view):
            return None  # only rows show how weights differ within a point, or which pairs belong to one row
    if cells.are_bins:
        return question.replicates(resampled_bins(statistic, n_draws, rng))
    drawn = [_resampled_points(points, n_draws, rng) for points in statistic.strata]
    if len(drawn) > 1:  # cells do not record how classes of a row correlate: assume that they do so perfectly
        apart = []
        for points, (w, wy) in zip(statistic.strata, drawn, strict=True):
            each = (_replicate(points, w[i], wy[i]) for i in range(n_draws))
            apart.append([one_value(question, PointStats(statistic.view, (one,))) for one in each])
        return _around(question, statistic, defined(np.mean(np.sort(apart, axis=1), axis=0)))
    values = []
    for i in range(n_draws):
        strata = tuple(_replicate(points, w[i], wy[i]) for points, (w, wy) in zip(statistic.strata, drawn, strict=True))
        values.append(one_value(question, PointStats(statistic.view, strata)))
    return _around(question, statistic, defined(np.array(values)))


def _around(question: Question, merged: PointStats, replicates: Float64s) -> Float64s:
    """Shift the replicates of merged points to the value of all points; with a billion rows, the difference matters."""
    moved = question.value() - one_value(question, merged)
    return replicates + moved if np.isfinite(moved) else replicates


def _mixes_weights(points: Points) -> bool:
    return bool(np.any(points.w2 * points.n > points.w**2 * (1 + 1e-9)))


def resampled_bins(stats: BinStats, n_draws: int, rng: np.random.Generator) -> BinStats:
    """Return a stack of statistics, as new samples of the same size would give them.

    The number of pairs in each (bin, outcome) is multinomial. Given that number, the sums of weights and scores vary as
    much as weights and scores vary within the bin; without this term, few wide bins would vary too little.
    """
    ny, n = np.rint(stats.ny), stats.n
    counts = np.stack([n - ny, ny])
    weights = np.stack([stats.w - stats.wy, stats.wy])
    squares = np.stack([stats.w2 - stats.w2y, stats.w2y])
    scores = np.stack([stats.wp - stats.wpy, stats.wpy])
    some = counts > 0
    each = np.where(some, counts, 1)
    weight, square = weights / each, squares / each
    score = np.divide(scores, weights, out=np.zeros(scores.shape), where=some & (weights > 0))
    between = np.sum(weights * (score - stats.conf) ** 2, axis=0) / stats.w
    within = np.maximum(np.nan_to_num(stats.wpp / stats.w - stats.conf**2) - between, 0)

    m = rng.multinomial(int(n.sum()), (counts / n.sum()).ravel(), n_draws).reshape(n_draws, 2, -1)
    w = m * weight + np.sqrt(m * np.maximum(square - weight**2, 0)) * rng.standard_normal(m.shape)
    w = np.maximum(w, 0)
    wp = w * score + np.sqrt(m * square * within) * rng.standard_normal(m.shape)
    total = w.sum(axis=1)
    empty = total <= ABSENT_SHARE * stats.w
    total = np.where(empty, ABSENT_SHARE * stats.w, total)
    conf = np.clip(np.where(empty, stats.conf, wp.sum(axis=1) / total), 0, 1)
    wy = np.where(empty, conf * total, w[:, 1])
    wpy = np.where(empty, conf * wy, wp[:, 1])
    w2 = np.where(empty, total * stats.w2 / stats.w, (m * square).sum(axis=1))
    return replace(stats, w=total, wp=total * conf, wy=wy, wpy=wpy, wpp=total * (conf**2 + within + between), w2=w2)


def _resampled_points(points: Points, n_draws: int, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Return the weights and weighted outcomes of new samples.

    If the pairs of a point differ in weight, those of each outcome are replaced by pairs of equal weight with the same
    sum and the same variance.
    """
    if _mixes_weights(points):
        w = np.maximum(np.stack([points.w - points.wy, points.wy]), 0)
        w2 = np.maximum(np.stack([points.w2 - points.w2y, points.w2y]), 0)
        each = np.divide(w2, w, out=np.zeros(w.shape), where=w > 0)
        size = np.divide(w, each, out=np.zeros(w.shape), where=each > 0)
        drawn = rng.poisson(size, (n_draws, *size.shape)) * each
        return np.asarray(drawn.sum(axis=1)), np.asarray(drawn[:, 1], np.float64)
    rate = points.rate
    occurred = points.n * rate
    chance = np.stack([points.n - occurred, occurred]) / points.n.sum()
    m = rng.multinomial(int(points.n.sum()), np.maximum(chance, 0).ravel(), n_draws).reshape(n_draws, 2, -1)
    weight = points.w / points.n
    return m.sum(axis=1) * weight, m[:, 1] * weight


def _replicate(points: Points, w: Float64s, wy: Float64s) -> Points:
    kept = w > 0
    square = (points.w2 / points.w)[kept]
    return Points(points.score[kept], points.n[kept], w[kept], wy[kept], w[kept] * square, wy[kept] * square)


# --- rows -------------------------------------------------------------------------------------------------------------


def row_draws(n: int, cluster: Ints | None, rng: np.random.Generator) -> Ints:
    """Draw the rows of one replicate: n rows, or the rows of as many clusters as there are."""
    if cluster is None:
        return rng.integers(0, n, n)
    order = np.argsort(cluster, kind="stable")
    sizes = np.bincount(cluster)
    starts = np.cumsum(sizes, dtype=np.intp) - sizes
    drawn = rng.integers(0, len(sizes), len(sizes))
    return np.concatenate([order[starts[c] : starts[c] + sizes[c]] for c in drawn])


def row_replicates(question: Question, cluster: Ints | None, n_draws: int, rng: np.random.Generator) -> Float64s:
    """Return the metric of resampled rows, with one call per replicate."""
    rows = question.rows
    assert rows is not None
    values = [one_value(question, rows.take(row_draws(len(rows), cluster, rng))) for _ in range(n_draws)]
    return defined(np.array(values))


def one_value(question: Question, source: Any) -> float:
    """Return the metric of a replicate; NaN if it is undefined there, for example because only one class occurs."""
    try:
        return question.value(source)
    except UndefinedError:
        return float("nan")


def defined(values: Float64s) -> Float64s:
    """Return the replicates that are defined; raise an error if that is less than nine in ten."""
    good = values[~np.isnan(values)]
    if len(good) < 0.9 * len(values):
        raise UndefinedError(
            f"the metric is undefined in {len(values) - len(good)} of {len(values)} resampled data sets: there are too "
            "few rows"
        )
    return good
