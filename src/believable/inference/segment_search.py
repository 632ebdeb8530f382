"""Search for segments whose calibration differs from that of the other rows, one after the other.

Each step tests every candidate for an intercept and for a slope of its own, accepts the surest, and fits the model
again: so a segment that differs only because it overlaps another is not found beside it. All candidates are tested at
once by an approximation, and those that look sure again by the tests of `segment_model`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from believable import _kernels
from believable._kernels.ridge_logistic import fit_sloped_logistic
from believable._types import Array, Float64s, Int64s, Ints
from believable.inference.segment_model import (
    NO_VARIATION,
    RIDGE,
    RIDGE_OF_SLOPES,
    BothTails,
    Fitted,
    Strata,
    fitted,
    shift_test,
    slope_test,
)
from believable.stats.segments import SegmentStats, mixed

EVENTS_PER_RANGE = 10  # at least so many events, and non-events, in each range of scores
MOST_RANGES = 24
MOST_FOUND = 50
ALMOST_SYMMETRIC = 1e-3  # a smaller skewness is none
SPARSE_KEYS = 4  # with more possible keys per entry, those that occur are found by sorting
ROUNDING = 1e-9  # of an effective number of rows
DOUBT = math.log(100.0)  # how far the logarithm of an approximate p-value may be from that of a test
PART_OF_A_LEVEL = 0.97  # two complements have the same evidence, up to rounding and skewness


# --- candidates -------------------------------------------------------------------------------------------------------


class Entries:
    """The entries of a statistic on few ranges of scores, and all candidate segments among them.

    Attributes
    ----------
    codes, range, w, wy, wp, w2, n
        Levels, range and sums of each entry.
    levels : list of tuple
        The columns and levels of each candidate, as pairs of numbers.
    """

    def __init__(self, stats: SegmentStats, depth: int, min_rows: int) -> None:
        self.stats = stats = with_unit_weights(stats)
        self._ranges = ranges_of_scores(stats)
        place = self._ranges[stats.cell]
        self.n_ranges = int(self._ranges.max()) + 1
        key = mixed(stats.codes, stats.sizes) * self.n_ranges + place
        _, first, self._at = np.unique(key, return_index=True, return_inverse=True)
        self.codes, self.range, count = stats.codes[:, first].astype(np.int64), place[first], len(first)
        names = ("n", "w", "wp", "wy", "w2")
        sums = np.array([np.bincount(self._at, getattr(stats, name), count) for name in names], np.float64)
        self.n, self.w, self.wp, self.wy, self.w2 = sums
        self.levels: list[tuple[tuple[int, int], ...]] = []
        self._divisions: list[Division] = []
        self._enumerate(depth, min_rows)

    def __len__(self) -> int:
        return len(self.levels)

    def _enumerate(self, depth: int, min_rows: int) -> None:
        """Number the combinations of levels that have enough rows, and fewer than each combination they are part of."""
        sizes, everywhere = self.stats.sizes, np.zeros(len(self.n), np.int32)
        of_all: dict[tuple[int, ...], tuple[Array, Array]] = {(): (everywhere, np.array([self.n.sum()]))}
        for size in range(1, min(depth, len(sizes)) + 1):
            for subset in combinations(range(len(sizes)), size):
                last = subset[-1]
                within, of_parent = of_all[subset[:-1]]
                key = within.astype(np.int64) * sizes[last] + self.codes[last]
                at, first = renumbered(key, len(of_parent) * sizes[last])
                n = np.bincount(at, self.n)
                kept = self._large_enough(at, min_rows)
                for i in range(size):
                    within, rows = of_all[(*subset[:i], *subset[i + 1 :])]
                    kept &= n < rows[within[first]]
                if size < depth:
                    of_all[subset] = (at, n)
                if not kept.any():
                    continue
                begin, number = len(self.levels), np.where(kept, np.cumsum(kept) - 1, kept.sum())
                number = number.astype(np.min_scalar_type(number.max()))  # there is one for each entry
                here = self.codes[list(subset)][:, first[kept]]
                self.levels += [tuple(zip(subset, levels, strict=True)) for levels in here.T.tolist()]
                self._divisions.append(Division(slice(begin, len(self.levels)), number[at]))

    def _large_enough(self, at: Ints, min_rows: int) -> Array:
        """Return which parts have enough rows, inside and outside; rows of different weight count as fewer."""
        w, w2 = np.bincount(at, self.w), np.bincount(at, self.w2)
        rest, rest2 = (np.maximum(values.sum() - values, 0) for values in (w, w2))
        fewest = min_rows * (1 - ROUNDING)
        return np.asarray((w**2 >= fewest * w2) & (rest**2 >= fewest * rest2) & (rest2 > 0))

    def by_range(self, *values: Float64s) -> list[Float64s]:
        """Return the sums of each of these values by (candidate, range)."""
        size = self.n_ranges
        found = [np.empty((len(self), size)) for _ in values]
        for there, number in self._divisions:
            key, count = number.astype(np.int64) * size + self.range, there.stop - there.start
            for sums, value in zip(found, values, strict=True):
                sums[there] = np.bincount(key, value, (count + 1) * size)[: count * size].reshape(count, size)
        return found

    def by_candidate(self, members: Ints | slice, *values: Float64s) -> list[Float64s]:
        """Return the sums by candidate of each of these values, which belong to some of the entries."""
        found = [np.empty(len(self)) for _ in values]
        for there, number in self._divisions:
            key, count = number[members].astype(np.intp), there.stop - there.start
            for sums, value in zip(found, values, strict=True):
                sums[there] = np.bincount(key, value, count + 1)[:count]
        return found

    def calibrated(self, parts: Patterns) -> Float64s:
        """Return the calibrated score that each entry would have outside some segments, which divide the entries."""
        stats = self.stats
        e = calibration_elsewhere(stats, self._ranges, Patterns(parts.number[self._at], parts.members))
        return np.asarray(np.bincount(self._at, stats.w * e, len(self.w)) / self.w)

    def members_of(self, candidate: int) -> Array:
        """Return which entries belong to a candidate."""
        inside = np.ones(len(self.n), bool)
        for column, level in self.levels[candidate]:
            inside &= self.codes[column] == level
        return inside


class Division(NamedTuple):
    """The candidates that combine the same columns.

    Attributes
    ----------
    there : slice
        Their place among all candidates.
    number : ndarray of int
        The number of each entry's candidate among these; one more than the last for an entry of no candidate.
    """

    there: slice
    number: Ints


def renumbered(key: Int64s, span: int) -> tuple[Array, Array]:
    """Return the number of each key among the distinct ones, in ascending order, and the place of one key of each."""
    if span <= SPARSE_KEYS * len(key):
        number = np.cumsum(np.bincount(key, minlength=span) > 0, dtype=np.int32)[key] - 1
    else:
        number = np.unique(key, return_inverse=True)[1].astype(np.int32)
    place = np.empty(int(number.max()) + 1, np.int64)
    place[number] = np.arange(len(key))
    return number, place


def with_unit_weights(stats: SegmentStats) -> SegmentStats:
    """Return the statistic with weights in such a unit that their sum is the effective number of rows."""
    if not stats.weighted:
        return stats
    unit = float(stats.w2.sum() / stats.w.sum())
    return replace(stats, w=stats.w / unit, wp=stats.wp / unit, wy=stats.wy / unit, w2=stats.w2 / unit**2)


def ranges_of_scores(stats: SegmentStats) -> Ints:
    """Return the range of each cell: neighbouring cells together have enough events and non-events.

    Rows of different weight count as fewer. Scores of exactly 0 or 1 are a range of their own if they were ever wrong:
    their logits say nothing about how often.
    """
    size = len(stats.grid)
    rows, events, w, w2 = (np.bincount(stats.cell, getattr(stats, name), size) for name in ("n", "ny", "w", "w2"))
    others = rows - events
    enough = max(float(rows.sum()) / MOST_RANGES, 1.0)
    first, last = int(events[0] > 0), size - int(others[-1] > 0)
    made, current = np.zeros(size, np.int64), 0
    total = np.zeros(5)
    there = np.flatnonzero(rows)
    for cell in there[(there >= first) & (there < last)].tolist():
        made[cell] = current
        total += (rows[cell], events[cell], others[cell], w[cell], w2[cell])
        if (
            total[0] >= enough
            and min(total[1:3]) >= EVENTS_PER_RANGE
            and total[3] ** 2 >= 2 * EVENTS_PER_RANGE * total[4]
        ):
            current += 1
            total[:] = 0
    if current:  # what is left over belongs to the last range that is full
        made[made == current] = current - 1
    made[:first], made[last:] = -1, current + 1
    made[there] = np.unique(made[there], return_inverse=True)[1]
    return np.maximum(made, 0)


class Patterns(NamedTuple):
    """The parts into which segments, which may overlap, divide entries.

    Attributes
    ----------
    number : ndarray of int64
        The part of each entry.
    members : ndarray of bool, shape (segments, parts)
        Which parts belong to each segment.
    """

    number: Int64s
    members: Array

    @classmethod
    def none(cls, n: int) -> Patterns:
        """Return the single part that all entries are without segments."""
        return cls(np.zeros(n, np.int64), np.zeros((0, 1), bool))

    def split(self, inside: Array) -> Patterns:
        """Return the parts with one more segment."""
        key = 2 * self.number + inside
        number, place = renumbered(key, 2 * self.members.shape[1])
        distinct = key[place]
        members = np.vstack([self.members[:, distinct // 2], distinct % 2 == 1])
        return Patterns(number.astype(np.int64), members)


def calibration_elsewhere(stats: SegmentStats, ranges: Ints, parts: Patterns) -> Float64s:
    """Return the calibrated score that each entry would have outside the segments.

    Calibration adds to logits a number for each range of scores, and has one slope within all ranges. A segment has an
    intercept, and a slope that multiplies the calibrated logit.
    """
    n_parts = parts.members.shape[1]
    key = stats.cell * n_parts + parts.number
    at, first = renumbered(key, len(stats.grid) * n_parts)
    w, wy, wp = np.array([np.bincount(at, getattr(stats, name)) for name in ("w", "wy", "wp")], np.float64)
    cell, part = np.divmod(key[first], n_parts)
    place, members, z = ranges[cell], parts.members[:, part].astype(np.float64), _logit(wp / w)
    middle = np.bincount(place, w * z) / np.maximum(np.bincount(place, w), 1e-300)
    dummies = (place[:, None] == np.arange(int(ranges.max()) + 1)).astype(np.float64)
    common = np.column_stack([dummies, z - middle[place]])
    n_ranges, n_segments = dummies.shape[1], len(members)
    ridge = np.repeat([RIDGE, RIDGE_OF_SLOPES, RIDGE, RIDGE_OF_SLOPES], [n_ranges, 1, n_segments, n_segments])
    *numbers, slope = fit_sloped_logistic(common, z, members, w, wy, ridge).shared.tolist()
    own, own_range = _logit(stats.wp / stats.w), ranges[stats.cell]
    return _kernels.sigmoid(_bounded(own + np.array(numbers)[own_range] + slope * (own - middle[own_range])))


def _logit(p: Float64s) -> Float64s:
    return _bounded(np.log(np.maximum(p, 1e-300)) - np.log(np.maximum(1 - p, 1e-300)))


def _bounded(logit: Float64s) -> Float64s:
    return np.clip(logit, -FURTHEST_LOGIT, FURTHEST_LOGIT)


FURTHEST_LOGIT = 30.0


# --- testing all candidates at once -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Accepted:
    """A segment in the model: its candidate, and which entries belong to it."""

    candidate: int
    members: Array


@dataclass(slots=True)
class Evidence:
    """How sure a segment is: its two tests, given the other segments."""

    shift: BothTails
    slope: BothTails

    @property
    def by_slope(self) -> bool:
        return self.slope.log_p < self.shift.log_p

    @property
    def log_p(self) -> float:
        """Logarithm of the p-value of both tests together."""
        return min(min(self.shift.log_p, self.slope.log_p) + math.log(2), 0.0)

    @classmethod
    def of(cls, strata: Strata, segment: int) -> Evidence:
        """Test one of the segments of the model, given the others."""
        return cls(shift_test(strata, segment), slope_test(strata, segment))


class Model:
    """Accepted segments of one statistic."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self.accepted: list[Accepted] = []
        self._divide(Patterns.none(len(entries.n)))

    def _divide(self, parts: Patterns) -> None:
        """Remember the parts that the accepted segments make, and the calibration elsewhere."""
        self._parts = parts
        self.e = self.entries.calibrated(parts)
        self.z = np.log(self.e) - np.log1p(-self.e)

    def accept(self, candidate: int) -> Accepted:
        """Add a candidate to the model."""
        one = Accepted(candidate, self.entries.members_of(candidate))
        self.accepted.append(one)
        self._divide(self._parts.split(one.members))
        return one

    def drop(self, accepted: Accepted) -> None:
        """Remove a segment from the model."""
        self.accepted.remove(accepted)
        parts = Patterns.none(len(self.entries.n))
        for one in self.accepted:
            parts = parts.split(one.members)
        self._divide(parts)

    def strata(self, candidate: int | None = None) -> Strata:
        """Return the strata of the accepted segments and, as the last of them, of a candidate."""
        table, parts = self.entries, self._parts
        if candidate is not None:
            parts = parts.split(table.members_of(candidate))
        return Strata.of(table.range, parts.number, self.e, table.w, table.wy, table.w2, parts.members)

    def evidence(self, candidate: int) -> Evidence:
        """Test a candidate, given the accepted segments."""
        return Evidence.of(self.strata(candidate), len(self.accepted))

    def approximate(self) -> Float64s:
        """Return the logarithm of the approximate p-value of every candidate, given the accepted segments.

        Variances are those of the score tests, but tails are those of Pearson's type III distribution, and all tests
        are made where the candidate has no intercept.
        """
        table = self.entries
        eta, inverse, centres = self._fit()
        e = _kernels.sigmoid(eta)
        residual, information = table.wy - table.w * e, table.w * e * (1 - e)
        everywhere = slice(None)
        leaning = information * (1 - 2 * e)
        i, ix, third = table.by_range(information, information * self.z, leaning)
        r, rx, ixx = table.by_candidate(everywhere, residual, residual * self.z, information * self.z**2)
        of_range, third_of_range = (
            np.bincount(table.range, values, table.n_ranges) for values in (information, leaning)
        )
        total = np.maximum(i.sum(axis=1), 1e-300)
        centre = ix.sum(axis=1) / total
        shared, sloped = [i], [ix - centre[:, None] * i]
        for one, middle in zip(self.accepted, centres, strict=True):
            here = np.flatnonzero(one.members)
            sums, times, twice = table.by_candidate(here, *((information * self.z**power)[here] for power in range(3)))
            shared += [sums[:, None], (times - middle * sums)[:, None]]
            own = times - centre * sums
            sloped += [own[:, None], (twice - centre * times - middle * own)[:, None]]
        factor = np.ones(len(total))
        if table.stats.weighted:
            factor = table.by_candidate(everywhere, information * table.w2 / table.w)[0] / total
        share = i / np.maximum(of_range, 1e-300)
        x = np.divide(ix, i, out=np.zeros_like(i), where=i > 0) - centre[:, None]
        x[i <= 0] = 0
        found = []
        for design, score, own, lever in (
            (np.hstack(shared), r, total, np.ones_like(x)),
            (np.hstack(sloped), rx - centre * r, ixx - centre**2 * total, x),
        ):
            variance = own - np.einsum("ij,jk,ik->i", design, inverse, design, optimize=True)
            known = variance > NO_VARIATION * np.maximum(own, 1e-300)
            deviation = np.sqrt(np.where(known, variance * factor, 1.0))
            skew = third * (1 - share) ** 3 - (third_of_range - third) * share**3
            gamma = (skew * lever**3).sum(axis=1) * factor**2 / deviation**3
            found.append(log_two_sided(np.where(known, score / deviation, 0.0), np.where(known, gamma, 0.0)))
        log_p = np.asarray(np.minimum(np.minimum(*found) + math.log(2), 0.0), np.float64)
        log_p[[one.candidate for one in self.accepted]] = 0.0
        return log_p

    def _fit(self) -> tuple[Float64s, Float64s, list[float]]:
        """Return the linear predictor of every entry, the inverse of the information, and the centres of slopes."""
        table, strata = self.entries, self.strata()
        design = strata.whole()
        fit: Fitted = fitted(strata, design)
        e = _kernels.sigmoid(fit.eta)
        information = (design.x * (strata.w * e * (1 - e))[:, None]).T @ design.x
        information[np.diag_indices(len(information))] += design.ridge
        centres = [strata.centre(k) for k in range(len(self.accepted))]
        eta = self.z + fit.values[: table.n_ranges][table.range]
        effects = fit.values[table.n_ranges :].reshape(-1, 2)
        for one, middle, (intercept, slope) in zip(self.accepted, centres, effects, strict=True):
            eta[one.members] += intercept + slope * (self.z[one.members] - middle)
        return eta, np.asarray(np.linalg.inv(information), np.float64), centres


