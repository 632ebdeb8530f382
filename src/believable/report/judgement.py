"""The verdict in words: how good, which way, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from believable._types import Notion, Strategy
from believable.counting import TEN, UNIFORM, count_bins
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.inference.noise_floor import noise_floor
from believable.metrics._error import binned_error
from believable.predictions import as_predictions
from believable.stats import BinStats, ScoreSums

GUIDELINE = (("excellent", 0.05), ("good", 0.10), ("moderate", 0.15))  # below so much ECE; otherwise poor
Grade = Literal["excellent", "good", "moderate", "poor"]
ONE_IN_TWENTY = 0.05
CROWD = 0.9
DRAWS = 4000
FACTOR = 1.25


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
            f"{self.conf:.3f} predicted, {self.acc:.3f} happened ({self.n:,} {'row' if self.n == 1 else 'rows'})"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the numbers say, in words.

    Attributes
    ----------
    grade : {"excellent", "good", "moderate", "poor"}
        By the guideline ECE < 0.05, < 0.10, < 0.15.
    ece : float
    by_chance : float
        The ECE that a perfectly calibrated model with these scores would show on average.
    beyond_chance : bool
        Whether such a model would show as large an ECE at most one time in twenty.
    bins : str
        The bins it was computed with, in words.
    mean_score, rate : float or None
        What was predicted and what happened on the whole, for 1-D scores.
    off_on_the_whole : bool
        Whether these two differ by more than two standard errors.
    direction : {"over-confident", "under-confident", "unclear"}
        By mean confidence less accuracy, if that is more than two standard errors from 0.
    confidence, accuracy : float
    places : tuple of Place
        Runs of bins whose 95 % interval leaves out the mean score.
    crowded : bool
        Whether one bin holds nine rows of ten, so that the bins tell little.
    """

    grade: Grade
    ece: float
    by_chance: float
    beyond_chance: bool
    bins: str
    mean_score: float | None
    rate: float | None
    off_on_the_whole: bool
    direction: Literal["over-confident", "under-confident", "unclear"]
    confidence: float
    accuracy: float
    places: tuple[Place, ...]
    crowded: bool

    @property
    def off_by_a_factor(self) -> bool:
        """Whether much more or less happened than predicted, which the ECE of rare events does not show."""
        if not self.off_on_the_whole or self.mean_score is None or self.rate is None or self.mean_score == 0:
            return False
        return not 1 / FACTOR < self.rate / self.mean_score < FACTOR

    def lines(self) -> list[str]:
        """The verdict as sentences."""
        value = f"ECE {self.ece:.4f} ({self.bins})"
        chance = f"a perfectly calibrated model with these scores would show about {self.by_chance:.2g} by chance"
        steps = ", ".join(f"below {below:.2f} {word}" for word, below in GUIDELINE)
        guideline = f"Guideline for the ECE: {steps}, otherwise poor."
        if self.beyond_chance and self.off_by_a_factor and self.grade in ("excellent", "good"):
            sentences = [f"The error is small on the scale of the ECE, but real: {value}; {chance}."]
        elif self.beyond_chance:
            sentences = [f"Calibration is {self.grade}: {value}; {chance}.", guideline]
        elif self.grade in ("excellent", "good"):
            sentences = [f"Calibration is {self.grade}, and cannot be told from perfect: {value}; {chance}.", guideline]
        else:
            sentences = [f"Calibration cannot be told from perfect with so few rows: {value}; {chance}."]
        if self.mean_score is not None and self.rate is not None:
            means = f"mean score {self.mean_score:.4f}, happened {self.rate:.4f}"
            if self.off_by_a_factor:
                means += f", {self.rate / self.mean_score:.2g} times as often as predicted"
            way = "high" if self.mean_score > self.rate else "low"
            start = f"On the whole the scores are too {way}" if self.off_on_the_whole else "On the whole the scores fit"
            sentences.append(f"{start}: {means}.")
        means = f"mean confidence {self.confidence:.4f}, accuracy {self.accuracy:.4f}"
        if self.direction == "unclear":
            sentences.append(f"Neither over- nor under-confident beyond what chance explains: {means}.")
        else:
            sentences.append(f"The model is {self.direction}: {means}.")
        if not self.places:
            sentences.append("No range of scores is off by more than its 95 % interval.")
        sentences += [f"{str(place)[0].upper()}{str(place)[1:]}." for place in self.places]
        if self.crowded:
            sentences.append("Nine rows of ten fall into one bin, so the bins tell little: try quantile bins.")
        return sentences

    def __str__(self) -> str:
        return "\n".join(self.lines())


