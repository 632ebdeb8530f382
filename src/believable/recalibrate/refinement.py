"""How much of a loss is calibration, which a map can mend, and how much is refinement, which it cannot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from believable import _check
from believable._check import renamed
from believable.inference.interval import Interval
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import (
    SCORE_WORDS,
    FoldSettings,
    Gain,
    RowsInFolds,
    Score,
    check_score,
    interval_of,
    loss_gain,
    row_losses,
)
from believable.recalibrate.facts import as_method
from believable.recalibrate.inputs import Input
from believable.recalibrate.select import check_method


@dataclass(frozen=True, slots=True)
class Refinement:
    """A proper score in two parts: score = calibration + refinement.

    Attributes
    ----------
    score : Interval
        The mean loss of the scores as they are.
    calibration : Gain
        What recalibration takes off it. Slightly negative where there is nothing to mend.
    refinement : Interval
        The mean loss that is left after it.
    share : float
        calibration / score; NaN where the score is infinite, or 0.
    name : str
        Of the proper score.
    method : str
        The recalibrator.
    """

    score: Interval
    calibration: Gain
    refinement: Interval
    share: float
    name: str
    method: str

    def __str__(self) -> str:
        whole, rest, gain = self.score, self.refinement, self.calibration
        name = SCORE_WORDS[self.name]
        if not math.isfinite(gain.value):
            before, after = ("infinite" if math.isinf(one.value) else f"{one.value:.4f}" for one in (whole, rest))
            return f"{name} {before}, and {after} after recalibration by {self.method}"
        return (
            f"{name} {whole.value:.4f} = calibration {gain.value:.4f} ({gain.low:.4f} … {gain.high:.4f}) + refinement "
            f"{rest.value:.4f}; recalibration by {self.method} takes {100 * self.share:.1f} % off it"
        )


@renamed(groups="clusters")
def refinement(
    predictions: Any,
    actuals: Any = None,
    *,
    score: Score = "log_loss",
    method: str | Recalibrator | None = None,
    classes: Sequence[Any] | None = None,
    cv: int = 5,
    clusters: Any = None,
    input: Input = "probabilities",
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Refinement:
    """The calibration and refinement parts of a proper score, cross-fitted.

    With q the predictions recalibrated out of fold: calibration = S(p) - S(q), refinement = S(q). What a map can mend
    is calibration; refinement needs a better model. The split is as good as the map: one that cannot bend enough leaves
    some calibration error in the refinement, one that bends too much adds noise to it.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    score : {"log_loss", "brier"}
    method : str or Recalibrator, optional
        None: beta calibration for two classes, temperature scaling for more.
    classes : sequence, optional
        The labels in the order of the columns, where they are not 0..K-1; for one event the event comes last.
    cv : int
    clusters : array-like of shape (n,), optional
        Clusters that stay in one fold.
    input : {"probabilities", "logits"}
    level : float
    random_state : None, int or numpy Generator
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Refinement

    References
    ----------
    Berta, Holzmüller, Jordan, Bach (2025), Rethinking early stopping: refine, then calibrate.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=4000)
    >>> y = rng.random(4000) < 1 / (1 + np.exp(-z))
    >>> found = refinement(1 / (1 + np.exp(-3 * z)), y)
    >>> found.calibration.is_sure, abs(found.score.value - found.calibration.value - found.refinement.value) < 1e-12
    (True, True)
    """
    score, level = check_score(score), _check.level(level)
    _check.choice(input, ("probabilities", "logits"), "input")
    chosen = None if method is None else as_method(method)
    if chosen is not None:
        check_method(chosen, input)
    problem = RowsInFolds.of(
        predictions, actuals, FoldSettings(input, classes, cv, clusters, sample_weight, random_state)
    )
    if chosen is None:
        chosen = as_method("beta" if problem.baseline.predictions.n_classes == 2 else "temperature")
    mapped = problem.cross_fitted(chosen)
    whole, rest = (interval_of(row_losses(each, score), problem, level) for each in (problem.baseline, mapped))
    gain = loss_gain(problem.baseline, mapped, score, problem, level)
    finite = whole.value > 0 and math.isfinite(whole.value) and math.isfinite(rest.value)
    return Refinement(whole, gain, rest, gain.value / whole.value if finite else math.nan, score, chosen.facts.alias)
