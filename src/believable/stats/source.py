"""How metrics, curves and plots obtain their statistics from arguments: counted from predictions, or read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Bins, Notion, Strategy
from believable.binning import ColumnBins, cube_root_bins
from believable.errors import InputError, UndefinedError
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import View
from believable.stats.bins import BinStats, edges_for
from believable.stats.cells import CellStats
from believable.stats.counts import not_empty as not_empty
from believable.stats.points import Points as Points
from believable.stats.points import PointStats as PointStats
from believable.stats.readable import QUANTILE as QUANTILE
from believable.stats.readable import TEN as TEN
from believable.stats.readable import UNIFORM as UNIFORM
from believable.stats.readable import BinsAsked as BinsAsked
from believable.stats.readable import Readable
from believable.stats.readable import refuse_extras as refuse_extras
from believable.stats.readable import same_question as same_question
from believable.stats.summary import Summary
from believable.stats.sums import ScoreSums

STRATEGIES = get_args(Strategy)

Source = Predictions | BinStats | CellStats | PointStats | Summary


def source_of(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> Source:
    """Return a statistic as it is, and anything else as checked predictions."""
    if type(predictions) not in (np.ndarray, list) and isinstance(predictions, Readable):  # the first test is faster
        source: Any = predictions.holds_pairs()
        refuse_extras(type(predictions).__name__, actuals=actuals, sample_weight=sample_weight)
        return source  # type: ignore[no-any-return]
    return as_predictions(predictions, actuals, sample_weight)


def rows_in(source: Any) -> Predictions | None:
    """Return the predictions, or None for a statistic."""
    return source if isinstance(source, Predictions) else None


def is_checked(source: Any) -> bool:
    """Return whether this is a `Predictions` or a statistic, which contain their outcomes."""
    return isinstance(source, (Predictions, Readable))


def count_sums(source: Any) -> ScoreSums:
    """Return the `ScoreSums` of predictions or of a statistic."""
    return source.read_sums() if isinstance(source, Readable) else ScoreSums.of(source)


def sums_or_source(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> ScoreSums | Source:
    """Return the source for a function that also accepts `ScoreSums`."""
    if isinstance(predictions, ScoreSums):
        refuse_extras("ScoreSums", actuals=actuals, sample_weight=sample_weight)
        return predictions
    return source_of(predictions, actuals, sample_weight)


def event_sums(source: ScoreSums | Source, notion: Notion | None, r: int | None) -> ScoreSums | None:
    """Return the sums for one event, which need no sorting; None if the pairs are needed."""
    if isinstance(source, ScoreSums):
        refuse_extras("ScoreSums", notion=notion, r=r)
        return source
    if isinstance(source, Predictions):
        return ScoreSums.of(source) if source.kind == "binary" and source.view(notion, r=r) else None
    return source.read_sums() if source.problem == "binary" and notion in (None, "binary") else None


def count_bins(
    source: Source,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    edges: Any = None,
    bin_by: Any = None,
) -> BinStats:
    """Count bins by the options of a metric: the `counts` half of binned metrics."""
    return count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges, bin_by))


def count_asked(source: Source, asked: BinsAsked, *, squares: bool = False) -> BinStats:
    """Return the `BinStats` requested: counted from predictions, or read from a statistic.

    `squares` is for metrics that use wpp. Arrays passed for a single call are counted only as far as needed; a
    `Predictions` is counted in full, once.
    """
    _check.choice(asked.strategy, STRATEGIES, "strategy")
    _check.flag(asked.pooled, "pooled")
    asked = asked._replace(n_bins=number_of_bins(source, asked.n_bins))
    if isinstance(source, Predictions):
        view = source.view(asked.notion, r=asked.r, threshold=asked.threshold, pooled=asked.pooled)
        if asked.bin_by is not None:
            return BinStats.by_column(source, view, column_bins(source, asked), squares or not source.borrowed)
        made = edges_for(source, view, asked.n_bins, asked.strategy, asked.edges)
        return BinStats.counted(source, view, made, squares or not source.borrowed)
    if asked.bin_by is not None:
        raise UndefinedError("{argument} needs the predictions: a statistic has its own bins", argument="bin_by")
    return source.read_bins(asked)


def number_of_bins(source: Any, n_bins: Any) -> Any:
    """Return the number of bins that "cube_root" stands for here; any other value unchanged, to be checked later."""
    if not (isinstance(n_bins, str) and n_bins == _check.CUBE_ROOT):
        return n_bins
    n_rows = len(source) if isinstance(source, Predictions) else source.counted_rows
    if n_rows is None:
        raise UndefinedError(
            "{n_bins=} depends on the number of rows, which this {what} does not know, because it counted "
            "pairs: pass a number, or the predictions",
            argument="n_bins",
            n_bins=n_bins,
            what=type(source).__name__,
        )
    return cube_root_bins(n_rows)


def column_bins(source: Predictions, asked: BinsAsked) -> ColumnBins:
    """Return the bins of the column `bin_by`, which must have one number for each row."""
    index = _check.index_of(asked.bin_by)
    if index is not None and source.given_index is not None:
        _check.refuse_other_index(source.given_index, index, "predictions", "bin_by")
    column = _check.numeric(asked.bin_by, "bin_by").astype(np.float64)
    if column.shape != (len(source),):
        raise InputError(
            "{argument} must have one number for each of the {needed} rows (rows of weight 0 do not count), got shape "
            "{got}",
            argument="bin_by",
            needed=len(source),
            got=column.shape,
        )
    _check.finite(column, "bin_by", None)
    return ColumnBins.of(column, number_of_bins(source, asked.n_bins), asked.strategy, asked.edges, source.weights)


def has_bins(source: Source, n_bins: int) -> bool:
    """Return whether the source can be divided into this number of bins of equal width."""
    return isinstance(source, Predictions) or source.has_bins(n_bins)


# --- points, for everything that needs no bins ------------------------------------------------------------------------


def count_points(
    source: Source, *, notion: Notion | None = None, r: int | None = None, logits: bool = False
) -> PointStats:
    """Return the points of every stratum with pairs; one stratum for notions that keep no classes or ranks apart.

    From a `Summary`, the points come from both grids, each where its cells are narrower. With `logits`, a warning says
    if uniform cells are too wide for logits.
    """
    if not isinstance(source, Predictions):
        return source.read_points(notion, r, logits)
    view = source.view(notion, r=r)
    if source.borrowed:
        return _points_of_rows(source, view)
    return source.remembered(("points", view), lambda: _points_of_rows(source, view))


def one_stratum(points: PointStats, what: str) -> Points:
    """Return the points of a single stratum; raise an error that says what to do if there are several."""
    if len(points) > 1:
        raise UndefinedError(
            f"{what} needs one set of scores, but there are {len(points)}: pass the column of one class, or a notion "
            "with one set (confidence, rth, within_top_r)"
        )
    return points[0]


def mean_over_strata(values: Sequence[Any], points: PointStats) -> Any:
    """Return the weighted mean over strata: classes have equal weights, predicted labels those of their rows."""
    weight = [stratum.total for stratum in points]
    mean = sum(w * value for w, value in zip(weight, values, strict=True)) / sum(weight)
    return as_number(mean if len(points) > 1 else values[0])


def as_number(value: Array | float) -> Any:
    """Return a float, or an array if the statistic held replicates."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def warn_if_crowded(source: Source, n_bins: int) -> None:
    """Warn if the cells of a statistic are too wide for this number of bins of equal weight."""
    if not isinstance(source, Predictions):
        source.warn_if_crowded(n_bins)


def _points_of_rows(source: Predictions, view: View) -> PointStats:
    if view.notion == "classwise" and source.scores.ndim == 2:
        columns = source.columns(view)
        strata = [Points(*_kernels.by_score(pairs.score, pairs.outcome, pairs.weight)) for pairs in columns]
        return PointStats(view, tuple(strata), tuple(range(len(strata))))
    score, outcome, weight, stratum, _ = source.all_pairs(view)
    if stratum is None:
        return PointStats(view, (Points(*_kernels.by_score(score, outcome, weight)),))
    found: dict[int, Points] = {}
    for g in range(view.n_strata):  # a class that is never predicted has no pairs
        here = np.flatnonzero(stratum == g)
        if len(here):
            own = None if weight is None else weight[here]
            found[g] = Points(*_kernels.by_score(score[here], outcome[here], own))
    return PointStats(view, tuple(found.values()), tuple(found))
