"""Split a loss into calibration, which recalibration can remove, and refinement, which it cannot."""

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
from believable.recalibrate.facts import ALIASES, as_method, in_words
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
        The part that recalibration removes. Slightly negative where there is nothing to correct.
    refinement : Interval
        The mean loss after recalibration.
    share : float
        calibration / score; NaN where the score is infinite, or 0.
    name : str
        The name of the proper score.
    method : str
        The alias of the recalibrator.
    """

    score: Interval
    calibration: Gain
    refinement: Interval
    share: float
    name: str
    method: str

    def __str__(self) -> str:
        whole, rest, gain = self.score, self.refinement, self.calibration
        name, method = SCORE_WORDS[self.name], in_words(ALIASES[self.method])
        if not math.isfinite(gain.value):
            before, after = ("infinite" if math.isinf(one.value) else f"{one.value:.4f}" for one in (whole, rest))
            return f"{name} {before} before recalibration by {method}, {after} after"
        effect = f"removes {100 * self.share:.1f} % of it" if gain.value > 0 else "does not lower it"
        return (
            f"{name} {whole.value:.4f} = calibration {gain.value:.4f} ({100 * gain.level:.4g} % interval "
            f"{gain.low:.4f} to {gain.high:.4f}) + refinement {rest.value:.4f}; recalibration by {method} {effect}"
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
    """Split a proper score into calibration and refinement, by cross-fitting.

    With q the predictions recalibrated out of fold: calibration = S(p) - S(q), refinement = S(q). Recalibration can
    remove the calibration part; the refinement part needs a better model. The split depends on the recalibrator: one
    that is too rigid leaves calibration error in the refinement, one that is too flexible adds noise to it.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    score : {"log_loss", "brier"}
        The proper score to split.
    method : str or Recalibrator, optional
        By default, beta calibration for two classes and temperature scaling for more.
    classes : sequence, optional
        The labels in the order of the columns, where they are not 0..K-1; for one event the event comes last.
    cv : int
        The number of folds.
    clusters : array-like of shape (n,), optional
        The cluster of each row. The rows of a cluster stay in one fold, and intervals count clusters, not rows.
    input : {"probabilities", "logits"}
        The scale of the predictions.
    level : float
        Confidence level of the intervals.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

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
