"""Maps by segment: by how much they lower the log loss where calibration differs, out of fold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from believable import _kernels
from believable._types import Array
from believable.auditing.fix import rows_to_compare_on
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource, RowSource
from believable.errors import BelievableError, LimitWarning, SmallSampleWarning
from believable.inference.compare import mean_of_rows
from believable.recalibrate.crossfit import SCORE_WORDS, FoldSettings, Mapped, RowsInFolds, Score, loss_gain, row_losses
from believable.recalibrate.facts import BY_SEGMENT, as_method
from believable.recalibrate.grouped import GroupedRecalibrator
from believable.recalibrate.select import NO_RECALIBRATION
from believable.report.parts import Fix, Part, SegmentFix, SegmentGain, SegmentSearch

USUAL_BASE = "platt"  # the common map, if recalibrating all rows alike does not help
MOST_SEGMENTS = 10  # whose gains are shown
FEWEST_ROWS = 20  # of a segment, to say what its rows gain


def segment_fix(
    source: AuditSource,
    settings: AuditSettings,
    fix: Fix | None,
    subgroups: Sequence[Part],
    search: SegmentSearch | None,
) -> SegmentFix | None:
    """Compare maps by segment with what is recommended for all rows alike; None if no segment calls for them."""
    wanted = _segments(subgroups, search)
    if fix is None or not wanted or not isinstance(source, RowSource):
        return None
    names = columns_of_segments(subgroups, search)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            return _compared(source, settings, fix, wanted, names)
    except BelievableError:  # such as labels that are shares, for which `fix` says why nothing was tried
        return None


def columns_of_segments(subgroups: Sequence[Part], search: SegmentSearch | None) -> list[str]:
    """Return the columns of the segments that call for maps of their own."""
    return list(dict.fromkeys(column for where in _segments(subgroups, search) for column in where))


def _segments(subgroups: Sequence[Part], search: SegmentSearch | None) -> list[Mapping[str, str]]:
    """Return the segments that were found; without a search, the subgroups that are miscalibrated, worst first."""
    if search is not None:
        return [one.where for one in search.found[:MOST_SEGMENTS]]
    flagged = sorted((part for part in subgroups if part.flagged), key=lambda part: -(part.low or 0))
    return [{part.column: part.name} for part in flagged[:MOST_SEGMENTS]]


def _compared(
    source: RowSource, settings: AuditSettings, fix: Fix, wanted: Sequence[Mapping[str, str]], names: Sequence[str]
) -> SegmentFix:
    """Cross-fit both methods, and take the one with the lower loss."""
    rows = rows_to_compare_on(source.data, source.cluster, settings.random_state)
    kept = slice(None) if rows is None else rows
    columns = {name: source.columns[name][kept] for name in names}
    cluster = None if source.cluster is None else np.unique(source.cluster[kept], return_inverse=True)[1]
    predictions = source.data if rows is None else source.data.take(rows)
    problem = RowsInFolds.of(
        predictions, None, FoldSettings(clusters=cluster, random_state=settings.random_state, by=columns)
    )
    score: Score = "log_loss" if fix.score == SCORE_WORDS["log_loss"] else "brier"
    alike = fix.chosen == NO_RECALIBRATION
    before = problem.baseline if alike else problem.cross_fitted(as_method(fix.chosen))
    base = USUAL_BASE if alike else fix.chosen
    tried = {one: problem.cross_fitted(GroupedRecalibrator(method=one, base=base)) for one in BY_SEGMENT}
    weights = predictions.weights
    method = min(tried, key=lambda one: float(np.average(row_losses(tried[one], score), weights=weights)))
    gain = loss_gain(before, tried[method], score, problem, settings.level)
    gains = [
        _gain(where, columns, before, tried[method], score, problem, settings.level)
        for where in wanted
        if np.count_nonzero(_inside(where, columns)) >= FEWEST_ROWS
    ]
    return SegmentFix(
        method=method,
        columns=tuple(names),
        base=base,
        score=fix.score,
        gain=gain.value,
        gain_low=gain.low,
        gain_high=gain.high,
        level=settings.level,
        segments=tuple(gains),
    )


def _inside(where: Mapping[str, str], columns: Mapping[str, Array]) -> Array:
    return np.asarray(np.logical_and.reduce([columns[column] == level for column, level in where.items()]))


def _gain(
    where: Mapping[str, str],
    columns: Mapping[str, Array],
    before: Mapped,
    after: Mapped,
    score: Score,
    problem: RowsInFolds,
    level: float,
) -> SegmentGain:
    """Return by how much the mean loss of the rows of a segment falls."""
    inside = _inside(where, columns)
    weights = None if problem.weights is None else problem.weights[inside]
    cluster = None if problem.cluster is None else np.unique(problem.cluster[inside], return_inverse=True)[1]
    first, second = (row_losses(one, score)[inside] for one in (before, after))
    gain, error, df = mean_of_rows(first - second, weights, cluster)
    reach = _kernels.t_quantile(level, df) * error
    return SegmentGain(
        where=dict(where),
        n=int(inside.sum()),
        before=float(np.average(first, weights=weights)),
        after=float(np.average(second, weights=weights)),
        gain=gain,
        gain_low=gain - reach,
        gain_high=gain + reach,
    )
