"""The multicalibration error: the range of the cumulative gap in the segment where it is least like chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Array, Float64s, Ints
from believable.inference.null import batches, resampling_p_value
from believable.inference.segment_rows import (
    MOST_COLUMNS_COMBINED,
    Part,
    SegmentRows,
    check_min_rows,
    drawn_events,
    in_words,
)
from believable.stats.segments import mixed

MOST_LEVELS = 1000
CELLS_OF_DRAWS = 50  # ranges of scores in which outcomes are drawn for the adjusted p-value
EVERY_LEVEL = 1 << 62  # the rarest are combined later, missing values among them, as MCGrad does
ROWS_SHOWN = 10
ROUNDING = 1e-12  # sums of weights that other programs added in another order may differ by as much


@dataclass(frozen=True, slots=True)
class MulticalibrationSegment:
    """A segment, with the range of its cumulative gap.

    Attributes
    ----------
    where : dict of str to str
        The level of each column that its rows share; empty for all rows.
    n : int
        Number of rows.
    ecce : float
        The Kuiper calibration error of its rows: the range of the cumulative gap between outcomes and scores.
    deviation : float
        Standard deviation of the cumulative gap at its end, if the scores are calibrated.
    """

    where: dict[str, str]
    n: int
    ecce: float
    deviation: float

    @property
    def name(self) -> str:
        """The segment in words, such as "site = north and age = up to 30"."""
        return in_words(self.where)

    @property
    def sigmas(self) -> float:
        """The range in standard deviations; infinite if scores of 0 and 1 alone were wrong."""
        return _ratio(self.ecce, self.deviation, ROUNDING)

    @property
    def p_value(self) -> float:
        """Probability of such a range in this segment by chance: the tail of the Kuiper test."""
        return _tail(self.sigmas)


@dataclass(frozen=True, slots=True, repr=False)
class MulticalibrationError:
    """The multicalibration error, and the segments that it was computed from.

    Attributes
    ----------
    value : float
        The multicalibration error: `sigmas` times the standard deviation of all rows.
    relative : float
        `value` divided by the rate of events or of non-events, whichever is smaller. MCGrad writes it in percent.
    sigmas : float
        The largest range of a segment, in its own standard deviations.
    p_value : float
        Probability of so many standard deviations in any of the segments, if the scores are calibrated.
    unadjusted : float
        MCGrad's p-value: the tail of the Kuiper test at `sigmas`, as if only one segment had been looked at.
    whole : MulticalibrationSegment
        All rows; its `ecce` is MCGrad's global ECCE.
    worst : MulticalibrationSegment
        The segment with the most standard deviations.
    segments : tuple of MulticalibrationSegment
        All rows, then every segment with at least `min_rows` rows.
    columns : tuple of str
        The columns of segments.
    min_rows : int
        The fewest rows of a segment.
    notes : tuple of str
        A sentence about each column that was cut into ranges, combined or left out.
    """

    value: float
    relative: float
    sigmas: float
    p_value: float
    unadjusted: float
    whole: MulticalibrationSegment
    worst: MulticalibrationSegment
    segments: tuple[MulticalibrationSegment, ...]
    columns: tuple[str, ...]
    min_rows: int
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the segments as columns by name, for a data frame."""
        names = ("name", "n", "ecce", "deviation", "sigmas", "p_value")
        return {name: [getattr(one, name) for one in self.segments] for name in names}

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the segments as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def __str__(self) -> str:
        shown = sorted(self.segments, key=lambda one: -one.sigmas)[:ROWS_SHOWN]
        width = max(len(one.name) for one in shown)
        lines = [
            f"multicalibration error {self.value:.4g} ({self.sigmas:.3g} standard deviations, p = {self.p_value:.2g}) "
            f"over {len(self.segments):,} segments; all rows together: {self.whole.ecce:.4g}",
            f"{'':<{width}} {'rows':>9} {'ECCE':>8} {'sigmas':>7}",
            *(f"{one.name:<{width}} {one.n:>9,} {one.ecce:>8.4f} {one.sigmas:>7.2f}" for one in shown),
        ]
        if len(self.segments) > len(shown):
            lines.append(f"and {len(self.segments) - len(shown):,} more segments")
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def multicalibration_error(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    *,
    depth: int = 3,
    max_levels: int = 3,
    min_rows: int = 10,
    n_resamples: int = 999,
    random_state: Any = None,
    sample_weight: Any = None,
) -> MulticalibrationError:
    """Compute the multicalibration error of MCGrad: the largest cumulative gap of any segment, against chance.

    The ECCE of a segment is its Kuiper calibration error: the range of C(s) = sum over p_i <= s of w_i (y_i - p_i) / W
    over its rows. Its standard deviation, if the scores are calibrated, is sigma = sqrt(sum w^2 p (1 - p)) / W. The
    multicalibration error is the largest ECCE / sigma of any segment, times the sigma of all rows: the ECCE that all
    rows together would show if they were as unlikely as the worst segment. At least 0, and at least the ECCE of all
    rows. "MCE" in MCGrad is this error, not the maximum calibration error of bins.

    Parameters
    ----------
    predictions, actuals
        Arrays or a `Predictions`; or a `SegmentStats`. Of a matrix, the probability of the predicted class counts. From
        a `SegmentStats`, C is known at the ends of cells only, so that its range is never larger than that of the rows.
    by : data frame, mapping of names to columns, or one column
        The columns of segments. Of a column with more than `max_levels` values, the most frequent ones are kept and the
        others are combined; numbers are cut into `max_levels` ranges at quantiles instead, and missing ones are a
        segment of their own. For identifiers, pass text. A column without segments is left out, with a sentence in
        `notes`. For a statistic, the names of some of its columns; all of them by default, cut as they were counted.
    depth : int
        The most columns that a segment combines; 0 for all rows alone.
    max_levels : int
        The most levels of a column.
    min_rows : int
        The fewest rows of a segment.
    n_resamples : int
        Number of sets of labels drawn for `p_value`.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    MulticalibrationError
        With `value`, `relative`, `sigmas`, `p_value`, `unadjusted`, `whole`, `worst` and `segments`; `float` of it is
        the value.

    Notes
    -----
    MCGrad's p-value does not allow for the number of segments, and rejects calibrated scores too often: it is
    `unadjusted`. For `p_value`, labels are drawn from the scores themselves, and the largest number of standard
    deviations of any segment is compared with that of the data: (1 + number of draws as large) / (1 + n_resamples). It
    is valid for any number of segments, however they overlap and however few events they have. To be fast, the scores
    are divided into 50 ranges of equally many rows for this comparison, both for the draws and for the data.

    References
    ----------
    Guy, Haimovich, Linder, Okati, Perini, Tax, Tygert (2025), arXiv:2506.11251.
    Tax, Perini, Linder, Haimovich, Karamshuk, Okati, Vojnovic, Apostolopoulos (2025), arXiv:2509.19884, for MCGrad.
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Journal of Machine Learning Research, for the ECCE.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site, sex = rng.random(5000), rng.choice(["north", "south"], 5000), rng.choice(["f", "m"], 5000)
    >>> y = rng.random(5000) < np.where((site == "south") & (sex == "f"), 0.85 * p, p)
    >>> found = multicalibration_error(p, y, {"site": site, "sex": sex}, random_state=0)
    >>> found.worst.name, found.p_value
    ('site = south and sex = f', 0.001)
    """
    depth = _check.positive_integer(depth, "depth", 0, MOST_COLUMNS_COMBINED)
    max_levels = _check.positive_integer(max_levels, "max_levels", 2, MOST_LEVELS)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples")
    rng = generator(random_state)
    choices = {"max_levels": EVERY_LEVEL, "n_ranges": max_levels, "max_numbers": max_levels, "interpolated": True}
    table = SegmentRows.of(predictions, actuals, by, sample_weight, **choices).combined(max_levels)
    min_rows = check_min_rows(min_rows, table.rows)
    segments = [one for part in table.parts(depth) for one in _of_part(table, part, min_rows)]
    whole, worst = segments[0], max(segments, key=lambda one: one.sigmas)
    value = worst.sigmas * whole.deviation if whole.deviation > 0 else worst.sigmas
    rate = float(table.wy.sum() / table.w.sum())
    return MulticalibrationError(
        value=value,
        relative=_ratio(value, min(rate, 1 - rate)),
        sigmas=worst.sigmas,
        p_value=_p_value(table, depth, min_rows, n_resamples, rng),
        unadjusted=_tail(worst.sigmas),
        whole=whole,
        worst=worst,
        segments=tuple(segments),
        columns=tuple(one.column for one in table.columns),
        min_rows=min_rows,
        notes=table.notes,
    )


