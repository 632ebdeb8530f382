"""The noise floor: the value of a metric under perfect calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Float64s
from believable.errors import UndefinedError
from believable.inference.bootstrap import defined, one_value
from believable.inference.clusters import has_several_pairs_per_row
from believable.inference.null import LabelDraws, drawn_outcomes
from believable.inference.question import Question, ask
from believable.inference.sums import statistic_floor
from believable.stats import Summary
from believable.stats.source import is_checked

POINTS_OF_FLOOR = 500  # scores are merged into about this many points
# With more rows, sums of 1-D scores are drawn from their cells, because a thousand passes over all rows are slow.
MAX_ROWS_REREAD = 50_000


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The distribution of a metric under perfect calibration.

    Attributes
    ----------
    mean, q95 : float
        Mean of the finite values, and the 95th percentile of all.
    value : float or None
        The metric of the data, if outcomes were given.
    p_value : float or None
        Probability of a value at least as bad under perfect calibration.
    """

    mean: float
    q95: float
    p_value: float | None
    value: float | None

    def __str__(self) -> str:
        floor = f"a perfectly calibrated model would show about {self.mean:.4g} (95th percentile {self.q95:.4g})"
        if self.value is None or self.p_value is None:
            return floor
        return f"{self.value:.4g}; {floor}; p = {self.p_value:.2g}"

    __repr__ = __str__


def noise_floor(
    metric: str | Callable[..., Any],
    predictions: Any,
    actuals: Any = None,
    *,
    options: Mapping[str, Any] | None = None,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> NoiseFloor:
    """Simulate a metric under perfect calibration, with labels drawn from the predictions themselves.

    Even a perfectly calibrated model shows a positive error in any finite sample. The noise floor is how large that
    error is for these scores, this number of rows and this metric; the p-value is how unusual the observed value is.

    Parameters
    ----------
    metric : str or callable
        A name or alias from the table of metrics, or a function of (predictions, actuals) that returns a number.
    predictions : array-like, Predictions, BinStats, CellStats or Summary
        Scores, or a statistic of them. From a statistic, outcomes are drawn cell by cell at the mean score, treating
        three or more classes as independent and two classes as complementary. Metrics of sums (proper scores, accuracy)
        of more than 50,000 1-D scores are drawn the same way.
    actuals : array-like of shape (n,), optional
        Outcomes or class numbers. Without them there is a floor, but no value and no p-value.
    options : dict, optional
        Options of the metric, such as `{"n_bins": 15}`.
    n_resamples : int
        Number of sets of labels drawn.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    NoiseFloor
        The p-value is (1 + number of values as bad or worse) / (1 + n_resamples); it is two-sided for metrics whose
        best value lies inside their range. For a custom function, lower is taken to be better. Rows are treated as
        independent, and a soft label as one draw, however many annotators it represents.

    References
    ----------
    Bröcker, Smith (2007), Weather and Forecasting.

    Examples
    --------
    >>> import numpy as np
    >>> floor = noise_floor("ece", np.linspace(0.001, 0.999, 1000), options={"n_bins": 15}, random_state=0)
    >>> round(floor.mean, 2)
    0.04
    """
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 1)
    known = actuals is not None or is_checked(predictions)
    stand_in = actuals if known else np.zeros(np.shape(predictions)[:1], np.int64)
    question = ask(metric, predictions, stand_in, sample_weight, options)
    exact = (
        question.value() if known else None
    )  # comes first, so that the metric refuses a statistic that does not suffice
    drawn, value = floor_replicates(question, n_resamples, generator(random_state), known)
    if _is_mirrored(question):
        assert question.row is not None
        drawn = np.maximum(drawn.mean() + math.sqrt(2) * (drawn - drawn.mean()), question.row.low)
    p_value = None if value is None else _p_value(question, drawn, value)
    q95 = float(np.quantile(drawn, 0.95, method="inverted_cdf"))  # interpolation would fail for infinite draws
    finite = drawn[np.isfinite(drawn)]
    return NoiseFloor(float(np.mean(finite)) if len(finite) else float(drawn[0]), q95, p_value, exact)


def floor_replicates(
    question: Question, n_draws: int, rng: np.random.Generator, known: bool = True
) -> tuple[Float64s, float | None]:
    """Return the metric of redrawn outcomes, and of the data at the same resolution if outcomes are known."""
    rows = question.rows
    cells = None if question.power is None else question.cells(POINTS_OF_FLOOR)
    if cells is None:
        if rows is None:
            return _of_statistic(question, n_draws, rng)
        if question.is_of_sums and rows.kind == "binary" and len(rows) > MAX_ROWS_REREAD:
            found, _ = _of_statistic(replace(question, source=Summary.of(rows)), n_draws, rng)
            return found, question.value() if known else None
        draws = LabelDraws(rows, rng)
        values = [one_value(question, rows.relabelled(draws.draw())) for _ in range(n_draws)]
        return defined(np.array(values)), question.value() if known else None
    if rows is not None and has_several_pairs_per_row(cells.statistic.view):
        outcomes = drawn_outcomes(rows, cells, n_draws, rng)
    else:
        outcomes = cells.draw(cells.conf, rng, n_draws)
    observed = question.replicates(cells.with_outcomes(cells.wy))
    return question.replicates(cells.with_outcomes(outcomes)), float(observed[0]) if known else None


def _is_mirrored(question: Question) -> bool:
    """Return whether a statistic holds two complementary classes, which vary too little if drawn independently."""
    view = question.counted_view
    return view is not None and view.n_classes == 2 and not view.multilabel and has_several_pairs_per_row(view)


def _of_statistic(question: Question, n_draws: int, rng: np.random.Generator) -> tuple[Float64s, float]:
    """Return the same for other metrics of a statistic: outcomes are drawn cell by cell, at the mean score."""
    row = question.row
    assert row is not None
    if row.needs == "sums":
        return statistic_floor(question, n_draws, rng), question.value()
    cells: Any = question.cells(POINTS_OF_FLOOR)
    if cells is None:
        raise UndefinedError("the noise floor of this metric needs the predictions, not a statistic of them")
    outcomes = cells.draw(cells.conf, rng, n_draws)
    if cells.are_bins:
        return question.replicates(cells.with_products(outcomes)), question.value()
    found = [one_value(question, cells.with_outcomes(one)) for one in outcomes]
    return defined(np.array(found)), one_value(question, cells.with_outcomes(cells.wy))


def _p_value(question: Question, drawn: Float64s, value: float) -> float:
    tiny = 1e-12 * abs(value) if math.isfinite(value) else 0.0  # equal except for rounding counts as equal
    above = (1 + np.count_nonzero(drawn >= value - tiny)) / (1 + len(drawn))
    below = (1 + np.count_nonzero(drawn <= value + tiny)) / (1 + len(drawn))
    row = question.row
    if row is None or row.direction == "lower":
        return float(above)
    return float(below) if row.direction == "higher" else float(min(1.0, 2 * min(above, below)))