def verdict(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Verdict:
    """Judge the calibration of predictions in words.

    The grade follows a guideline of the calibration literature for the ECE: below 0.05 excellent, below 0.10 good,
    below 0.15 moderate, otherwise poor. Small samples show a positive ECE even for a perfect model; the verdict says
    how much, and calls nothing moderate or poor that cannot be told from perfect. Nor does it call anything excellent
    or good where on the whole a quarter more or less happened than was predicted.

    Parameters are those of `expected_calibration_error`, for the notions "binary" and "confidence". What chance alone
    would show is simulated (`noise_floor`); with the same `random_state` the same words come out.

    Returns
    -------
    Verdict
        `print` it for the sentences.

    Examples
    --------
    >>> print(verdict([0.1, 0.2, 0.8, 0.9] * 25, [0, 0, 1, 1] * 25, n_bins=2))
    Calibration is poor: ECE 0.1500 (2 uniform bins); a perfectly calibrated model with these scores would show about
    0.04 by chance.
    Guideline for the ECE: below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise poor.
    On the whole the scores fit: mean score 0.5000, happened 0.5000.
    The model is under-confident: mean confidence 0.8500, accuracy 1.0000.
    Scores from 0.00 to 0.50 are too high: 0.150 predicted, 0.000 happened (50 rows).
    Scores from 0.50 to 1.00 are too low: 0.850 predicted, 1.000 happened (50 rows).
    """
    checked = as_predictions(predictions, actuals, sample_weight)
    stats = count_bins(checked, n_bins, strategy, notion=notion, squares=True)
    if stats.view.n_groups > 1:
        raise InputError(f"a verdict is about one curve, not notion={stats.view.notion!r}")
    ece, sums = binned_error(stats), ScoreSums.of(checked)
    floor = noise_floor("expected_calibration_error", stats, n_resamples=DRAWS, random_state=random_state)
    confidence, accuracy = sums.confidence / sums.w, sums.correct / sums.w
    binary = checked.kind == "binary"
    mean_score, rate = float(sums.wp[0] / sums.w), float(sums.wy[0] / sums.w)
    standard_error = float(np.sqrt(max((stats.w2p - stats.w2pp).sum(), 0)) / stats.w.sum())  # if perfectly calibrated
    return Verdict(
        grade=grade(ece),
        ece=ece,
        by_chance=floor.mean,
        beyond_chance=floor.p_value is not None and floor.p_value <= ONE_IN_TWENTY,
        bins=f"{stats.per_group} {stats.strategy} bins",
        mean_score=mean_score if binary else None,
        rate=rate if binary else None,
        off_on_the_whole=binary and abs(mean_score - rate) > 2 * standard_error,
        direction=_direction(confidence, accuracy, standard_error),
        confidence=confidence,
        accuracy=accuracy,
        places=tuple(_places(stats)),
        crowded=stats.strategy == "uniform" and stats.per_group > 1 and float(stats.w.max() / stats.w.sum()) > CROWD,
    )


def grade(ece: float) -> Grade:
    """The guideline's word for an ECE."""
    for word, below in GUIDELINE:
        if ece < below:
            return word  # type: ignore[return-value]
    return "poor"


def _direction(
    confidence: float, accuracy: float, standard_error: float
) -> Literal["over-confident", "under-confident", "unclear"]:
    if abs(confidence - accuracy) <= 2 * standard_error:
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
