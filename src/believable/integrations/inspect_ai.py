"""Calibration as a metric of Inspect AI, called `believable/calibration_error` there.

Inspect finds it through the entry point `inspect_ai`. Logs are read by `believable audit run.eval`, which needs no
Inspect.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inspect_ai.scorer

from believable.errors import BelievableError, MissingDependencyError

# Before, a metric could not ask for the scores of all epochs, but only for one of each sample.
SEES_EPOCHS = "scores" in inspect.signature(inspect_ai.scorer.metric).parameters
registered: Callable[..., Any] = (
    inspect_ai.scorer.metric(scores="unreduced") if SEES_EPOCHS else inspect_ai.scorer.metric
)
logger = logging.getLogger(__name__)


@registered
def calibration_error(
    metric: str = "ece",
    confidence: str | None = None,
    correct: str | None = None,
    percent: bool = False,
    **options: Any,
) -> inspect_ai.scorer.Metric:
    """Make a metric that compares the confidence of each answer with whether it was correct.

    A scorer notes the confidence in its score: `Score(value="C", metadata={"confidence": 0.8})`. Every epoch of a
    sample counts as an answer. The rules for confidences and marks are those of `believable audit run.eval`, but there
    are no log probabilities.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics, by default the expected calibration error.
    confidence : str, optional
        Where the confidence is: a key of the score's metadata or of its value. By default, the key with one of the
        usual names, such as confidence.
    correct : str, optional
        The key of the mark, if scores have several values.
    percent : bool
        Confidences that are numbers are percentages. Text with a percent sign always is.
    **options
        Options of the metric, such as `n_bins=15`.

    Returns
    -------
    Metric
        Its value is NaN, and the log of Inspect has a warning with the reason, if scores have no confidence or are not
        marks: an evaluation does not fail because of it.

    Examples
    --------
    >>> from inspect_ai.scorer import SampleScore, Score
    >>> measure = calibration_error("brier")
    >>> scores = [Score(value=mark, metadata={"confidence": 0.9}) for mark in ("C", "C", "I")]
    >>> round(measure([SampleScore(score=score) for score in scores]), 4)
    0.2767
    """
    from believable.metrics.scorer import scorer
    from believable.metrics.table import find_metric
    from believable.readers.logs.inspect_ai import answers_in

    if not SEES_EPOCHS:
        raise MissingDependencyError(
            "this metric needs the scores of all epochs: pip install --upgrade 'inspect_ai>=0.3.241'"
        )
    asked = scorer(metric, **options)  # checks the name and the options
    row = find_metric(asked.name)

    def measured(scores: list[inspect_ai.scorer.SampleScore]) -> float:
        def samples(header: dict[str, Any]) -> Iterator[dict[str, Any]]:
            return (_as_in_a_log(one) for one in scores)

        try:
            answers = answers_in(
                samples, Path("calibration_error"), confidence=confidence, correct=correct, percent=percent
            )
            return float(row.function(answers.predictions, **asked.options))
        except BelievableError as error:
            logger.warning("%s", error)
            return float("nan")

    return measured


def _as_in_a_log(one: inspect_ai.scorer.SampleScore) -> dict[str, Any]:
    """Return a score as a sample in a log of Inspect."""
    score = {"value": one.score.value, "metadata": one.score.metadata}
    return {"id": one.sample_id, "scores": {one.scorer or "score": score}, "metadata": one.sample_metadata}
