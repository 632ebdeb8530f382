"""The verdict in words: how good, which way, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from believable._random import generator
from believable._types import Notion, Strategy
from believable.counting import TEN, UNIFORM, count_bins
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.inference._clustered import chance_of_clusters
from believable.inference._question import ask
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.predictions import Predictions
from believable.report._digits import decimals, digits_apart, rounded_up
from believable.report.clustered import effective_rows
from believable.report.means import DRAWS, Direction, Means, confidence_bins
from believable.report.places import Place, places_of
from believable.report.source import as_source, cluster_of, n_rows, sums_of
from believable.stats import BinStats

GUIDELINE = (("excellent", 0.05), ("good", 0.10), ("moderate", 0.15))  # below so much ECE; otherwise poor
Grade = Literal["excellent", "good", "moderate", "poor"]
Standing = Literal["off", "cannot be told from perfect", "too little data"]
Tone = Literal["good", "warn", "bad", "unsure"]
ONE_IN_TWENTY, ONE_IN_HUNDRED = 0.05, 0.01
CROWD, ONE_SIDE = 0.9, 0.95
FACTOR = 1.25


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
    direction: Direction
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
    def needed(self) -> str:
        """The same in words, and in clusters where rows come in them."""
        if self.rows_needed is None:
            return ""
        if self.n_clusters is None:
            return f"About {self.rows_needed:,} rows"
        return f"About {rounded_up(self.n_clusters * self.rows_needed / self.n):,} clusters"

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
        steps = ", ".join(f"below {below:.2f} {word}" for word, below in GUIDELINE)
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


def verdict(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    pooled: bool = False,
    pairs: bool = False,
    groups: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Verdict:
    """Judge the calibration of predictions in words.

    The grade follows a convention for the ECE: below 0.05 excellent, below 0.10 good,
    below 0.15 moderate, otherwise poor. Small samples show a positive ECE even for a perfect model; the verdict says
    how much, and gives no grade where that explains what is seen, or where the interval of the ECE reaches from
    excellent to moderate. Nor does it call anything excellent or good where on the whole a quarter more or less
    happened than was predicted.

    Parameters are those of `expected_calibration_error`, for notions with one curve ("binary", "confidence", or others
    with pooled=True); a `Summary` in place of the rows gives the same verdict. What chance alone would show is
    simulated (`noise_floor`); with the same `random_state` the same words come out. Rows that belong together
    (patients, queries) are named by `groups`, as in `interval`. With `pairs` the 1-D scores are confidences in an
    answer and the outcomes whether it was right, as language models give them: accuracy is then the share that is
    right.

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
    checked = as_source(predictions, actuals, sample_weight)
    stats = count_bins(checked, n_bins, strategy, notion=notion, pooled=pooled, squares=True)
    if pairs and checked.kind != "binary":
        raise InputError("pairs=True is for 1-D scores, confidences in an answer, with whether it was right")
    if stats.view.n_groups > 1:
        raise InputError(f"a verdict is about one curve, not notion={stats.view.notion!r}: pass pooled=True")
    cluster = cluster_of(groups, predictions, checked, sample_weight)
    options = {"n_bins": n_bins, "strategy": strategy, "notion": notion, "pooled": pooled}
    ends = interval("ece", checked, options=options, groups=cluster, level=level, random_state=random_state)
    floor = noise_floor("ece", checked, options=options, n_resamples=DRAWS, random_state=random_state)
    means, chance, worth = Means.of(sums_of(checked), pairs), floor.p_value or 1.0, None
    if cluster is None:
        confident = confidence_bins(checked, stats, n_bins, strategy)
        shift, tilt = means.chances(stats, confident, generator(random_state))
    else:
        assert isinstance(checked, Predictions)
        shift, tilt = means.chances_of_clusters(checked, cluster)
        asked = ask("ece", checked, options=options)
        chance = max(chance, chance_of_clusters(asked, cluster, DRAWS, generator(random_state)))
        worth = effective_rows(checked, stats, cluster)
    by_ece = chance <= ONE_IN_TWENTY
    low = ends.low if by_ece or level < 0.95 else 0.0  # few clusters vary too little to say so themselves
    beyond = by_ece or min(shift, tilt) <= ONE_IN_HUNDRED
    unlikely = ONE_IN_TWENTY if by_ece else ONE_IN_HUNDRED
    one_sided = means.mean_score is not None and not pairs and _is_one_sided(stats)
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
        n=n_rows(checked),
        n_clusters=None if cluster is None else int(cluster.max()) + 1,
        mean_score=means.mean_score,
        rate=means.rate,
        # Scores that are too sure vary less than their outcomes do, so the draws are too quick to call a shift one.
        off_on_the_whole=means.mean_score is not None and shift <= ONE_IN_HUNDRED,
        direction=means.direction if tilt <= unlikely and not one_sided else "unclear",
        confidence=means.confidence,
        accuracy=means.accuracy,
        pairs=pairs,
        one_sided=one_sided,
        places=tuple(places_of(table_of(stats, effective_n=worth))) if beyond else (),
        crowded=stats.strategy == "uniform" and stats.per_group > 1 and float(stats.w.max() / stats.w.sum()) > CROWD,
    )


def _standing(low: float, high: float, beyond_chance: bool) -> Standing:
    (_, excellent), (_, good), _ = GUIDELINE
    if low < excellent and high >= good:
        return "too little data"
    return "off" if beyond_chance else "cannot be told from perfect"


def _is_one_sided(stats: BinStats) -> bool:
    above = float(stats.w[stats.conf > 0.5].sum() / stats.w.sum())
    return max(above, 1 - above) >= ONE_SIDE


def grade(ece: float) -> Grade:
    """The guideline's word for an ECE."""
    for word, below in GUIDELINE:
        if ece < below:
            return word  # type: ignore[return-value]
    return "poor"