def log_two_sided(standard: Float64s, skewness: Float64s) -> Float64s:
    """Return the logarithm of twice the tail beyond a standard score, of Pearson's type III of a given skewness."""
    from scipy.special import gammainc, gammaincc, log_ndtr

    beyond, lean = np.abs(standard), np.sign(standard) * skewness
    log_tail = log_ndtr(-beyond)
    skewed = np.flatnonzero((np.abs(lean) > ALMOST_SYMMETRIC) & (beyond > 0))
    if len(skewed):
        k, x = 4 / lean[skewed] ** 2, beyond[skewed]
        tail = np.where(
            lean[skewed] > 0, gammaincc(k, k + x * np.sqrt(k)), gammainc(k, np.maximum(k - x * np.sqrt(k), 0))
        )
        with np.errstate(divide="ignore"):
            made = np.log(tail)
        log_tail[skewed] = np.where(np.isfinite(made), made, log_tail[skewed])
    return np.asarray(np.minimum(log_tail + np.log(2), 0.0))


# --- the search -------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Found:
    """A segment that was found: its model, its place among the accepted, and its evidence given all others."""

    model: Model
    accepted: Accepted
    evidence: Evidence
    adjusted: float = field(default=1.0)

    @property
    def place(self) -> int:
        """The number of the segment in the model."""
        return [one is self.accepted for one in self.model.accepted].index(True)


