"""`Verdict`: what the numbers say, in words, and the ranges of scores that are off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from believable.report.wording import decimals, digits_apart, rows_rounded_up

ECE_GUIDELINE = (("excellent", 0.05), ("good", 0.10), ("moderate", 0.15))  # below so much ECE; otherwise poor
FACTOR_OFF_ON_THE_WHOLE = 1.25
Grade = Literal["excellent", "good", "moderate", "poor"]
Standing = Literal["off", "cannot be told from perfect", "too little data"]
Tone = Literal["good", "warn", "bad", "unsure"]
ConfidenceDirection = Literal["over-confident", "under-confident", "unclear"]


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

    @property
    def way(self) -> Literal["too high", "too low"]:
        """Which way the scores are off there."""
        return "too high" if self.conf > self.acc else "too low"

    def __str__(self) -> str:
        width = max(self.high - self.low, 1e-8)
        ends, digits = max(-math.floor(math.log10(width)), 2), decimals(3, self.conf, self.acc)
        rows = "row" if self.n == 1 else "rows"
        return (
            f"scores from {self.low:.{ends}f} to {self.high:.{ends}f} are {self.way}: "
            f"{self.conf:.{digits}f} predicted, {self.acc:.{digits}f} happened ({self.n:,} {rows})"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the numbers say, in words.

    Attributes
    ----------
    grade : {"excellent", "good", "moderate", "poor"}
        By the guideline ECE < 0.05, < 0.10, < 0.15.
    standing : {"off", "cannot be told from perfect", "too little data"}
        Whether the grade can be relied on. "Too little data" where the interval reaches from excellent to moderate.
    ece, low, high, level : float
        The ECE, and the interval for its value in the population.
    by_chance, q95 : float
        The ECE that a perfectly calibrated model with these scores would show on average, and at most in 19 of 20.
    p_value : float
        The chance that such a model shows as much; clusters, where they are named, are allowed for.
    beyond_chance : bool
        Whether such a model would show as large an ECE at most one time in twenty, or be off on the whole or in its
        confidence as much as here one time in a hundred.
    n_bins, strategy : int, str
        The bins it was computed with.
    notion : str
        Which probabilities it is about.
    n, n_clusters : int
        Rows, and the clusters that they come in; None where these were not named.
    mean_score, rate : float or None
        What was predicted and what happened on the whole, for 1-D scores.
    off_on_the_whole : bool
        Whether these two differ by more than chance explains.
    direction : {"over-confident", "under-confident", "unclear"}
        By mean confidence less accuracy, if that is more than chance explains.
    confidence, accuracy : float
        Of the predicted class; of the answers, with `pairs`.
    pairs : bool
        Whether the scores are confidences in an answer, and what happens is that it is right.
    one_sided : bool
        Whether nearly all scores of an event lie on one side of one half, as those of rare events do: then being too
        sure of what is predicted says nothing that "too high" or "too low" does not say better.
    places : tuple of Place
        Runs of bins whose 95 % interval leaves out the mean score; none where chance explains the whole.
    crowded : bool
        Whether one bin holds nine rows of ten, so that the bins tell little.
    """

    grade: Grade
    standing: Standing
    ece: float
    low: float
    high: float
    level: float
    by_chance: float
    q95: float
    p_value: float
    beyond_chance: bool
    n_bins: int
    strategy: str
    notion: str
    n: int
    n_clusters: int | None
    mean_score: float | None
    rate: float | None
    off_on_the_whole: bool
    direction: ConfidenceDirection
    confidence: float
    accuracy: float
    pairs: bool
    one_sided: bool
    places: tuple[Place, ...]
    crowded: bool

    @property
    def bins(self) -> str:
        """The bins, in words."""
        return f"{self.n_bins} {self.strategy} bins"

    @property
    def label(self) -> str:
        """Two or three words for a badge."""
        if self.standing == "off" and self.off_by_a_factor and self.grade in ("excellent", "good"):
            return "off on the whole"
        return self.grade if self.standing == "off" else self.standing

    @property
    def tone(self) -> Tone:
        """For a colour: nothing to mend, something, much, or not known."""
        if self.standing == "too little data":
            return "unsure"
        if self.standing == "cannot be told from perfect" or self.label in ("excellent", "good"):
            return "good"
        return "bad" if self.label == "poor" else "warn"

    @property
    def off_by_a_factor(self) -> bool:
        """Whether much more or less happened than predicted, which the ECE of rare events does not show."""
        if not self.off_on_the_whole or self.mean_score is None or self.rate is None:
            return False
        return not self.mean_score < FACTOR_OFF_ON_THE_WHOLE * self.rate < FACTOR_OFF_ON_THE_WHOLE**2 * self.mean_score

    @property
    def rows_needed(self) -> int | None:
        """About how many rows would tell excellent from moderate; None where these do.

        The interval shrinks with the root of the number of rows, and has to become narrower than 0.05.
        """
        if self.standing != "too little data":
            return None
        return rows_rounded_up(self.n * ((self.high - self.low) / ECE_GUIDELINE[0][1]) ** 2)

    @property
    def needed(self) -> str:
        """How much data would do, in words: clusters, where rows come in them."""
        if self.rows_needed is None:
            return ""
        if self.n_clusters is None:
            return f"About {self.rows_needed:,} rows"
        return f"About {rows_rounded_up(self.n_clusters * self.rows_needed / self.n):,} clusters"

    @property
    def headline(self) -> str:
        """The first sentence."""
        digits = digits_apart(self.low, self.high)
        interval = f"{100 * self.level:.4g} % interval {self.low:.{digits}f} … {self.high:.{digits}f}"
        above = " (chance adds to it)" if self.ece > self.high else ""
        value = f"ECE {self.ece:.{digits}f}{above}, {interval} ({self.bins})"
        chance = f"a perfectly calibrated model with these scores would show about {self.by_chance:.2g} by chance"
        if self.standing == "too little data":
            so_far = (
                "The scores are off, but there is too little data to say by how much"
                if self.beyond_chance
                else "There is too little data to tell good calibration from poor"
            )
            return f"{so_far}: {value}; {chance}. {self.needed} would do."
        if self.standing == "cannot be told from perfect":
            return f"Calibration cannot be told from perfect at this sample size: {value}; {chance}."
        if self.off_by_a_factor and self.grade in ("excellent", "good"):
            return f"The error is small on the scale of the ECE, but real: {value}; {chance}."
        though = ", though not perfect" if self.grade in ("excellent", "good") else ""
        return f"Calibration is {self.grade}{though}: {value}; {chance}."

    def lines(self) -> list[str]:
        """The verdict as sentences."""
        steps = ", ".join(f"below {below:.2f} {word}" for word, below in ECE_GUIDELINE)
        guideline = [f"Guideline for the ECE: {steps}, otherwise poor."] if self.standing == "off" else []
        return [self.headline, *guideline, *self.details()]

    def details(self) -> list[str]:
        """The sentences after the first, without the guideline: which way, and where."""
        sentences = []
        if self.mean_score is not None and self.rate is not None and not self.pairs:
            digits = decimals(4, self.mean_score, self.rate)
            means = f"mean score {self.mean_score:.{digits}f}, happened {self.rate:.{digits}f}"
            if self.off_by_a_factor and self.rate:
                means += (
                    f", {self.rate / self.mean_score:.2g} times as often as predicted"
                    if self.mean_score
                    else ", which had a probability of 0"
                )
            way = "high" if self.mean_score > self.rate else "low"
            start = "are off by no more than chance explains" if self.standing == "too little data" else "fit"
            start = f"are too {way}" if self.off_on_the_whole else start
            sentences.append(f"On the whole the scores {start}: {means}.")
        digits = decimals(4, self.confidence, self.accuracy)
        means = f"mean confidence {self.confidence:.{digits}f}, accuracy {self.accuracy:.{digits}f}"
        if self.one_sided and not self.pairs:
            pass  # it was said on the whole
        elif self.direction == "unclear":
            sentences.append(f"Neither over- nor under-confident beyond what chance explains: {means}.")
        else:
            sentences.append(f"The model is {self.direction}: {means}.")
        if not self.places:
            sentences.append("No range of scores is off by more than chance explains.")
        sentences += [f"{str(place)[0].upper()}{str(place)[1:]}." for place in self.places]
        if self.crowded:
            sentences.append("Nine rows of ten fall into one bin, so the bins tell little: try quantile bins.")
        return sentences

    def __str__(self) -> str:
        return "\n".join(self.lines())
