"""Intervals and noise floors of metrics of `ScoreSums` without the rows: from cells, or from second moments.

The value itself is exact, from the sums. If the metric uses one score of each row (all metrics of 1-D scores, accuracy
and confidence of a matrix), its variation comes from resampled counts of (cell, outcome). The Brier score and the log
loss of a matrix use the whole row, which cells do not hold: they have normal intervals from second moments of rows,
which the sums include.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Ints
from believable.errors import InputError, UndefinedError
from believable.inference.bootstrap import (
    SumUnits,
    bca_ends,
    defined,
    jackknife_ends,
    needs_jackknife,
    percentile_ends,
)
from believable.inference.cells import matched
from believable.inference.question import Question
from believable.predictions import Predictions
from believable.stats import ScoreSums
from believable.stats.source import Points, count_points, count_sums
from believable.stats.sums import OF_ROWS, row_terms

MAX_POINTS_OF_SUMS = 500  # more points are merged with their neighbours
SUMS_DO_NOT_VARY = "an interval needs the rows, or a Summary of them: sums alone do not hold a variance"


def statistic_interval(
    question: Question, level: float, method: str, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, str]:
    """Return the ends of the interval of a metric of sums, and the method."""
    found = _points(question)
    if found is None:
        if method != "auto":
            raise InputError(
                "{method=} resamples rows, which sums of a matrix do not hold; use 'auto'",
                method=method,
                argument="method",
            )
        return *_normal_interval(question, level), "normal"
    units = _Counted(question, found)
    value, rows = question.value(), float(units.n.sum())
    lone = rows < 2  # nothing is left if the only row is left out
    without_one = np.ones((1, units.n_units)) if lone else 1 - np.diag(1 / np.maximum(units.n, 1))
    if method == "auto" and needs_jackknife(question, few_clusters=False):
        times = np.array([rows]) if lone else units.n
        return jackknife_ends(question, units.values(question, without_one), times, level)
    replicates = defined(units.values(question, units.draw(n_draws, rng)))
    centre = float(units.values(question, np.ones((1, units.n_units)))[0])
    if math.isfinite(value) and math.isfinite(centre):
        replicates = replicates + (value - centre)  # cells use mean scores, the sums do not
    if method == "percentile" or lone:
        how = "percentile" if method == "percentile" else "bca"
        return *percentile_ends(replicates, _kernels.expanded_level(level, rows)), how
    left_out = units.values(question, without_one)
    kept = ~np.isnan(left_out)
    left_out, times = left_out[kept] + (value - centre), units.n[kept]
    wider = _kernels.expanded_level(level, rows, _kernels.degrees_of_freedom(left_out, rows, times))
    return *bca_ends(replicates, left_out, value, wider, times), "bca"


def statistic_floor(question: Question, n_draws: int, rng: np.random.Generator) -> Float64s:
    """Return the metric of outcomes drawn with the scores as rates."""
    assert question.row is not None
    value = question.value()
    if question.row.sums.without_labels:
        return np.full(n_draws, value)
    found = _points(question)
    if found is not None:
        units = _Expected(question, found)
        return defined(units.values(question, units.draw(n_draws, rng)))
    mean, variance = _by_chance(question)
    places = (np.arange(n_draws) + 0.5) / n_draws
    normal = np.array([NormalDist().inv_cdf(place) for place in places])
    return np.asarray(mean + math.sqrt(variance) * normal)


def _points(question: Question) -> Points | None:
    """Return the scores that the metric uses, if it uses one of each row; None otherwise."""
    source: Any = question.source
    assert question.row is not None
    if "sums" not in source.gives:
        raise UndefinedError(
            f"the variation of {question.row.name} needs the predictions or a Summary of them, not a "
            f"{type(source).__name__}"
        )
    if "cells" not in source.gives:
        return None
    if source.kind == "binary":
        return count_points(source)[0]
    if source.kind == "multiclass" and question.row.sums.of_predicted:
        try:
            return count_points(source, notion="confidence")[0]
        except UndefinedError:
            return None
    return None


# --- units ------------------------------------------------------------------------------------------------------------


class _Units(SumUnits):
    """Contributions of each (point, outcome) to `ScoreSums`: first the negatives, then the positives."""

    def __init__(self, question: Question, points: Points) -> None:
        self.like = count_sums(question.source)
        self.points = points
        most = len(points.score) > MAX_POINTS_OF_SUMS
        self.starts: Ints = (
            _kernels.cell_starts(points.score, points.w, MAX_POINTS_OF_SUMS) if most else np.arange(len(points.score))
        )

    def added(self, values: Array) -> Float64s:
        return np.asarray(np.add.reduceat(values, self.starts), np.float64)

    def terms(self, outcome: int) -> dict[str, Float64s]:
        score = np.clip(self.points.score, 0, 1)
        y = np.full(len(score), outcome)
        if self.like.kind != "binary":
            return {"correct": y.astype(np.float64), "confidence": score, "brier": (y - score) ** 2}
        found = row_terms(Predictions.borrowing(score, y, None, self.like.are_pairs))
        return {name: column.reshape(len(score)) for name, column in found.items()}

    def fill(self, parts: list[tuple[Float64s, Float64s]]) -> None:
        """Fill the columns from (sum of w, sum of w^2) of the unmerged points, for negatives and positives."""
        columns: dict[str, list[Float64s]] = {}
        infinite = []
        for outcome, (w, w2) in enumerate(parts):
            terms = self.terms(outcome)
            never = w <= 0
            for name, column in terms.items():
                terms[name] = np.where(never, 0, column)
            certain = np.isinf(terms.get("nll", np.zeros(len(w))))
            infinite.append(self.added(certain.astype(np.float64)))
            terms |= {"nll": np.where(certain, 0, terms["nll"])} if "nll" in terms else {}  # the other terms are finite
            made = {"w": self.added(w), "w2": self.added(w2), "w2_squared": self.added(w2 * terms["brier"])}
            for name in ("correct", "confidence", "brier", "nll", "entropy", "spread"):
                if name in terms:
                    made[name] = self.added(w * terms[name])
            if self.like.kind == "binary":
                made["wp"], made["wy"] = self.added(w * terms["p"]), self.added(w * terms["y"])
                made["deviation"] = self.added(w * terms["p"] ** 2)
                made["spread_variance"] = self.added(w2 * terms["spread_variance"])
            for name, column in made.items():
                columns.setdefault(name, []).append(column)
        joined = {name: np.concatenate(both) for name, both in columns.items()}
        self.columns = {name: c[:, None] if name in ("wp", "wy", "deviation") else c for name, c in joined.items()}
        self.infinite = np.concatenate(infinite)
        self.n_units = len(self.infinite)


class _Counted(_Units):
    """Units of the observed outcomes."""

    def __init__(self, question: Question, points: Points) -> None:
        super().__init__(question, points)
        not_w, not_w2 = np.maximum(points.w - points.wy, 0), np.maximum(points.w2 - points.w2y, 0)
        self.fill([(not_w, not_w2), (points.wy, points.w2y)])
        share = np.concatenate([self.added(points.n * not_w / points.w), self.added(points.n * points.rate)])
        equal = bool(np.allclose(points.w2 * points.n, points.w**2, rtol=1e-9, atol=0))
        equal = equal and bool(np.ptp(points.w / points.n) <= 1e-9 * np.max(points.w / points.n))
        w, w2 = self.columns["w"], self.columns["w2"]
        # Rows of unequal weight are replaced by rows of equal weight with the same sum and the same variance.
        effective = np.divide(w**2, w2, out=np.zeros(len(w)), where=w2 > 0)
        self.equal, self.n = equal, share if equal else effective

    def draw(self, n_draws: int, rng: np.random.Generator) -> Float64s:
        """Draw samples of the same size, as multiples of the observed counts."""
        some = np.maximum(self.n, 1e-300)
        if self.equal:
            total = float(self.n.sum())
            drawn = rng.multinomial(round(total), self.n / total, n_draws)
        else:
            drawn = rng.poisson(self.n, (n_draws, len(self.n)))
        return np.asarray(np.where(self.n > 0, drawn / some, 0))


class _Expected(_Units):
    """Units of the outcomes expected from the scores, with their expected weight."""

    def __init__(self, question: Question, points: Points) -> None:
        super().__init__(question, points)
        p = np.clip(points.score, 0, 1)
        self.fill([(points.w * (1 - p), points.w2 * (1 - p)), (points.w * p, points.w2 * p)])
        w, w2 = self.added(points.w), self.added(points.w2)
        self.size, self.rate = w**2 / w2, self.added(points.w * p) / w
        self.variance = self.added(points.w2 * p * (1 - p)) / w2

    def draw(self, n_draws: int, rng: np.random.Generator) -> Float64s:
        """Draw outcomes, as multiples of the expected weights."""
        shape = (n_draws, len(self.size))
        rate = np.broadcast_to(self.rate, shape)
        size = np.broadcast_to(self.size, shape)
        share = matched(rng, size, rate, np.broadcast_to(self.variance, shape)) / size
        with np.errstate(divide="ignore", invalid="ignore"):
            not_happened = np.where(rate < 1, (1 - share) / (1 - rate), 0)
            return np.concatenate([not_happened, np.where(rate > 0, share / rate, 0)], axis=1)


# --- moments ----------------------------------------------------------------------------------------------------------


def _normal_interval(question: Question, level: float) -> tuple[float, float]:
    row, sums, value = question.row, count_sums(question.source), question.value()
    assert row is not None
    if not math.isfinite(value):
        raise UndefinedError("the log loss is infinite: a prediction was certain and wrong")
    reach = -NormalDist().inv_cdf((1 - level) / 2) * math.sqrt(max(_variance(question, sums), 0.0))
    return max(value - reach, row.low), min(value + reach, row.high)


def _variance(question: Question, sums: ScoreSums) -> float:
    """Return the variance of a mean over rows, from sums of w^2 x^2, w^2 x and w^2."""
    row = question.row
    assert row is not None
    if "cells" not in question.source.gives and (sums.kind == "binary" or not len(sums.w2x)):
        raise InputError(SUMS_DO_NOT_VARY)
    if not len(sums.w2x):
        raise UndefinedError(
            f"the variation of {row.name} of a matrix needs second moments of rows, which were not counted"
        )
    times = sums.n_classes if sums.kind == "multilabel" else 1
    rows, square = sums.n / times, sums.w2 / times
    correction = rows / max(rows - 1, 1)
    facts = row.sums
    if facts.mean_of:
        i = OF_ROWS.index(facts.mean_of)
        scale = question.value() / (getattr(sums, facts.mean_of) / sums.w or 1.0)  # halved Brier scores
        mean = times * float(getattr(sums, facts.mean_of)) / sums.w
        spread = sums.w2xx[i] - 2 * mean * sums.w2x[i] + mean**2 * square
        return float(correction * spread * scale**2 / sums.w**2)
    if facts.variance is not None and sums.kind == "multiclass":
        return correction * facts.variance(sums)
    raise UndefinedError(
        f"the interval of {row.name} for a {sums.kind} matrix needs all classes of a row together, which a statistic "
        "does not hold: pass the predictions"
    )


def _by_chance(question: Question) -> tuple[float, float]:
    """Return the mean and variance of the score under perfect calibration."""
    row, sums = question.row, count_sums(question.source)
    assert row is not None
    if row.sums.by_chance is None:
        raise UndefinedError(
            f"the noise floor of {row.name} needs all classes of a row together: pass the predictions, not a statistic "
            "of them"
        )
    mean, variance = row.sums.by_chance(sums, **row.saying(question.options))
    if variance is None:
        raise UndefinedError("the noise floor of this metric needs the predictions, not a statistic of them")
    return mean, float(variance)
