"""Two models on the same rows: the numbers of both, their differences, and what that means in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from believable._types import Ints
from believable.errors import UndefinedError
from believable.inference.compare import compare
from believable.metrics import find_metric
from believable.predictions import Predictions
from believable.report.asked import options_for
from believable.report.measure import shown, signed
from believable.report.parts import Versus

COMPARED = ("ece", "smece", "brier", "nll", "auc", "acc")
SHORT = {"ece": "ECE", "smece": "smooth ECE"}
BETTER = {
    "brier": "predicts better on the whole",
    "nll": "predicts better on the whole",
    "auc": "ranks better",
    "acc": "is right more often",
}
DRAWS, FEWER_DRAWS = 300, 100
SMALLEST_P = 2 / (1 + DRAWS)  # two-sided, that so many draws can tell
MOST_ENTRIES = 200_000  # rows times classes: beyond, what has to be computed anew for each draw gets fewer of them


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
    """Each metric of both models, with the interval of the difference, first less second (`compare`).

    Parameters
    ----------
    a, b : Predictions
        Of the same rows.
    metrics : sequence of str, optional
        Names or aliases. Left out: ECE, smooth ECE, Brier score, log loss, AUC and accuracy, as far as they exist for
        these predictions.
    options : dict, optional
        Bins and notion, for the metrics that know them.
    cluster : ndarray, optional
        The cluster of each row.
    level : float
    random_state : None, int or numpy Generator

    Returns
    -------
    tuple of Versus
    """
    asked = metrics is not None
    found = []
    for row in map(find_metric, COMPARED if metrics is None else metrics):
        if not asked and a.kind not in row.kinds:
            continue
        costly = row.needs == "pairs" and a.scores.size > MOST_ENTRIES
        try:
            one = compare(
                a,
                b,
                None,
                row.name,
                options=options_for(row, options or {}, a.kind),
                groups=cluster,
                level=level,
                n_resamples=FEWER_DRAWS if costly else DRAWS,
                random_state=random_state,
            )
        except UndefinedError:  # the AUC of one class, say: nothing to compare
            if asked:
                raise
            continue
        found.append(Versus(one.metric, one.value_a, one.value_b, one.difference, one.low, one.high, one.p_value))
    return tuple(found)


def in_words(one: Versus, a: str, b: str) -> str:
    """Which model is better at what, or that the difference can be chance.

    Examples
    --------
    >>> in_words(Versus("expected_calibration_error", 0.15, 0.05, 0.1, 0.08, 0.12, 0.01), "A", "B")
    'B is better calibrated: its ECE is 0.1000 lower (0.0800 … 0.1200).'
    >>> in_words(Versus("auc", 0.75, 0.76, -0.01, -0.03, 0.01, 0.2), "A", "B")
    'The difference in AUC can be chance: -0.0100 (-0.0300 … 0.0100).'
    >>> in_words(Versus("negative_log_likelihood", float("inf"), 0.3, float("inf"), -0.1, float("inf"), 0.8), "A", "B")
    'The difference in log loss can be chance: +infinite (-0.1000 … infinite).'
    >>> in_words(Versus("negative_log_likelihood", float("inf"), 0.3, float("inf"), 0.1, float("inf"), 0.01), "A", "B")
    'B predicts better on the whole: its log loss is infinitely lower (0.1000 … infinite).'
    """
    row = find_metric(one.name)
    what = SHORT.get(row.alias, one.title)
    if one.difference == one.low == one.high == 0:
        return f"Both have the same {what}."
    if one.low != one.low or one.high != one.high:
        return f"The two cannot be told apart by the {what}: it is infinite or undefined in some draws."
    if one.low <= 0 <= one.high:
        ends = f"({shown(one.low)} … {shown(one.high)})"
        return f"The difference in {what} can be chance: {signed(one.difference)} {ends}."
    higher, lower = (a, b) if one.low > 0 else (b, a)
    size, low, high = (one.difference, one.low, one.high) if one.low > 0 else (-one.difference, -one.high, -one.low)
    ends = f"({shown(low)} … {shown(high)})"
    outside = "" if low <= size <= high else "; chance adds more to one than to the other, so go by the interval"
    if row.direction is None:
        return f"{higher} has the higher {what}, by {shown(size)} {ends}{outside}."
    better, way = (lower, "lower") if row.direction == "lower" else (higher, "higher")
    praise = "is better calibrated" if row.power is not None else BETTER.get(row.alias, "is better")
    return (
        f"{better} {praise}: its {what} is {'infinitely' if math.isinf(size) else shown(size)} {way} {ends}{outside}."
    )
