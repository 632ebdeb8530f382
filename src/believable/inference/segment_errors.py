"""The worst and the mean calibration error over segments, with intervals and noise floors."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Float64s, Int64s, Ints
from believable.binning import Edges
from believable.curves.binned import wilson_ends
from believable.errors import UndefinedError
from believable.inference.null import batches, resampling_p_value
from believable.inference.segment_rows import (
    MOST_COLUMNS_COMBINED,
    Part,
    SegmentRows,
    check_min_rows,
    drawn_events,
    in_words,
    refuse_no_columns,
)
from believable.stats.levels import MAX_LEVELS, N_RANGES
from believable.stats.segments import mixed

SegmentMetric = Literal["expected_calibration_error", "average_difference"]

FEWEST_ROWS = 30
MOST_LEVELS = 10_000
ROWS_SHOWN = 10
LARGEST_SHIFT = 40.0  # in standard errors; beyond a few, noise adds nothing to the mean of an absolute value
FEW_ROWS = 5  # effective rows of a segment, below which an error is no sum of many and is bounded by Wilson's limits
FAR_LESS = 0.25  # of the variance of outcomes; scores with less are near 0 or 1
ROUNDING = 1e-12  # the mean of scores that are all 0.3 may be 0.30000000000000004, in the next bin
TAIL_OF_FLOOR = 0.1  # errors below this quantile of the noise floor are raised to it


@dataclass(frozen=True, slots=True)
class ErrorOfSegments:
    """The worst or the mean error over segments, with what a calibrated model would show.

    Attributes
    ----------
    value : float
        The error of these rows; noise makes it larger than the true one.
    low, high : float
        Interval of the true error.
    floor, q95 : float
        Mean and 95th percentile of the value under perfect calibration.
    p_value : float
        Probability of a value at least as large under perfect calibration.
    """

    value: float
    low: float
    high: float
    floor: float
    q95: float
    p_value: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"{self.value:.4g} ({self.low:.4g} … {self.high:.4g}); a calibrated model would show about "
            f"{self.floor:.4g} (95th percentile {self.q95:.4g}), p = {self.p_value:.2g}"
        )


@dataclass(frozen=True, slots=True)
class SegmentError:
    """The calibration error of a segment.

    Attributes
    ----------
    where : dict of str to str
        The level of each column that its rows share.
    n : int
        Number of rows.
    mean_score, rate : float
        Average prediction and observed rate.
    error : float
        The error of its rows.
    floor : float
        Mean of the error under perfect calibration.
    low, high : float
        Ends of the true error. The lower ends of all segments hold together; each upper end holds by itself.
    """

    where: dict[str, str]
    n: int
    mean_score: float
    rate: float
    error: float
    floor: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """The segment in words, such as "site = north and age = up to 30"."""
        return in_words(self.where)


@dataclass(frozen=True, slots=True, repr=False)
class SegmentErrors:
    """Calibration errors of all segments, and the worst and the mean of them.

    Attributes
    ----------
    worst, mean, unweighted : ErrorOfSegments
        The largest error, the mean by numbers of rows, and the mean in which every segment counts the same.
    segments : tuple of SegmentError
        The segments, largest error first.
    metric : str
        Name of the error.
    columns : tuple of str
        The columns of segments.
    level : float
        Confidence level of the intervals.
    min_rows : int
        The fewest rows of a segment.
    left_out : int
        How many segments have fewer rows than that.
    n : int
        Number of rows.
    notes : tuple of str
        A sentence about each column that was cut into ranges, combined or left out.
    """

    worst: ErrorOfSegments
    mean: ErrorOfSegments
    unweighted: ErrorOfSegments
    segments: tuple[SegmentError, ...]
    metric: str
    columns: tuple[str, ...]
    level: float
    min_rows: int
    left_out: int
    n: int
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.worst.value

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the segments as columns by name, for a data frame."""
        names = ("name", "n", "mean_score", "rate", "error", "floor", "low", "high")
        return {name: [getattr(one, name) for one in self.segments] for name in names}

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the segments as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def __str__(self) -> str:
        shown = self.segments[:ROWS_SHOWN]
        width = max(len(one.name) for one in shown)
        rest = f"; {self.left_out:,} with fewer rows are left out" if self.left_out else ""
        lines = [
            f"{self.metric} over {len(self.segments):,} segments of at least {self.min_rows:,} rows{rest}; "
            f"{100 * self.level:.4g} % intervals",
            f"worst       {self.worst}",
            f"mean        {self.mean}",
            f"unweighted  {self.unweighted}",
            f"{'':<{width}} {'rows':>9} {'predicted':>9} {'observed':>8} {'error':>8} {'noise floor':>11}  interval",
        ]
        lines += [
            f"{one.name:<{width}} {one.n:>9,} {one.mean_score:>9.4f} {one.rate:>8.4f} {one.error:>8.4f} "
            f"{one.floor:>11.4f}  {one.low:.4f} … {one.high:.4f}"
            for one in shown
        ]
        if len(self.segments) > len(shown):
            lines.append(f"and {len(self.segments) - len(shown):,} more segments")
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def segment_errors(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    *,
    metric: SegmentMetric = "expected_calibration_error",
    n_bins: int = 10,
    depth: int = 1,
    min_rows: int = FEWEST_ROWS,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> SegmentErrors:
    """Compute the worst and the mean calibration error over all segments, with intervals and noise floors.

    The largest of many noisy errors is large even if the scores are calibrated: the noise floor says how large. The
    interval is that of the true error: the largest, or the mean, of the segments' errors with outcomes replaced by
    their probabilities.

    Parameters
    ----------
    predictions, actuals
        Arrays or a `Predictions`; or a `SegmentStats`. Of a matrix, the probability of the predicted class counts.
    by : data frame, mapping of names to columns, or one column
        The columns of segments. Numbers with more than 12 distinct values are cut into ranges of equally many rows, and
        missing values are a level. A column without segments is left out, with a sentence in `notes`. For a statistic,
        the names of some of its columns; all of them by default.
    metric : {"expected_calibration_error", "average_difference"}
        The error of a segment: the ECE in bins of equal width, or ``|observed rate - average prediction|``.
    n_bins : int
        Number of bins of the ECE. From a `SegmentStats`, a cell belongs to the bin of its mean score.
    depth : int
        The most columns that a segment combines.
    min_rows : int
        The fewest rows of a segment.
    max_levels, n_ranges : int
        The most levels of a column (the rarest are combined), and the number of ranges of a quantity.
    level : float
        Confidence level of the intervals.
    n_resamples : int
        Number of sets of labels drawn.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    SegmentErrors
        With `worst`, `mean`, `unweighted` and `segments`; `float` of it is the worst error.

    Notes
    -----
    The error of a segment is ``sum_b W_b/W |rate_b - mean score_b|``, over bins b, or over one bin.

    **Noise floor**: labels are drawn from the scores, and all errors are computed again. So the floor of the worst
    error allows for the number of segments, and for how they overlap.

    **Lower end**: an error is larger than the true one by no more than the error of the noise alone, by the triangle
    inequality. The noise of the draws, made as large as the residuals where these are larger, gives lower ends for all
    segments that hold together (with one quantile of the largest studentised deviation). That of the worst error is the
    largest of them. For scores near 0 and 1, which may be wrong without varying in the draws, noise is drawn from the
    observed rates instead.

    **Upper end**: a segment's error exceeds the true one on average, and by least if the true gaps are proportional to
    their standard errors. The upper end is the true error whose mean in this case is the observed one plus z standard
    errors (those of Wilson's interval; an observed error below the 10 % quantile of the noise floor is raised to it).
    With fewer than 5 effective rows, W^2 / sum w^2, it is no less than Wilson's limits allow. That of the worst error
    is the largest upper end of any segment, since the segment that is truly worst is one of them. A small segment may
    be bad without showing it: with many of them, the interval is wide, and says so.

    Rows are treated as independent.

    References
    ----------
    Bröcker, Smith (2007), Weather and Forecasting, for the noise floor. Wilson (1927), JASA.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(6000), rng.choice(["north", "south", "east"], 6000)
    >>> y = rng.random(6000) < np.where(site == "south", 0.8 * p, p)
    >>> found = segment_errors(p, y, {"site": site}, metric="average_difference", random_state=0)
    >>> found.segments[0].name, found.worst.p_value < 0.01
    ('site = south', True)
    """
    _check.choice(metric, get_args(SegmentMetric), "metric")
    n_bins = _check.positive_integer(n_bins, "n_bins")
    depth = _check.positive_integer(depth, "depth", 1, MOST_COLUMNS_COMBINED)
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
    rng = generator(random_state)
    choices = {
        "max_levels": _check.positive_integer(max_levels, "max_levels", 2, MOST_LEVELS),
        "n_ranges": _check.positive_integer(n_ranges, "n_ranges", 2, MOST_LEVELS),
    }
    table = SegmentRows.of(predictions, actuals, by, sample_weight, **choices)
    refuse_no_columns(table)
    min_rows = check_min_rows(min_rows, table.rows)
    bins = np.zeros(len(table.n), np.int64)
    if metric == "expected_calibration_error":
        score = table.score * (1 - ROUNDING) if table.from_cells else table.score
        bins = np.asarray(Edges.uniform(n_bins, score.dtype).index(score))
    gaps = _Gaps.of(table, bins, depth, min_rows)
    chance = _draw(gaps, n_resamples, level, rng)
    error = gaps.of_segments(np.abs(gaps.gap))
    low = _lower_ends(error, chance.noise, level)
    upper = _Upper.of(gaps, error, chance.calibrated, level)
    rows = gaps.rows / gaps.rows.sum()
    same = np.full(len(rows), 1 / len(rows))
    worst = _summary(float(error.max()), chance.calibrated.max(axis=1), float(low.max()), float(upper.ends().max()))
    mean, unweighted = (
        _summary(
            float(share @ error),
            chance.calibrated @ share,
            float(share @ error) - _quantile(chance.noise @ share, (1 + level) / 2),
            upper.end_of_mean(share, float(share @ error), chance.calibrated @ share),
        )
        for share in (rows, same)
    )
    return SegmentErrors(
        worst=worst,
        mean=mean,
        unweighted=unweighted,
        segments=_segments(table, gaps, error, chance.calibrated.mean(axis=0), low, upper.ends()),
        metric=metric,
        columns=tuple(one.column for one in table.columns),
        level=level,
        min_rows=min_rows,
        left_out=gaps.left_out,
        n=table.rows,
        notes=table.notes,
    )


def _summary(value: float, calibrated: Float64s, low: float, high: float) -> ErrorOfSegments:
    low = min(max(low, 0.0), 1.0)
    floor, q95 = float(calibrated.mean()), _quantile(calibrated, 0.95)
    return ErrorOfSegments(value, low, min(max(high, low), 1.0), floor, q95, resampling_p_value(value, calibrated))


def _quantile(values: Float64s, share: float) -> float:
    return float(np.quantile(values, share, method="higher"))


# --- gaps by segment and bin ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Gaps:
    """Sums by segment and bin, where there are rows, in order of segments; and how entries add up to them.

    Attributes
    ----------
    begin : ndarray
        Number of the first sum of each segment.
    part : ndarray
        Which division by columns each segment belongs to.
    rows, weight : ndarray
        Number and weight of the rows of each segment.
    named : list of (Part, int)
        The division and the number in it, of each segment.
    w, wp, wy, w2, variance, squares, drawn : ndarray
        Sums by segment and bin; the last three are those of w^2 p (1 - p), of w^2 (y - p)^2, and of the variances of
        the noise that is drawn.
    n, chance, spread : ndarray
        Of each entry, rows of one combination of levels and one bin with about equal weights and scores: rows, mean
        score, and the root of the mean squared weight.
    noisy, noisy_chance : ndarray
        Entries of a combination and a bin with far less variance than the outcomes in the bin: scores near 0 and 1 that
        may be wrong. Their noise is drawn from the observed rate of the bin instead.
    adds : sparse array of shape (entries, sums)
        Which entries belong to a sum.
    left_out : int
        Number of segments with too few rows.
    """

    begin: Ints
    part: Ints
    rows: Int64s
    weight: Float64s
    named: list[tuple[Part, int]]
    w: Float64s
    wp: Float64s
    wy: Float64s
    w2: Float64s
    variance: Float64s
    squares: Float64s
    drawn: Float64s
    n: Int64s
    chance: Float64s
    spread: Float64s
    noisy: Ints
    noisy_chance: Float64s
    adds: Any
    left_out: int

    @classmethod
    def of(cls, table: SegmentRows, bins: Ints, depth: int, min_rows: int) -> _Gaps:
        from scipy.sparse import csr_array

        parts = list(table.parts(depth, 1))
        n_bins = int(bins.max()) + 1
        cell, alike = table.part(tuple(range(len(table.columns)))).key * n_bins + bins, table.alike
        entry = mixed(np.stack([cell, alike]), [int(cell.max()) + 1, int(alike.max()) + 1])
        _, first, at = np.unique(entry, return_index=True, return_inverse=True)
        count, cell = len(first), cell[first]
        names = ("n", "w", "wp", "wy", "w2", "variance", "squares")
        entries: dict[str, Any] = {name: np.bincount(at, getattr(table, name), count) for name in names}
        n, w2 = entries["n"], entries["w2"]
        chance = np.clip(entries["wp"] / entries["w"], 0, 1)
        rate = _rates(table, bins)[bins[first]]
        observed = w2 * rate * (1 - rate)
        by_scores, by_rates = (np.bincount(cell, one)[cell] for one in (entries["variance"], observed))
        noisy = np.flatnonzero(by_scores < FAR_LESS * by_rates)
        entries["drawn"] = w2 * chance * (1 - chance)
        entries["drawn"][noisy] = observed[noisy]
        named: list[tuple[Part, int]] = []
        begin: list[Ints] = []
        rows: list[Ints] = []
        of_entry: list[Ints] = []
        to_sum: list[Ints] = []
        total = left_out = 0
        for part in parts:
            kept = np.flatnonzero(part.rows >= min_rows)
            left_out += len(part.rows) - len(kept)
            inside = np.flatnonzero((part.rows >= min_rows)[part.key[first]])
            segment_and_bin = part.key[first][inside] * n_bins + bins[first][inside]
            found, number = np.unique(segment_and_bin, return_inverse=True)
            of_entry.append(inside)
            to_sum.append(number + total)
            segment = found // n_bins
            begin.append(total + np.searchsorted(segment, kept))
            rows.append(part.rows[kept])
            named += [(part, int(i)) for i in kept]
            total += len(found)
        if not named:
            raise UndefinedError(f"no segment has {min_rows:,} rows: choose a smaller min_rows")
        of, to = np.concatenate(of_entry), np.concatenate(to_sum)
        adds = csr_array((np.ones(len(of)), (of, to)), shape=(count, total))
        sums = {name: np.asarray(entries[name] @ adds) for name in (*names[1:], "drawn")}
        starts = np.concatenate(begin)
        return cls(
            begin=starts,
            part=np.repeat(np.arange(len(rows)), [len(one) for one in rows]),
            rows=np.concatenate(rows),
            weight=np.add.reduceat(sums["w"], starts),
            named=named,
            **sums,
            n=n.astype(np.int64),
            chance=chance,
            spread=np.sqrt(w2 / n),
            noisy=noisy,
            noisy_chance=rate[noisy],
            adds=adds,
            left_out=left_out,
        )

    @property
    def gap(self) -> Float64s:
        """Sum of w (y - p) by segment and bin."""
        return self.wy - self.wp

    @property
    def share(self) -> Float64s:
        """Share of each sum in the weight of its segment."""
        return self.w / np.repeat(self.weight, np.diff(np.append(self.begin, len(self.w))))

    @property
    def residual_variance(self) -> Float64s:
        """Sum of w^2 times the squared deviation of residuals from their mean."""
        return np.maximum(self.squares - (self.gap / self.w) ** 2 * self.w2, 0)

    def of_segments(self, values: Float64s) -> Float64s:
        """Return the sums over the bins of each segment, along the last axis, divided by its weight."""
        return np.asarray(np.add.reduceat(values, self.begin, axis=-1) / self.weight)


# --- chance -----------------------------------------------------------------------------------------------------------


class _Chance(NamedTuple):
    """Errors of every segment in every draw: under calibration, and of the noise, as large as the residuals."""

    calibrated: Float64s
    noise: Float64s


def _draw(gaps: _Gaps, n_resamples: int, level: float, rng: np.random.Generator) -> _Chance:
    scale = np.sqrt(_largest_variance(gaps, level) / gaps.drawn)
    parts = []
    for size in batches(n_resamples, max(gaps.adds.shape)):
        excess = (drawn_events(gaps.n, gaps.chance, size, rng) - gaps.n * gaps.chance) * gaps.spread
        calibrated = noise = np.abs(excess @ gaps.adds)
        if len(gaps.noisy):
            n, chance = gaps.n[gaps.noisy], gaps.noisy_chance
            excess[:, gaps.noisy] = (drawn_events(n, chance, size, rng) - n * chance) * gaps.spread[gaps.noisy]
            noise = np.abs(excess @ gaps.adds)
        parts.append((gaps.of_segments(calibrated), gaps.of_segments(noise * scale)))
    return _Chance(*(np.concatenate(one) for one in zip(*parts, strict=True)))


def _largest_variance(gaps: _Gaps, level: float) -> Float64s:
    """Return the variance of each sum: that of the scores, of the residuals, or of Wilson's limit, if it is larger.

    The limit matters where no residual varies, though the next one may: scores of 1, and no event.
    """
    z = -NormalDist().inv_cdf((1 - level) / 2)
    rate, conf, low, high = _limits(gaps, z)
    towards = np.where(conf > rate, high - rate, rate - low)
    return np.asarray(np.maximum(np.maximum(gaps.variance, gaps.residual_variance), (gaps.w * towards / z) ** 2))


def _limits(gaps: _Gaps, z: float) -> tuple[Float64s, Float64s, Float64s, Float64s]:
    """Return rate and mean score of each sum, and Wilson's limits of the rate, with the variance of the rows."""
    rate, conf = np.clip(gaps.wy / gaps.w, 0, 1), gaps.wp / gaps.w
    variance = np.maximum(gaps.variance, gaps.residual_variance) / gaps.w**2
    rows = gaps.w**2 / gaps.w2
    spread = rate * (1 - rate)
    rows = np.maximum(np.divide(spread, variance, out=rows.copy(), where=(variance > 0) & (spread > 0)), rows)
    return rate, conf, *wilson_ends(rate, rows, z)


def _rates(table: SegmentRows, bins: Ints) -> Float64s:
    """Return the observed rate of each bin, with half an event and half a non-event of an average row."""
    w, wy, w2 = (np.bincount(bins, one) for one in (table.w, table.wy, table.w2))
    row = np.divide(w2, w, out=np.ones(len(w)), where=w > 0)
    return np.asarray((wy + row / 2) / (w + row))


# --- ends of intervals ------------------------------------------------------------------------------------------------


def _lower_ends(error: Float64s, noise: Float64s, level: float) -> Float64s:
    """Return lower ends of the true errors that hold together, from the largest studentised error of the noise."""
    mean, deviation = noise.mean(axis=0), noise.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    furthest = _quantile(((noise - mean) / scale).max(axis=1), (1 + level) / 2)
    return np.asarray(np.maximum(error - mean - furthest * deviation, 0))


_SHIFTS = np.linspace(0, LARGEST_SHIFT, 8001)


def _mean_size(shift: Float64s) -> Float64s:
    """Return the mean of |shift + Z|, for Z with a standard normal distribution."""
    from scipy.special import ndtr

    return np.asarray(shift * (2 * ndtr(shift) - 1) + np.sqrt(2 / pi) * np.exp(-(shift**2) / 2))


def _largest_true(shown: Float64s, chance: Float64s) -> Float64s:
    """Return the largest true error that shows this one on average, if calibrated scores show `chance`."""
    scale = np.maximum(chance, 1e-300) / sqrt(2 / pi)
    found = np.interp(shown / scale, _mean_size(_SHIFTS), _SHIFTS) * scale
    return np.asarray(np.where(shown / scale < LARGEST_SHIFT, found, shown))


@dataclass(frozen=True, slots=True, eq=False)
class _Upper:
    """What upper ends are made of: observed errors, their standard errors, least ends, and what chance would show."""

    gaps: _Gaps
    error: Float64s
    deviation: Float64s
    least: Float64s
    calibrated: Float64s
    z: float

    @classmethod
    def of(cls, gaps: _Gaps, error: Float64s, calibrated: Float64s, level: float) -> _Upper:
        """Add the standard errors of bins, those by which Wilson's limits are further away, to those of segments."""
        z = -NormalDist().inv_cdf((1 - level) / 2)
        rate, conf, low, high = _limits(gaps, z)
        furthest = np.maximum(np.abs(high - conf), np.abs(conf - low))
        deviation = np.maximum(furthest - np.abs(rate - conf), 0) / z
        few = gaps.weight**2 / np.add.reduceat(gaps.w2, gaps.begin) < FEW_ROWS
        least = np.where(few, np.add.reduceat(gaps.share * furthest, gaps.begin), 0)
        of_segments = np.sqrt(np.add.reduceat((gaps.share * deviation) ** 2, gaps.begin))
        return cls(gaps, error, of_segments, least, calibrated, z)

    def ends(self) -> Float64s:
        """Return the upper end of each segment."""
        by_chance = np.quantile(self.calibrated, TAIL_OF_FLOOR, axis=0)
        shown = np.maximum(self.error, by_chance) + self.z * self.deviation
        largest = _largest_true(shown, self.calibrated.mean(axis=0))
        return np.minimum(np.maximum(largest, self.least), 1)

    def end_of_mean(self, share: Float64s, value: float, calibrated: Float64s) -> float:
        """Return the upper end of a mean over segments; those of different columns may be wrong together."""
        squares = np.bincount(self.gaps.part, (share * self.deviation) ** 2)
        shown = max(value, float(np.quantile(calibrated, TAIL_OF_FLOOR))) + self.z * float(np.sqrt(squares).sum())
        return float(_largest_true(np.array(shown), np.array(calibrated.mean())))


def _segments(
    table: SegmentRows, gaps: _Gaps, error: Float64s, floor: Float64s, low: Float64s, high: Float64s
) -> tuple[SegmentError, ...]:
    wp, wy = gaps.of_segments(gaps.wp), gaps.of_segments(gaps.wy)
    columns = (gaps.rows, wp, wy, error, floor, low, np.maximum(high, low))
    numbers = [tuple(one) for one in np.column_stack([one.astype(np.float64) for one in columns]).tolist()]
    made = [
        SegmentError(table.where(part, i), int(n), *rest)
        for (part, i), (n, *rest) in zip(gaps.named, numbers, strict=True)
    ]
    return tuple(sorted(made, key=lambda one: -one.error))
