"""All metrics that the input allows, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from believable import _check
from believable._check import THREE_ARRAYS
from believable._types import Bins, Needs, Notion
from believable.errors import ClippedWarning, InputError, UndefinedError
from believable.metrics.table import METRICS, Metric, find_metric
from believable.predictions import as_predictions
from believable.stats import Summary
from believable.stats.readable import Readable
from believable.stats.source import number_of_bins, refuse_extras, rows_in

_READ_FROM: dict[Needs, str] = {
    "sums": "ScoreSums",
    "bins": "BinStats or CellStats",
    "cells": "CellStats",
    "rows": "the predictions themselves",
    "pairs": "the predictions themselves",
}
MAX_ROWS_PAIRED_UNASKED = 5000  # in a larger matrix, rows are compared pair by pair only on request


class Evaluation(Mapping[str, float]):
    """Mapping of metric names to values, with the reasons for those that could not be computed.

    Attributes
    ----------
    skipped : mapping of str to str
        Metrics that cannot be computed from this input, each with its reason.
    notion : str or None
        The notion of the metrics whose name does not fix one: "binary" for 1-D scores, "confidence" for a matrix; None
        if statistics of several notions were given.
    n_bins : int or None
        The number of bins requested; None if a statistic brought its own bins.
    """

    def __init__(
        self, values: Mapping[str, float], skipped: Mapping[str, str], notion: str | None, n_bins: int | None
    ) -> None:
        self._values = dict(values)
        self.skipped = MappingProxyType(dict(skipped))
        self.notion = notion
        self.n_bins = n_bins

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluation, (self._values, dict(self.skipped), self.notion, self.n_bins)

    def __getitem__(self, name: str) -> float:
        if name in self._values:
            return self._values[name]
        try:
            row = find_metric(name)
        except InputError as error:
            raise KeyError(str(error)) from error
        if row.name in self.skipped:
            raise KeyError(f"{row.name} was skipped: {self.skipped[row.name]}")
        return self._values[row.name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        width = max(map(len, self._values), default=0)
        lines = [f"{name:<{width}}  {value:.6g}" for name, value in self._values.items()]
        return "\n".join([*lines, *(f"{name}: skipped, {reason}" for name, reason in self.skipped.items())])


def evaluate(
    predictions: Any,
    actuals: Any = None,
    metrics: Iterable[str] | None = None,
    *,
    n_bins: Bins | None = None,
    notion: Notion | None = None,
    sample_weight: Any = None,
) -> Evaluation:
    """Compute several metrics by name, by default all that the input allows.

    Parameters
    ----------
    predictions : array-like, Predictions, a statistic, a sequence of statistics, or a Summary
        Scores, or statistics of them. `evaluate([ScoreSums, CellStats])` computes each metric from the statistic that
        holds what it needs.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    metrics : iterable of str, optional
        Names or aliases ("ece") from the table of metrics.
    n_bins : int or "cube_root", optional
        Number of bins of the binned metrics, 10 by default; "cube_root" as in `expected_calibration_error`.
    notion : str, optional
        Notion of the metrics whose name does not fix one. By default "binary" for 1-D scores, "confidence" for a
        matrix.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Evaluation
        A mapping of names to floats. Metrics that are undefined for this input (the AUC if only one class occurs, for
        example) are listed in `.skipped` with the reason.

    Examples
    --------
    >>> result = evaluate([0.1, 0.8, 0.7], [0, 1, 1], metrics=["ece", "brier", "auc"])
    >>> {name: round(value, 4) for name, value in result.items()}
    {'expected_calibration_error': 0.2, 'brier_score': 0.0467, 'auc': 1.0}
    >>> evaluate([0.1, 0.2], [0, 0], metrics=["auc"]).skipped["auc"]
    'the AUC needs positives and negatives, but all labels are the same'
    """
    rows = list(METRICS.values()) if metrics is None else [find_metric(name) for name in _names(metrics)]
    _check.notion(notion)
    sources = _sources(predictions, actuals, sample_weight)
    if n_bins is not None:
        n_bins = _check.positive_integer(number_of_bins(_knowing_rows(sources), n_bins), "n_bins")
    asked = {"n_bins": n_bins, "notion": notion}
    values: dict[str, float] = {}
    skipped: dict[str, str] = {}
    for row in rows:
        options = {name: value for name, value in asked.items() if value is not None and name in row.options}
        if metrics is None and row.needs == "pairs" and _is_long(sources[0]):
            skipped[row.name] = f"it compares all pairs of rows, which is slow: ask for it by name, {row.alias!r}"
            continue
        if metrics is None and row.ordered and sources[0].problem in row.kinds:
            skipped[row.name] = f"it is for ordered classes: if these are, ask for it by name, {row.alias!r}"
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ClippedWarning)  # the metric warns when it is called by itself
                values[row.name] = _value(row, sources, options)
        except UndefinedError as reason:
            skipped[row.name] = str(reason)
    first, data = sources[0], rows_in(sources[0])
    if data is not None:
        data.scores  # noqa: B018 - access checks the scores, in case no metric did
    if first.problem is not None:
        return Evaluation(values, skipped, notion or first.default_notion, n_bins or 10)
    notions = {source.default_notion for source in sources} - {None}
    return Evaluation(values, skipped, notion or (notions.pop() if len(notions) == 1 else None), n_bins)


def _knowing_rows(sources: list[Any]) -> Any:
    """Return the source that knows the number of rows, or the first."""
    known = (one for one in sources if rows_in(one) is not None or one.counted_rows is not None)
    return next(known, sources[0])


def _is_long(source: Any) -> bool:
    rows = rows_in(source)
    return rows is not None and rows.scores.ndim == 2 and len(rows) > MAX_ROWS_PAIRED_UNASKED


def _names(metrics: Iterable[str]) -> list[str]:
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                "{argument} must be names of metrics, got {got!r}", argument="metrics", got=name, hint=THREE_ARRAYS
            )
    return names


def _sources(predictions: Any, actuals: Any, sample_weight: Any) -> list[Any]:
    if isinstance(predictions, Readable) and predictions.problem is not None:
        refuse_extras(type(predictions).__name__, actuals=actuals, sample_weight=sample_weight)
        return [predictions]
    statistics = predictions if isinstance(predictions, (list, tuple)) else [predictions]
    if statistics and all(isinstance(item, Readable) and item.problem is None for item in statistics):
        refuse_extras("statistic", actuals=actuals, sample_weight=sample_weight)
        return list(statistics)
    return [as_predictions(predictions, actuals, sample_weight)]


def _value(row: Metric, sources: list[Any], options: dict[str, Any]) -> float:
    first = sources[0]
    if first.problem is not None:
        if first.problem not in row.kinds:
            raise UndefinedError(f"it is defined for {' and '.join(row.kinds)} predictions, these are {first.problem}")
        return _read(row, first, options) if rows_in(first) is None else float(row.function(first, **options))
    reasons = []
    for source in sorted(sources, key=lambda one: one.spacing not in (None, row.spacing)):
        if row.needs not in source.gives:
            continue
        try:
            return float(row.function(source, **options))
        except (UndefinedError, InputError) as reason:
            reasons.append(str(reason))
    raise UndefinedError("; ".join(reasons) or f"it needs {_READ_FROM[row.needs]}")


def _read(row: Metric, summary: Summary, options: dict[str, Any]) -> float:
    if row.needs not in summary.gives:
        raise UndefinedError(f"it needs {_READ_FROM[row.needs]}")
    try:
        return float(row.function(summary, **options))
    except InputError as reason:  # for example, bins that are not made of whole cells
        raise UndefinedError(str(reason)) from reason
