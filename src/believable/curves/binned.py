"""The binned calibration curve: mean score and mean outcome of every bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, Literal

import numpy as np

from believable import _check, _kernels, _optional
from believable._types import Bins, Float64s, Int64s, Notion, Strategy
from believable.curves.band import BANDS, Band
from believable.curves.curve import Curve
from believable.errors import InputError
from believable.predictions import as_predictions
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, column_bins, count_asked, not_empty, source_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityTable:
    """A table with one row per bin, for every class or rank if the notion keeps them apart.

    Attributes
    ----------
    edges : ndarray of shape (rows, 2)
        Lower (open) and upper (closed) end of each bin; the first bin also contains 0.
    stratum : ndarray of int
        Class or rank (from 0) of each table row; all 0 if the notion keeps none apart.
    n, weight : ndarray
        Number and weight of the pairs in each bin.
    conf, acc, gap : ndarray
        Mean score, observed frequency, and acc - conf: positive if the scores are too low. NaN in an empty bin.
    low, high : ndarray
        Interval of acc, with the effective number of pairs. NaN in an empty bin.
    level : float
        Confidence level of the intervals.
    stratum_is : {"class", "rank"}
        Whether `stratum` holds classes or ranks.
    band : {"pointwise", "simultaneous"}
        Whether each interval has this level (Wilson's intervals), or all of them together (exact ones).
    binned : {"scores", "column"}
        Whether the bins are made of the scores, or of the column `bin_by`, in whose units `edges` then are.
    """

    edges: Float64s
    stratum: Int64s
    n: Int64s
    weight: Float64s
    conf: Float64s
    acc: Float64s
    gap: Float64s
    low: Float64s
    high: Float64s
    level: float
    stratum_is: Literal["class", "rank"] = "class"
    band: Band = "pointwise"
    binned: Literal["scores", "column"] = "scores"

    group = _check.renamed_attribute("group", "stratum")

    def __len__(self) -> int:
        return len(self.n)

    def __str__(self) -> str:
        """Return the table as text, with a star if the mean score lies outside the interval."""
        apart = len(set(self.stratum.tolist())) > 1
        first = f"{self.stratum_is:>5} " if apart else ""
        lines = [
            f"{first}{self.binned:>16} {'rows':>10} {'predicted':>10} {'observed':>9} {'gap':>8}  "
            f"{100 * self.level:.0f} % {self.interval_in_words}"
        ]
        for i in range(len(self)):
            low, high = self.edges[i]
            bracket = "[" if i == 0 or self.stratum[i] != self.stratum[i - 1] else "("
            line = f"{self.stratum[i]:>5} " if apart else ""
            line += f"{f'{bracket}{low:.4g}, {high:.4g}]':>16} {self.n[i]:>10,}"
            if self.n[i]:
                star = "" if self.low[i] <= self.conf[i] <= self.high[i] else " *"
                line += f" {self.conf[i]:>10.4f} {self.acc[i]:>9.4f} {self.gap[i]:>+8.4f}"
                line += f"  {self.low[i]:.4f} … {self.high[i]:.4f}{star}"
            lines.append(line)
        if any(line.endswith("*") for line in lines):
            lines.append("* the mean prediction lies outside the interval of the observed frequency")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def interval_in_words(self) -> str:
        """What the intervals are called, after their level."""
        return "interval" if self.band == "pointwise" else "simultaneous interval"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns by name, with None for empty bins."""
        columns = {"group": self.stratum, "from": self.edges[:, 0], "to": self.edges[:, 1]}
        columns |= {item.name: getattr(self, item.name) for item in fields(self)[2:-4]}
        return {
            name: [None if value != value else value for value in column.tolist()] for name, column in columns.items()
        }

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the table as a data frame."""
        return as_frame(self.to_dict(), backend)


def as_frame(columns: dict[str, list[Any]], backend: str) -> Any:
    """Return columns as a data frame of one of three libraries."""
    _check.choice(backend, ("polars", "pandas", "pyarrow"), "backend")
    module = _optional.load(backend, f"to_frame(backend={backend!r}) needs")
    return module.table(columns) if backend == "pyarrow" else module.DataFrame(columns)


def as_html(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    bold: Sequence[bool] = (),
) -> str:
    """Return a plain HTML table for notebooks, with lines of text before and after it; everything is escaped."""
    marks = bold or [False] * len(rows)
    cells = ["".join(f"<th>{escape(one)}</th>" for one in header)]
    for row, mark in zip(rows, marks, strict=True):
        one = "<td><strong>{}</strong></td>" if mark else "<td>{}</td>"
        cells.append("".join(one.format(escape(cell)) for cell in row))
    table = "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
    said = ["".join(f"<p>{escape(line)}</p>" for line in lines) for lines in (before, after)]
    return f"<div>{said[0]}{table}{said[1]}</div>"


def wilson_interval(rate: Float64s, n: Float64s, level: float) -> tuple[Float64s, Float64s]:
    """Return Wilson's score interval for a proportion observed in n trials."""
    from statistics import NormalDist

    return wilson_ends(rate, n, -NormalDist().inv_cdf((1 - level) / 2))


def wilson_ends(rate: Float64s, n: Float64s, z: float) -> tuple[Float64s, Float64s]:
    """Return the ends of Wilson's interval: all proportions within z of their own standard errors."""
    middle = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    # At rates of 0 and 1 the ends are exactly 0 and 1, which rounding could miss.
    low, high = np.where(rate <= 0, 0, middle - half), np.where(rate >= 1, 1, middle + half)
    return np.maximum(low, 0), np.minimum(high, 1)


def table_of(
    stats: BinStats, level: float = 0.95, effective_n: Float64s | None = None, band: Band = "pointwise"
) -> ReliabilityTable:
    """Return the table of a statistic, with empty bins; `effective_n` replaces that of the non-empty bins."""
    _check.level(level)
    _check.choice(band, BANDS, "band")
    sizes = [len(stats.edges_of(g)) for g in range(stats.view.n_strata)]
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    at = offset[stats.stratum] + stats.index
    ends = [np.array(stats.edges_of(g).values) for g in range(len(sizes))]
    edges = np.column_stack([np.concatenate([e[:-1] for e in ends]), np.concatenate([e[1:] for e in ends])])

    def spread(values: Any, empty: Any) -> Any:
        column = np.full(len(stratum), empty, dtype=np.asarray(values).dtype)
        column[at] = values
        return column

    acc = np.clip(stats.acc, 0, 1)
    size = stats.effective_n if effective_n is None else effective_n
    if band == "pointwise":
        low, high = wilson_interval(acc, size, level)
    else:
        low, high = _kernels.exact_interval(acc, size, (1 - level) / len(acc))
    return ReliabilityTable(
        edges=edges,
        stratum=stratum,
        n=spread(stats.n, 0),
        weight=spread(stats.w, 0.0),
        conf=spread(stats.conf, np.nan),
        acc=spread(stats.acc, np.nan),
        gap=spread(stats.gap, np.nan),
        low=spread(low, np.nan),
        high=spread(high, np.nan),
        level=level,
        stratum_is=stats.view.stratum_is,
        band=band,
    )


def binned_curve(stats: BinStats, level: float = 0.95) -> Curve:
    """Return the curve through the non-empty bins of a statistic with one stratum."""
    if stats.view.n_strata > 1:
        raise InputError(
            "{notion=} has {n} curves, one for each {stratum_is}: use reliability_table, or pooled=True for one",
            argument="notion",
            notion=stats.view.notion,
            n=stats.view.n_strata,
            stratum_is=stats.view.stratum_is,
        )
    acc = np.clip(stats.acc, 0, 1)
    low, high = wilson_interval(acc, stats.effective_n, _check.level(level))
    settings = {"n_bins": stats.per_stratum, "strategy": stats.strategy, "notion": stats.view.notion, "level": level}
    return Curve(stats.conf, stats.acc, stats.w, low, high, "binned", settings)


def reliability_table(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    level: float = 0.95,
    band: Band = "pointwise",
    sample_weight: Any = None,
    edges: Any = None,
    bin_by: Any = None,
) -> ReliabilityTable:
    """Compute the numbers of a reliability diagram: counts, mean score, observed frequency and interval of every bin.

    Parameters
    ----------
    predictions, actuals, n_bins, strategy, notion, r, threshold, pooled, sample_weight, edges, bin_by
        As in `expected_calibration_error`. With `bin_by`, the table shows whether the predictions are right in each
        range of another column, such as age.
    level : float
        Confidence level of the intervals.
    band : {"pointwise", "simultaneous"}
        "pointwise" gives each bin Wilson's interval: with ten bins of a calibrated model, one of the intervals will
        miss the diagonal in about four of ten data sets. "simultaneous" gives exact intervals (Clopper and Pearson,
        each at the level 1 - (1 - level) / number of non-empty bins), which hold all together.

    Examples
    --------
    >>> table = reliability_table([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2)
    >>> table.n, table.conf.round(12), table.acc
    (array([2, 2]), array([0.15, 0.85]), array([0., 1.]))
    >>> table.to_frame().columns
    ['group', 'from', 'to', 'n', 'weight', 'conf', 'acc', 'gap', 'low', 'high']
    """
    source = source_of(predictions, actuals, sample_weight)
    asked = BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges, bin_by)
    table = table_of(not_empty(count_asked(source, asked)), level, band=band)
    if bin_by is None:
        return table
    ends = column_bins(as_predictions(source), asked).ends
    return replace(table, edges=np.tile(ends, (len(table) // len(ends), 1)), binned="column")


def calibration_curve(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
    bin_by: Any = None,
) -> tuple[Float64s, Float64s, Int64s]:
    """Compute the mean predicted probability, observed frequency and number of rows of every non-empty bin.

    Note the order: scikit-learn's function of this name takes the labels first, and returns the fraction of positives
    first.

    Parameters are those of `expected_calibration_error`.

    Returns
    -------
    mean_predicted, fraction_positives : ndarray of float
        Mean score and observed frequency of each bin.
    bin_counts : ndarray of int
        Number of rows in each bin.

    Examples
    --------
    >>> mean_predicted, fraction_positives, counts = calibration_curve([0.1, 0.2, 0.9], [0, 1, 1], n_bins=2)
    >>> mean_predicted.round(12), fraction_positives, counts
    (array([0.15, 0.9 ]), array([0.5, 1. ]), array([2, 1]))
    """
    source = source_of(predictions, actuals, sample_weight)
    stats = count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges, bin_by))
    curve = binned_curve(not_empty(stats))
    return curve.x, curve.y, stats.n.copy()