def _ratio(error: float, scale: float, rounding: float = 0.0) -> float:
    if scale > 0:
        return error / scale
    return inf if error > rounding else 0.0


def _tail(sigmas: float) -> float:
    return 0.0 if sigmas == inf else max(float(_kernels.range_tail(sigmas)), 0.0)


def _of_part(table: SegmentRows, part: Part, min_rows: int) -> list[MulticalibrationSegment]:
    """Return the segments of a division that have enough rows."""
    weight = np.asarray(np.bincount(part.key, table.w), np.float64)
    ecce = _ranges(table, part, weight)
    deviation = np.sqrt(np.bincount(part.key, table.variance)) / weight
    return [
        MulticalibrationSegment(table.where(part, i), int(part.rows[i]), float(ecce[i]), float(deviation[i]))
        for i in np.flatnonzero(part.rows >= min_rows).tolist()
    ]


def _ranges(table: SegmentRows, part: Part, weight: Float64s) -> Float64s:
    """Return the range of the sums of w (y - p) / W from the lowest score up, in each segment of weight W.

    Entries are put in order of segment and score, and one running sum over all of them is read at the last entry of
    each distinct score; what it had reached before a segment is subtracted. No segment's part of it exceeds 1, so that
    a segment of little weight loses no digits to the others.
    """
    count = np.bincount(part.key)
    stop = np.cumsum(count, dtype=np.int64)
    order = np.argsort(_narrow(part.key, len(count)), kind="stable")
    reached = np.cumsum(((table.wy - table.wp) / weight[part.key])[order])
    before = np.append(0.0, reached[stop[:-1] - 1])
    start = stop - count
    place = table.place[order]
    last = np.append(place[1:] != place[:-1], True)
    last[stop - 1] = True
    if not last.all():
        kept = np.flatnonzero(last)
        reached, start = reached[kept], np.searchsorted(kept, start)
    high = np.maximum.reduceat(reached, start) - before
    low = np.minimum.reduceat(reached, start) - before
    return np.asarray(np.maximum(high, 0) - np.minimum(low, 0))