def search(tables: Sequence[Entries], rate: float, most: int = MOST_FOUND) -> list[Found]:
    """Accept segments, surest first, as long as false discoveries are expected to stay below a rate."""
    models = [Model(one) for one in tables if len(one)]
    searched = sum(len(one) for one in tables)
    if not searched:
        return []
    found: list[Found] = []
    best = [surest(model, math.log(rate / searched)) for model in models]
    while len(found) < min(most, searched):
        enough = math.log(rate * (len(found) + 1) / searched)
        which = min(range(len(models)), key=lambda i: best[i].log_p)
        candidate, evidence = best[which]
        if evidence is None or evidence.log_p > enough:
            break
        found.append(Found(models[which], models[which].accept(candidate), evidence))
        for i in range(len(models)):  # what was not sure enough before may be so now
            if i == which or best[i].log_p > enough:
                best[i] = surest(models[i], math.log(rate * (len(found) + 1) / searched))
    return still_sure(found, searched, rate)


class Surest(NamedTuple):
    """A candidate with its evidence; None if nothing is close to sure."""

    candidate: int
    evidence: Evidence | None

    @property
    def log_p(self) -> float:
        return 0.0 if self.evidence is None else self.evidence.log_p


def surest(model: Model, enough: float) -> Surest:
    """Return the surest candidate, if its p-value may be below a limit."""
    approximate = model.approximate()
    best = Surest(-1, None)
    for candidate in np.argsort(approximate, kind="stable").tolist():
        if approximate[candidate] > enough + DOUBT or approximate[candidate] > best.log_p:
            break
        found = Surest(candidate, model.evidence(candidate))
        best = min(best, found, key=lambda one: one.log_p)
    return best if best.evidence is None else _worse_of_two(model, best, enough)


