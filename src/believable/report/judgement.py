"""The verdict in words: how good, which way, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from believable._random import generator
from believable._types import Float64s, Ints, Notion, Strategy
from believable.counting import TEN, UNIFORM, count_bins
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.inference._cells import Cells
from believable.inference._clustered import chance_of_clusters
from believable.inference._question import ask
from believable.inference._units import cluster_of_rows
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.predictions import Predictions, as_predictions
from believable.stats import BinStats, ScoreSums
from believable.stats.sums import row_terms

GUIDELINE = (("excellent", 0.05), ("good", 0.10), ("moderate", 0.15))  # below so much ECE; otherwise poor
Grade = Literal["excellent", "good", "moderate", "poor"]
Standing = Literal["off", "cannot be told from perfect", "too little data"]
Direction = Literal["over-confident", "under-confident", "unclear"]
ONE_IN_TWENTY, ONE_IN_HUNDRED = 0.05, 0.01
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

    @property
    def way(self) -> Literal["too high", "too low"]:
        """Of the scores."""
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
    n : int
        Rows.
    mean_score, rate : float or None
        What was predicted and what happened on the whole, for 1-D scores.
    off_on_the_whole : bool
        Whether these two differ by more than chance explains.
    direction : {"over-confident", "under-confident", "unclear"}
        By mean confidence less accuracy, if that is more than chance explains.
    confidence, accuracy : float
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
    mean_score: float | None
    rate: float | None
    off_on_the_whole: bool
    direction: Direction
    confidence: float
    accuracy: float
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
    def off_by_a_factor(self) -> bool:
        """Whether much more or less happened than predicted, which the ECE of rare events does not show."""
        if not self.off_on_the_whole or self.mean_score is None or self.rate is None:
            return False
        return not self.mean_score < FACTOR * self.rate < FACTOR**2 * self.mean_score

    @property
    def rows_needed(self) -> int | None:
        """About how many rows would tell excellent from moderate; None where these do.

        The interval shrinks with the root of the number of rows, and has to become narrower than 0.05.
        """
        if self.standing != "too little data":
            return None
        return rounded_up(self.n * ((self.high - self.low) / GUIDELINE[0][1]) ** 2)

    @property
    def headline(self) -> str:
        """The first sentence."""
        interval = f"{100 * self.level:.4g} % interval {self.low:.4f} … {self.high:.4f}"
        value = f"ECE {self.ece:.4f}, {interval} ({self.bins})"
        chance = f"a perfectly calibrated model with these scores would show about {self.by_chance:.2g} by chance"
        if self.standing == "too little data":
            so_far = (
                "The scores are off, but there is too little data to say by how much"
                if self.beyond_chance
                else "There is too little data to tell good calibration from poor"
            )
            return f"{so_far}: {value}; {chance}. About {self.rows_needed:,} rows would do."
        if self.standing == "cannot be told from perfect":
            return f"Calibration cannot be told from perfect at this sample size: {value}; {chance}."
        if self.off_by_a_factor and self.grade in ("excellent", "good"):
            return f"The error is small on the scale of the ECE, but real: {value}; {chance}."
        though = ", though not perfect" if self.grade in ("excellent", "good") else ""
        return f"Calibration is {self.grade}{though}: {value}; {chance}."

    def lines(self) -> list[str]:
        """The verdict as sentences."""
        sentences = [self.headline]
        if self.standing == "off":
            steps = ", ".join(f"below {below:.2f} {word}" for word, below in GUIDELINE)
            sentences.append(f"Guideline for the ECE: {steps}, otherwise poor.")
        if self.mean_score is not None and self.rate is not None:
            digits = decimals(4, self.mean_score, self.rate)
            means = f"mean score {self.mean_score:.{digits}f}, happened {self.rate:.{digits}f}"
            if self.off_by_a_factor:
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
        if self.direction == "unclear":
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


def verdict(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    pooled: bool = False,
    groups: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Verdict:
    """Judge the calibration of predictions in words.

    The grade follows a guideline of the calibration literature for the ECE: below 0.05 excellent, below 0.10 good,
    below 0.15 moderate, otherwise poor. Small samples show a positive ECE even for a perfect model; the verdict says
    how much, and gives no grade where that explains what is seen, or where the interval of the ECE reaches from
    excellent to moderate. Nor does it call anything excellent or good where on the whole a quarter more or less
    happened than was predicted.

    Parameters are those of `expected_calibration_error`, for notions with one curve ("binary", "confidence", or others
    with pooled=True). What chance alone would show is simulated (`noise_floor`); with the same `random_state` the same
    words come out. Rows that belong together (patients, queries) are named by `groups`, as in `interval`.

    Returns
    -------
    Verdict
        `print` it for the sentences.

    Examples
    --------
    >>> print(verdict([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, n_bins=2))
    Calibration is poor: ECE 0.1500, 95 % interval 0.1... … 0.1... (2 uniform bins); a perfectly calibrated model with
    these scores would show about 0.02... by chance.
    Guideline for the ECE: below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise poor.
    On the whole the scores fit: mean score 0.5000, happened 0.5000.
    The model is under-confident: mean confidence 0.8500, accuracy 1.0000.
    Scores from 0.00 to 0.50 are too high: 0.150 predicted, 0.000 happened (100 rows).
    Scores from 0.50 to 1.00 are too low: 0.850 predicted, 1.000 happened (100 rows).
    """
    checked = as_predictions(predictions, actuals, sample_weight)
    stats = count_bins(checked, n_bins, strategy, notion=notion, pooled=pooled, squares=True)
    if stats.view.n_groups > 1:
        raise InputError(f"a verdict is about one curve, not notion={stats.view.notion!r}: pass pooled=True")
    cluster = cluster_of_rows(groups, predictions, checked, sample_weight)
    options = {"n_bins": n_bins, "strategy": strategy, "notion": notion, "pooled": pooled}
    ends = interval("ece", checked, options=options, groups=cluster, level=level, random_state=random_state)
    floor = noise_floor("ece", checked, options=options, n_resamples=DRAWS, random_state=random_state)
    sums = ScoreSums.of(checked)
    binary = checked.kind == "binary"
    means = Means(
        confidence=sums.confidence / sums.w,
        accuracy=sums.correct / sums.w,
        mean_score=float(sums.wp[0] / sums.w) if binary else None,
        rate=float(sums.wy[0] / sums.w) if binary else None,
    )
    shift, tilt = (
        means.chances(stats, _confident(checked, stats, n_bins, strategy), generator(random_state))
        if cluster is None
        else means.chances_of_clusters(checked, cluster)
    )
    chance = floor.p_value or 1.0
    if cluster is not None:
        asked = ask("ece", checked, options=options)
        chance = max(chance, chance_of_clusters(asked, cluster, DRAWS, generator(random_state)))
    by_ece = chance <= ONE_IN_TWENTY
    low = ends.low if by_ece or level < 0.95 else 0.0  # few clusters vary too little to say so themselves
    beyond = by_ece or min(shift, tilt) <= ONE_IN_HUNDRED
    unlikely = ONE_IN_TWENTY if by_ece else ONE_IN_HUNDRED
    return Verdict(
        grade=grade(ends.value),
        standing=_standing(low, ends.high, beyond),
        ece=ends.value,
        low=low,
        high=ends.high,
        level=level,
        by_chance=floor.mean,
        q95=floor.q95,
        p_value=chance,
        beyond_chance=beyond,
        n_bins=stats.per_group,
        strategy=stats.strategy,
        notion=stats.view.notion,
        n=len(checked),
        mean_score=means.mean_score,
        rate=means.rate,
        off_on_the_whole=binary and shift <= unlikely,
        direction=means.direction if tilt <= unlikely else "unclear",
        confidence=means.confidence,
        accuracy=means.accuracy,
        places=tuple(_places(stats)) if beyond else (),
        crowded=stats.strategy == "uniform" and stats.per_group > 1 and float(stats.w.max() / stats.w.sum()) > CROWD,
    )


def _standing(low: float, high: float, beyond_chance: bool) -> Standing:
    (_, excellent), (_, good), _ = GUIDELINE
    if low < excellent and high >= good:
        return "too little data"
    return "off" if beyond_chance else "cannot be told from perfect"


@dataclass(frozen=True, slots=True)
class Means:
    """What was predicted and what happened, on the whole and of the predicted class."""

    confidence: float
    accuracy: float
    mean_score: float | None
    rate: float | None

    @property
    def direction(self) -> Direction:
        return "over-confident" if self.confidence > self.accuracy else "under-confident"

    @property
    def shift(self) -> float:
        """Of the scores on the whole; none for a matrix, whose rows sum to one."""
        return 0.0 if self.mean_score is None or self.rate is None else self.rate - self.mean_score

    def chances(self, stats: BinStats, confident: BinStats | None, rng: np.random.Generator) -> tuple[float, float]:
        """How often a calibrated model is off as much on the whole, and in its confidence.

        Outcomes are drawn bin by bin, since a normal limit is too quick to call rare events off. The confidence of the
        predicted class has bins of its own where the others are about something else; that of an event, which is its
        score or what is left of it, has not.
        """
        drift = _drift(stats, rng)
        if confident is None:
            tilt = (np.where(stats.conf > 0.5, 1, -1) * drift).sum(axis=1)
        else:
            tilt = (drift if confident is stats else _drift(confident, rng)).sum(axis=1)
        return _chance(drift.sum(axis=1), self.shift), _chance(tilt, self.accuracy - self.confidence)

    def chances_of_clusters(self, predictions: Predictions, cluster: Ints) -> tuple[float, float]:
        """The same where rows come in clusters: by the spread of what whole clusters add up to."""
        from scipy.special import stdtr

        terms = row_terms(predictions)
        weight = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
        n_clusters = int(cluster.max()) + 1
        chances = []
        for gap, size in (
            ((terms["y"] - terms["p"])[:, 0], self.shift),
            (_row_mean(terms["correct"] - terms["confidence"]), self.accuracy - self.confidence),
        ):
            sums = np.bincount(cluster, weight * gap, n_clusters)
            error = float(np.sqrt((sums**2).sum() * n_clusters / (n_clusters - 1)) / weight.sum())
            chances.append(float(2 * stdtr(n_clusters - 1, -abs(size) / error)) if error else 1.0)
        return chances[0] if self.mean_score is not None else 1.0, chances[1]


def _confident(predictions: Predictions, stats: BinStats, n_bins: int, strategy: Strategy) -> BinStats | None:
    """Bins of the predicted class's probability; None for events, of which none is predicted in the place of others."""
    if predictions.kind != "multiclass":
        return None
    if stats.view.notion in ("confidence", "top_label"):
        return stats
    return count_bins(predictions, n_bins, strategy, notion="confidence", squares=True)


def _drift(stats: BinStats, rng: np.random.Generator) -> Float64s:
    """What calibrated outcomes add to the scores by chance, draw by draw and bin by bin, as a share of all."""
    cells = Cells.of(stats, [])
    return np.asarray((cells.draw(cells.conf, rng, DRAWS) - stats.wp) / stats.w.sum())


def _row_mean(values: Float64s) -> Float64s:
    return values if values.ndim == 1 else np.asarray(values.mean(axis=1))


def _chance(drawn: Float64s, seen: float) -> float:
    """Two-sided, with values equal but for rounding counted as equal."""
    return float((1 + np.count_nonzero(np.abs(drawn) >= abs(seen) - 1e-12)) / (1 + len(drawn)))


def decimals(least: int, *shares: float) -> int:
    """Digits after the point: two that count of the smallest share, and of what the largest lacks of 1; at most 8."""
    seen = [one for share in shares for one in (share, 1 - share) if one > 1e-8]
    return min(max([least, *(1 - math.floor(math.log10(one)) for one in seen)]), 8)


def rounded_up(number: float) -> int:
    """To two digits that count: a number of rows that is asked for is never less than those there are."""
    step: int = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / step - 1e-9) * step


def grade(ece: float) -> Grade:
    """The guideline's word for an ECE."""
    for word, below in GUIDELINE:
        if ece < below:
            return word  # type: ignore[return-value]
    return "poor"


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
