"""The verdict in words: how good, which way, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from believable._types import Notion, Strategy
from believable.counting import TEN, count_bins
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.metrics._error import binned_error
from believable.predictions import as_predictions
from believable.stats import BinStats, ScoreSums

GUIDELINE = (("excellent", 0.05), ("good", 0.10), ("moderate", 0.15))  # below so much ECE; otherwise poor
Grade = Literal["excellent", "good", "moderate", "poor"]


@dataclass(frozen=True, slots=True)
class Place:
    """A range of scores where prediction and outcome differ by more than chance makes likely.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    conf, acc : float
        What was predicted and what happened there, on average.
    n : int
        Rows.
    """

    low: float
    high: float
    conf: float
    acc: float
    n: int

    def __str__(self) -> str:
        way = "too high" if self.conf > self.acc else "too low"
        return (
            f"scores from {self.low:.2f} to {self.high:.2f} are {way}: "
            f"{self.conf:.3f} predicted, {self.acc:.3f} happened ({self.n:,} rows)"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the numbers say, in words.

    Attributes
    ----------
    grade : {"excellent", "good", "moderate", "poor"}
        By the guideline ECE < 0.05, < 0.10, < 0.15.
    ece : float
    bins : str
        The bins it was computed with, in words.
    direction : {"over-confident", "under-confident", "unclear"}
        By mean confidence less accuracy, if that is more than two standard errors from 0.
    confidence, accuracy : float
    places : tuple of Place
        Runs of bins whose 95 % interval leaves out the mean score.
    """

    grade: Grade
    ece: float
    bins: str
    direction: Literal["over-confident", "under-confident", "unclear"]
    confidence: float
    accuracy: float
    places: tuple[Place, ...]

    def lines(self) -> list[str]:
        """The verdict as sentences."""
        steps = ", ".join(f"below {below:.2f} {word}" for word, below in GUIDELINE)
        sentences = [
            f"Calibration is {self.grade}: ECE {self.ece:.3f} ({self.bins}).",
            f"Guideline for the ECE: {steps}, otherwise poor.",
        ]
        means = f"mean confidence {self.confidence:.3f}, accuracy {self.accuracy:.3f}"
        if self.direction == "unclear":
            sentences.append(f"Neither over- nor under-confident beyond what chance explains: {means}.")
        else:
            sentences.append(f"The model is {self.direction}: {means}.")
        if not self.places:
            sentences.append("No range of scores is off by more than its 95 % interval.")
        return sentences + [f"{str(place)[0].upper()}{str(place)[1:]}." for place in self.places]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def verdict(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = "uniform",
    *,
    notion: Notion | None = None,
    sample_weight: Any = None,
) -> Verdict:
    """Judge the calibration of predictions in words.

    The grade follows a guideline of the calibration literature for the ECE: below 0.05 excellent, below 0.10 good,
    below 0.15 moderate, otherwise poor. Small samples show a positive ECE even for a perfect model, so read it with
    n.

    Parameters are those of `expected_calibration_error`, for the notions "binary" and "confidence".

    Examples
    --------
    >>> print(verdict([0.1, 0.2, 0.8, 0.9] * 25, [0, 0, 1, 1] * 25, n_bins=2))
    Calibration is poor: ECE 0.150 (2 uniform bins).
    Guideline for the ECE: below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise poor.
    The model is under-confident: mean confidence 0.850, accuracy 1.000.
    Scores from 0.00 to 0.50 are too high: 0.150 predicted, 0.000 happened (50 rows).
    Scores from 0.50 to 1.00 are too low: 0.850 predicted, 1.000 happened (50 rows).
    """
    checked = as_predictions(predictions, actuals, sample_weight)
    stats = count_bins(checked, n_bins, strategy, notion=notion)
    if stats.view.n_groups > 1:
        raise InputError(f"a verdict is about one curve, not notion={stats.view.notion!r}")
    ece, sums = binned_error(stats), ScoreSums.of(checked)
    confidence, accuracy = sums.confidence / sums.w, sums.correct / sums.w
    return Verdict(
        grade=grade(ece),
        ece=ece,
        bins=f"{stats.per_group} {stats.strategy} bins",
        direction=_direction(confidence, accuracy, sums.w**2 / sums.w2),
        confidence=confidence,
        accuracy=accuracy,
        places=tuple(_places(stats)),
    )


def grade(ece: float) -> Grade:
    """The guideline's word for an ECE."""
    for word, below in GUIDELINE:
        if ece < below:
            return word  # type: ignore[return-value]
    return "poor"


def _direction(confidence: float, accuracy: float, n: float) -> Literal["over-confident", "under-confident", "unclear"]:
    variance = max(confidence * (1 - confidence), accuracy * (1 - accuracy))
    if abs(confidence - accuracy) <= 2 * np.sqrt(variance / n):
        return "unclear"
    return "over-confident" if confidence > accuracy else "under-confident"


def _places(stats: BinStats) -> list[Place]:
    """Neighbouring bins that are off in the same direction, together."""
    table = table_of(stats)
    with np.errstate(invalid="ignore"):
        sign = np.where(table.conf > table.high, -1, np.where(table.conf < table.low, 1, 0))
    occupied = np.flatnonzero(table.n)
    places: list[Place] = []
    run: list[int] = []
    for i, following in zip(occupied, [*occupied[1:], None], strict=True):
        if sign[i]:
            run.append(int(i))
        if run and (following is None or sign[following] != sign[run[0]]):
            weight = table.weight[run]
            conf, acc = np.average(table.conf[run], weights=weight), np.average(table.acc[run], weights=weight)
            places.append(
                Place(
                    float(table.edges[run[0], 0]),
                    float(table.edges[run[-1], 1]),
                    float(conf),
                    float(acc),
                    int(table.n[run].sum()),
                )
            )
            run = []
    return places
