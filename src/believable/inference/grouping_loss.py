"""The grouping loss: how far probabilities differ among rows with the same score, as columns of the data show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Float64s, Int64s, Ints
from believable.errors import UndefinedError
from believable.inference.null import batches, resampling_p_value
from believable.inference.segment_rows import SegmentRows, check_min_rows, drawn_events, refuse_no_columns
from believable.stats.levels import MAX_LEVELS, N_RANGES
from believable.stats.segments import mixed

MOST_LEVELS = 10_000
REGIONS_PER_BIN = 20  # a bin has at least the rows of so many regions
FEWEST_BINS = 3  # in one or two bins, C may be far from a line, and regions would seem to differ
REGIONS_PER_BIN_OF_FEW = 4  # fewer than three bins are used only if these would have less
FEWEST_ROWS_OF_A_LINE = 4
LEAST_VARIANCE = 1e-6
TAIL_OF_FLOOR = 0.1  # values below this quantile of the draws are raised to it for the upper end
ROUNDING = 1e-9  # 1 / 0.1 + ... + 1 / 0.1 may be less than 100


@dataclass(frozen=True, slots=True, repr=False)
class GroupingLoss:
    """The grouping loss that the regions show, with what noise alone would show.

    Attributes
    ----------
    value : float
        The estimate: a lower bound of the grouping loss, on the scale of the Brier score. Noise may make it negative.
    low, high : float
        Interval of the variance between regions, without noise; not of the whole grouping loss, which may be larger.
    floor : tuple of float
        Between which values noise alone would lie, as often as `level` says; their mean is 0.
    p_value : float
        Probability of a value at least as large if no region differs from the others.
    explained, induced : float
        The two terms of the paper: the variance of the rates of regions in a bin, without noise, and the variance of
        calibrated scores in a bin. Their difference is the lower bound of the paper.
    calibration_loss : float
        Mean of (p - C)^2, without noise, which may make it negative.
    level : float
        Confidence level of the interval and of `floor`.
    n, n_bins, n_regions : int
        Number of rows, of bins of the score, and of regions, those of each bin counted separately.
    left_out : int
        Number of rows in bins that are too small.
    columns : tuple of str
        The columns of regions.
    min_rows : int
        The fewest rows of a region.
    notes : tuple of str
        A sentence about each column that was cut into ranges, combined or left out.
    """

    value: float
    low: float
    high: float
    floor: tuple[float, float]
    p_value: float
    explained: float
    induced: float
    calibration_loss: float
    level: float
    n: int
    n_bins: int
    n_regions: int
    left_out: int
    columns: tuple[str, ...]
    min_rows: int
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    @property
    def typical(self) -> float:
        """The root of the value: how far the probability of a region is from that of all rows with the same score."""
        return sqrt(max(self.value, 0))

    def __str__(self) -> str:
        left_out = f"; {self.left_out:,} rows in bins that are too small are left out" if self.left_out else ""
        return "\n".join(
            [
                f"grouping loss, lower bound {self.value:.4g} ({100 * self.level:.4g} % interval {self.low:.4g} … "
                f"{self.high:.4g}), p = {self.p_value:.2g}; noise alone would show {self.floor[0]:.2g} … "
                f"{self.floor[1]:.2g}",
                f"calibration loss {self.calibration_loss:.4g}; {self.n:,} rows, {self.n_regions:,} regions by "
                f"{', '.join(self.columns)} in {self.n_bins:,} bins of the score{left_out}",
                *self.notes,
            ]
        )

    __repr__ = __str__


def grouping_loss(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    *,
    n_bins: int = 15,
    min_rows: int = 10,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> GroupingLoss:
    """Estimate how much of the Brier score is lost because rows with the same score have different probabilities.

    Let Q be the probability of the event for a row, and C the rate of events among all rows with its score p. The mean
    of (p - Q)^2 is the calibration loss, the mean of (p - C)^2, plus the grouping loss, the mean of (Q - C)^2.
    Calibration maps of the score alone remove the first and leave the second. Columns that tell rows with the same
    score apart show a part of it, so what is estimated is a lower bound:

        sum_b W_b / W sum_r W_r / W_b (rate_r - C_r)^2 - noise,

    over the regions r of bins b, with the mean C_r of C over the rows of a region. A region is a combination of levels.

    Parameters
    ----------
    predictions, actuals
        Arrays or a `Predictions`; or a `SegmentStats`. Of a matrix, the probability of the predicted class counts. From
        a `SegmentStats`, noise is estimated as if the rows of a cell with the same levels had equal weights.
    by : data frame, mapping of names to columns, or one column
        The columns of regions, most important ones first: in a bin, a combination of levels with less than `min_rows`
        rows is joined with other such ones that differ in the last column, then in the last two, and so on. Numbers
        with more than 12 distinct values are cut into ranges of equally many rows, and missing values are a level. A
        column without segments is left out, with a sentence in `notes`. For a statistic, the names of some of its
        columns; all of them by default.
    n_bins : int
        The most bins of the score. They have equally many rows, as far as ties allow: at least 20 `min_rows`, or 4
        `min_rows` if there are no more than three bins.
    min_rows : int
        The fewest rows of a region; with weights, of the effective number W^2 / sum w^2.
    max_levels, n_ranges : int
        The most levels of a column (the rarest are combined), and the number of ranges of a quantity.
    level : float
        Confidence level of the interval.
    n_resamples : int
        Number of sets of labels drawn for `floor` and `p_value`.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    GroupingLoss
        With `value`, `low`, `high`, `floor`, `p_value`, `explained`, `induced` and `calibration_loss`; `float` of it is
        the value.

    Notes
    -----
    **C** is the line of least squares through the outcomes of a bin; from a `SegmentStats`, through those of its cells.
    In a bin of one cell, or of very few rows, it is parallel to the diagonal. The paper takes C as level, and the
    variance of the rates of regions is then too large by a part of the variance of C in the bin: the paper subtracts
    all of it. So its lower bound, `explained - induced`, is lower, unless all scores in a bin are equal; then the two
    are the same. The paper's regions are the leaves of a decision tree, grown on other rows; these are combinations of
    levels, chosen without regard to outcomes, so that no rows need to be kept aside.

    **Noise**: rate_r (1 - rate_r) / (n_r - 1) for each region, less rate_b (1 - rate_b) / (n_b - 1) for each bin; with
    the variance of residuals around the line, and around the means of regions, in place of rate (1 - rate). So the
    value is 0 on average if no region differs.

    **Floor and p-value**: labels are drawn from C.

    **Interval**: all variances between regions that make the value neither too large nor too small, if it is
    distributed like a multiple of a noncentral chi-square variable with the same mean and variance. The lower end is 0
    unless the p-value is below (1 - level) / 2. Rows are treated as independent.

    The Brier score is that of one event, (p - y)^2; where it is summed over both classes, as in the paper's code, all
    losses are twice as large.

    References
    ----------
    Perez-Lebel, Le Morvan, Varoquaux (2023), ICLR. Kull, Flach (2015), ECML PKDD, for the decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(20000), rng.choice(["north", "south"], 20000)
    >>> y = rng.random(20000) < np.where(site == "south", 0.9 * p, 0.9 * p + 0.1)
    >>> found = grouping_loss(p, y, {"site": site}, random_state=0)
    >>> found.low < 0.05**2 < found.high, found.p_value < 0.01
    (True, True)
    >>> round(found.typical, 2), round(found.calibration_loss, 3)
    (0.05, 0.001)
    """
    n_bins = _check.positive_integer(n_bins, "n_bins")
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
    rng = generator(random_state)
    choices = {
        "max_levels": _check.positive_integer(max_levels, "max_levels", 2, MOST_LEVELS),
        "n_ranges": _check.positive_integer(n_ranges, "n_ranges", 2, MOST_LEVELS),
    }
    table = SegmentRows.of(predictions, actuals, by, sample_weight, **choices)
    refuse_no_columns(table)
    min_rows = check_min_rows(min_rows, table.rows, 2)
    rows = float(table.w.sum() ** 2 / table.w2.sum())
    rows *= 1 + ROUNDING
    many, few = (int(rows / (regions * min_rows)) for regions in (REGIONS_PER_BIN, REGIONS_PER_BIN_OF_FEW))
    bins = table.ranges(min(n_bins, max(many, min(few, FEWEST_BINS), 1)))
    regions = _Regions.of(table, bins, min_rows)
    drawn = regions.draw(n_resamples, rng)
    value, tail = regions.value, (1 - level) / 2
    p_value = resampling_p_value(value, drawn)
    low, high = regions.ends(drawn, tail)
    return GroupingLoss(
        value=value,
        low=low if p_value <= tail else 0.0,
        high=high,
        floor=(float(np.quantile(drawn, tail)), float(np.quantile(drawn, 1 - tail))),
        p_value=p_value,
        explained=regions.explained,
        induced=regions.induced,
        calibration_loss=regions.calibration_loss,
        level=level,
        n=table.rows,
        n_bins=len(regions.weight),
        n_regions=len(regions.w),
        left_out=table.rows - int(regions.n.sum()),
        columns=tuple(one.column for one in table.columns),
        min_rows=min_rows,
        notes=table.notes,
    )


# --- regions ----------------------------------------------------------------------------------------------------------


def _regions(table: SegmentRows, bins: Ints, min_rows: int) -> Ints:
    """Return the region of each entry, numbered from 0; -1 for those of bins that are too small."""
    region = np.full(len(bins), -1)
    waiting, begin = np.arange(len(bins)), 0
    sizes = [len(one.names) for one in table.columns]
    for depth in range(len(sizes), -1, -1):
        codes = np.vstack([bins[waiting], table.codes[:depth, waiting]])
        _, number = np.unique(mixed(codes, [int(bins.max()) + 1, *sizes[:depth]]), return_inverse=True)
        rows = np.bincount(number, table.w[waiting]) ** 2 / np.bincount(number, table.w2[waiting])
        enough = rows >= (min_rows if depth else 2) * (1 - ROUNDING)
        kept = enough[number]
        region[waiting[kept]] = begin + (np.cumsum(enough, dtype=np.int64) - 1)[number[kept]]
        begin += int(np.count_nonzero(enough))
        waiting = waiting[~kept]
        if not len(waiting):
            break
    return region


def _of_cells(place: Ints, w: Float64s, score: Float64s) -> Float64s:
    """Return the mean score of the cell of each entry.

    Lines are fitted through these. Within a cell, the few mean scores of regions say nothing about the slope of C: a
    line through them would take all that regions differ by.
    """
    _, cell = np.unique(place, return_inverse=True)
    return np.asarray((np.bincount(cell, w * score) / np.bincount(cell, w))[cell])


@dataclass(frozen=True, slots=True, eq=False)
class _Regions:
    """Sums by region, and what is known of bins.

    Attributes
    ----------
    bin : ndarray
        The bin of each region.
    n, w : ndarray
        Number and weight of the rows of each region.
    gap : ndarray
        Mean residual of each region, around the line of its bin.
    noise : ndarray
        Variance of `gap`, from the residuals around it.
    chance, variance : ndarray
        Mean of C in each region, and the variance of its rate, if outcomes are drawn from C.
    weight : ndarray
        Weight of the rows of each bin.
    bin_noise : ndarray
        What the line of each bin takes from the noise of its regions: the variance of its rate, and of its slope as far
        as scores differ between regions.
    explained, induced, calibration_loss : float
        See `GroupingLoss`.
    """

    bin: Ints
    n: Int64s
    w: Float64s
    gap: Float64s
    noise: Float64s
    chance: Float64s
    variance: Float64s
    weight: Float64s
    bin_noise: Float64s
    explained: float
    induced: float
    calibration_loss: float

    @classmethod
    def of(cls, table: SegmentRows, bins: Ints, min_rows: int) -> _Regions:
        region = _regions(table, bins, min_rows)
        there = np.flatnonzero(region >= 0)
        region = region[there]
        n, w, wy, w2 = (getattr(table, name)[there] for name in ("n", "w", "wy", "w2"))
        score = table.score[there].astype(np.float64)
        _, bins = np.unique(bins[there], return_inverse=True)
        bin_of = np.empty(int(region.max(initial=-1)) + 1, np.int64)
        bin_of[region] = bins
        if len(bin_of) == int(bins.max(initial=-1)) + 1:
            raise UndefinedError(
                f"no two regions of {min_rows:,} rows have similar scores: choose a smaller min_rows, or fewer columns"
            )

        def by_region(values: Any) -> Float64s:
            return np.asarray(np.bincount(region, values), np.float64)

        def by_bin(values: Any) -> Float64s:
            return np.asarray(np.bincount(bins, values), np.float64)

        def squares(expected: Float64s) -> Float64s:
            """Return the sum of w^2 (y - expected)^2 of each entry."""
            return np.asarray(w2 / w * (wy * (1 - 2 * expected) + w * expected**2))

        weight, w_region = by_bin(w), by_region(w)
        rows, rows_region = weight**2 / by_bin(w2), w_region**2 / by_region(w2)
        rate, mean = by_bin(wy) / weight, by_bin(w * score) / weight
        cell_score = _of_cells(table.place[there], w, score) if table.from_cells else score
        # In standard deviations of the bin, so that no square of a small number is lost.
        deviation, apart = (
            np.sqrt(by_bin(w * (one - other) ** 2) / weight)
            for one, other in ((cell_score, mean[bins]), (score, cell_score))
        )
        line = (deviation > ROUNDING * mean + apart) & (rows >= FEWEST_ROWS_OF_A_LINE)
        unit = np.where(line, deviation, 1)
        place = np.where(line[bins], (cell_score - mean[bins]) / unit[bins], 0)
        slope = by_bin(wy * place) / weight
        rise = np.where(line, slope / unit, 1)[bins] * (score - mean[bins])
        fitted = rate[bins] + rise
        middle = by_region(w * (score - mean[bins])) / w_region * (line / unit)[bin_of]
        between = np.bincount(bin_of, w_region * middle**2) / weight

        def kept_by(of: Ints, total: Float64s, at: Float64s) -> Float64s:
            """Return the share of sum w^2 (y - E y)^2 that residuals around a mean keep, or around a line of `at`."""

            def added(values: Float64s) -> Float64s:
                return np.asarray(np.bincount(of, values)[of])

            others = (added(w2) + 2 * at * added(w2 * at) + at**2 * added(w2 * at**2)) / total[of] ** 2
            kept = 1 - 2 * w2 / w * (1 + at**2) / total[of] + others
            return np.asarray(np.bincount(of, w2 * kept) / np.bincount(of, w2))

        level = np.zeros(len(w))
        in_regions, around_lines = kept_by(region, w_region, level), kept_by(bins, weight, place)

        def noise_of(expected: Float64s, kept: Float64s) -> tuple[Float64s, Float64s]:
            """Return the mean residual of each region, and its variance."""
            gap = by_region(wy - w * expected) / w_region
            return gap, by_region(squares(expected + gap[region])) / w_region**2 / kept

        def noise_of_bins(times: Any) -> Float64s:
            """Return the variance of the rate of each bin, with the noise of each row multiplied."""
            return by_bin(squares(fitted) * times) / weight**2 / around_lines

        # A line takes up one degree of freedom, partly of the means of regions and partly of the rows around them.
        lost = line * (1 - between) / np.bincount(bin_of, rows_region - 1)
        gap, noise = noise_of(fitted, in_regions * (1 - lost[bin_of]))
        level_gap, level_noise = noise_of(rate[bins], in_regions)
        of_level = by_bin(squares(rate[bins])) / weight**2 / kept_by(bins, weight, level)
        of_rate, of_slope = noise_of_bins(1), noise_of_bins(place**2)
        share = weight / weight.sum()
        half = by_bin(w2) / weight / 2  # half of an average row: no rate is taken to be 0 or 1
        least = half / (weight + 2 * half)
        smooth = np.clip((by_bin(wy) + half) / (weight + 2 * half), 0, 1)[bins] + rise
        smooth = np.clip(smooth, least[bins], 1 - least[bins])
        return cls(
            bin=bin_of,
            n=by_region(n).astype(np.int64),
            w=w_region,
            gap=gap,
            noise=noise,
            chance=by_region(w * smooth) / w_region,
            variance=by_region(w2 * smooth * (1 - smooth)) / w_region**2,
            weight=weight,
            bin_noise=noise_of_bins(1 + place * (2 * middle[region] - between[bins] * place)),
            explained=float(w_region / weight.sum() @ (level_gap**2 - level_noise) + share @ of_level),
            induced=float(share @ (slope**2 - of_slope)),
            calibration_loss=float(
                share @ ((rate - mean) ** 2 - of_rate + np.where(line, (deviation - slope) ** 2 - of_slope, 0))
            ),
        )

    @property
    def share(self) -> Float64s:
        """Share of each region in the weight of all rows."""
        return np.asarray(self.w / self.weight.sum())

    @property
    def share_of_bin(self) -> Float64s:
        """Share of each region in the weight of its bin."""
        return self.w / self.weight[self.bin]

    @property
    def value(self) -> float:
        """The variance of regions in the same bin, without noise."""
        return float(self.share @ (self.gap**2 - self.noise) + self.weight / self.weight.sum() @ self.bin_noise)

    def draw(self, n_resamples: int, rng: np.random.Generator) -> Float64s:
        """Return the value of labels drawn from C."""
        from scipy.sparse import csr_array

        k, share = len(self.w), self.share_of_bin
        to_bins = csr_array((share, (np.arange(k), self.bin)), shape=(k, len(self.weight)))
        scale = self.variance * self.n / (self.chance * (1 - self.chance))
        drawn = []
        for size in batches(n_resamples, k):
            rate = drawn_events(self.n, self.chance, size, rng) / self.n
            gap = (rate - self.chance) * np.sqrt(scale)
            noise = rate * (1 - rate) / (self.n - 1) * scale
            gap -= (gap @ to_bins)[:, self.bin]
            drawn.append((gap**2 - noise * (1 - share)) @ self.share)
        return np.concatenate(drawn)

    def ends(self, drawn: Float64s, tail: float) -> tuple[float, float]:
        """Return the variances between regions that exceed the value, or fall short of it, with probability `tail`.

        With variance v between regions, value + mean noise is taken to be g X, with X noncentral chi-square and g such
        that the variance is that of the draws, plus 4 v times the variance of the rate of a region times its share.
        """
        from scipy.special import chndtr

        value, least = self.value, float(np.quantile(drawn, TAIL_OF_FLOOR))
        shown = self.share * self.gap**2
        noise = max(float(self.share @ (self.variance * (1 - self.share_of_bin))), float(shown.sum()) - value)
        spread = self.share * np.maximum(self.variance, self.noise)
        of_signal = float(spread @ shown / shown.sum()) if shown.any() else float(spread.max())
        variance = max(float(drawn.var()), LEAST_VARIANCE * noise**2)

        def at_most(shown: float, v: float) -> float:
            """Return the probability of this value or a smaller one."""
            g = (variance + 4 * of_signal * v) / (2 * noise + 4 * v)
            return float(chndtr(max(shown + noise, 0) / g, noise / g, v / g))

        low = _last(lambda v: at_most(value, v) >= 1 - tail, 0, max(value, 0.0))
        return low, _last(lambda v: at_most(max(value, least), v) > tail, max(value, 0.0), 1.0)


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the last number up to which something holds; `low` if it does not hold there."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