def _narrow(key: Ints, size: int) -> Array:
    """Return numbers of segments in as few bytes as possible, which sort by digits."""
    return key.astype(np.uint16 if size <= 1 << 16 else np.int64)


# --- the p-value that allows for the number of segments ---------------------------------------------------------------


def _p_value(table: SegmentRows, depth: int, min_rows: int, n_resamples: int, rng: np.random.Generator) -> float:
    """Return the probability of the most standard deviations of any segment, by drawing labels from the scores."""
    from scipy.sparse import csr_array

    entries = _on_few_cells(table)
    chance = np.clip(entries.wp / entries.w, 0, 1)
    of_entries: list[Ints] = []
    to_sums: list[Ints] = []
    starts: list[Ints] = []
    shares: list[Float64s] = []
    certain: list[Array] = []
    width = 0
    for part in entries.parts(depth):
        kept = part.rows >= min_rows
        inside = np.flatnonzero(kept[part.key])
        found, number = np.unique(part.key[inside] * CELLS_OF_DRAWS + entries.place[inside], return_inverse=True)
        of_entries.append(inside)
        to_sums.append(width + number)
        starts.append(width + np.searchsorted(found // CELLS_OF_DRAWS, np.flatnonzero(kept)))
        deviation = np.sqrt(np.bincount(part.key, entries.variance))
        certain.append(deviation[kept] == 0)  # scores of 0 and 1 alone, which are never wrong in a draw
        unit = np.where(deviation > 0, deviation, np.bincount(part.key, entries.w))
        shares.append(1 / unit[part.key[inside]])
        width += len(found)
    start, never = np.concatenate(starts), np.concatenate(certain)
    shape = (len(entries.n), width)
    places = (np.concatenate(of_entries), np.concatenate(to_sums))
    sums = csr_array((np.concatenate(shares), places), shape=shape)

    def most_sigmas(excess: Float64s) -> Float64s:
        reached = np.cumsum(excess @ sums, axis=-1)
        before = np.where(start > 0, reached[:, start - 1], 0)
        high = np.maximum.reduceat(reached, start, axis=-1) - before
        low = np.minimum.reduceat(reached, start, axis=-1) - before
        span = np.maximum(high, 0) - np.minimum(low, 0)
        return np.asarray(np.where(never & (span > ROUNDING), inf, span).max(axis=-1))

    observed = float(most_sigmas((entries.wy - entries.wp)[None])[0])
    if observed == inf:
        return 1 / (1 + n_resamples)
    spread = np.sqrt(entries.w2 / entries.n)
    drawn = [
        most_sigmas((drawn_events(entries.n, chance, size, rng) - entries.n * chance) * spread)
        for size in batches(n_resamples, max(shape))
    ]
    return resampling_p_value(observed, np.concatenate(drawn), ROUNDING)


def _on_few_cells(table: SegmentRows) -> SegmentRows:
    """Return the table on ranges of scores with equally many rows; equal scores stay together.

    Rows of a range with very different weights or scores remain entries of their own, because labels are drawn as if
    those of an entry had the same weight and the same score.
    """
    cell = table.ranges(CELLS_OF_DRAWS)
    codes = np.stack([table.part(tuple(range(len(table.columns)))).key, cell, table.alike])
    _, first, at = np.unique(mixed(codes, (codes.max(axis=1) + 1).tolist()), return_index=True, return_inverse=True)

    def added(name: str) -> Array:
        return np.bincount(at, getattr(table, name), len(first))

    n, w, wp, wy, w2 = (added(name) for name in ("n", "w", "wp", "wy", "w2"))
    return replace(
        table,
        codes=table.codes[:, first],
        score=np.clip(wp / w, 0, 1),
        place=cell[first],
        n=n.astype(np.int64),
        w=w,
        wp=wp,
        wy=wy,
        w2=w2,
    )
