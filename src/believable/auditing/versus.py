"""Two models on the same rows: the metrics of both, and the differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from believable._types import Ints
from believable.auditing.measure import options_for
from believable.errors import UndefinedError
from believable.inference.compare import compare
from believable.metrics import find_metric
from believable.predictions import Predictions
from believable.report.parts import COMPARISON_DRAWS, Versus

COMPARED_METRICS = ("ece", "smece", "brier", "nll", "auc", "acc")
# Rows times classes: with more, a metric that has to be recomputed for each draw gets fewer draws.
MAX_ENTRIES_WITH_ALL_DRAWS = 200_000
COSTLY_COMPARISON_DRAWS = 100


def versus(
    a: Predictions,
    b: Predictions,
    metrics: Sequence[str] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    cluster: Ints | None = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> tuple[Versus, ...]:
    """Compute metrics of both models, with the interval of the difference, first minus second (`compare`).

    Parameters
    ----------
    a, b : Predictions
        The predictions of both models for the same rows.
    metrics : sequence of str, optional
        Names or aliases. By default ECE, smooth ECE, Brier score, log loss, AUC and accuracy, as far as they are
        defined for these predictions.
    options : dict, optional
        Bins and notion, for the metrics that have these options.
    cluster : ndarray, optional
        The cluster of each row.
    level : float
        The confidence level of the intervals.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.

    Returns
    -------
    tuple of Versus
    """
    asked = metrics is not None
    found = []
    for row in map(find_metric, COMPARED_METRICS if metrics is None else metrics):
        if not asked and a.kind not in row.kinds:
            continue
        costly = row.needs == "pairs" and a.scores.size > MAX_ENTRIES_WITH_ALL_DRAWS
        try:
            one = compare(
                a,
                b,
                None,
                row.name,
                options=options_for(row, options or {}, a.kind),
                clusters=cluster,
                level=level,
                n_resamples=COSTLY_COMPARISON_DRAWS if costly else COMPARISON_DRAWS,
                random_state=random_state,
            )
        except UndefinedError:  # such as the AUC when all outcomes are the same
            if asked:
                raise
            continue
        found.append(Versus(one.metric, one.value_a, one.value_b, one.difference, one.low, one.high, one.p_value))
    return tuple(found)