def _worse_of_two(model: Model, best: Surest, enough: float) -> Surest:
    """Return, of a column with two levels, the level whose scores are worse: both differ from the other as surely.

    A level that is not sure enough does not take the place of one that is.
    """
    entries = model.entries
    levels = entries.levels[best.candidate]
    if len(levels) > 1 or entries.stats.sizes[levels[0][0]] != 2:
        return best
    ((column, level),) = levels
    other = ((column, 1 - level),)
    if other not in entries.levels:
        return best
    rival = Surest(entries.levels.index(other), None)
    rival = Surest(rival.candidate, model.evidence(rival.candidate))
    if rival.log_p > max(PART_OF_A_LEVEL * best.log_p, enough):
        return best
    return max((best, rival), key=lambda one: _raw_gap(entries, one.candidate))


def _raw_gap(entries: Entries, candidate: int) -> float:
    inside = entries.members_of(candidate)
    w, wp, wy = (float(values[inside].sum()) for values in (entries.w, entries.wp, entries.wy))
    return abs(wy - wp) / w


def strata_of(found: Sequence[Found]) -> dict[int, Strata]:
    """Return the strata of each model that has some of these segments, by its `id`."""
    return {number: model.strata() for number, model in {id(one.model): one.model for one in found}.items()}


def still_sure(found: list[Found], searched: int, rate: float) -> list[Found]:
    """Return the segments that are sure given all others, surest first: some explain what came before them."""
    kept = list(found)
    while kept:
        strata = strata_of(kept)
        for one in kept:
            one.evidence = Evidence.of(strata[id(one.model)], one.place)
        worst = max(kept, key=lambda one: one.evidence.log_p)
        if worst.evidence.log_p <= math.log(rate * len(kept) / searched):
            break
        kept.remove(worst)
        worst.model.drop(worst.accepted)
    kept.sort(key=lambda one: one.evidence.log_p)
    least = 1.0
    for rank in range(len(kept), 0, -1):
        least = min(least, float(np.exp(min(kept[rank - 1].evidence.log_p + np.log(searched / rank), 0.0))))
        kept[rank - 1].adjusted = least
    return kept
