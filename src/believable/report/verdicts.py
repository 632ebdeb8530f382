"""`Verdict`: whether the scores may be taken at face value, the evidence for it, and what to do next."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from believable._check import renamed_attribute
from believable.report.wording import digits_apart, percents, shown

if TYPE_CHECKING:
    from believable.report.parts import Bin

ECE_GUIDELINE = (("excellent", 0.05), ("good", 0.10), ("moderate", 0.15))  # an ECE below this limit; otherwise poor
Grade = Literal["excellent", "good", "moderate", "poor"]
Answer = Literal[
    "yes", "yes, as far as these data can tell", "use with care", "no, recalibrate first", "not enough data"
]
Alarm = Literal["use with care", "no, recalibrate first"]
Tone = Literal["good", "warn", "bad", "unsure"]
Direction = Literal["over-predicts", "under-predicts", "over-confident", "under-confident", "unclear"]
Spread = Literal["too extreme", "not extreme enough", "unclear"]
TONES: dict[Answer, Tone] = {
    "yes": "good",
    "yes, as far as these data can tell": "good",
    "use with care": "warn",
    "no, recalibrate first": "bad",
    "not enough data": "unsure",
}
MAX_RANGES_NAMED = 3
RULES_ABOUT_OTHERS = ("class", "subgroup")  # findings that no other sentence of the evidence mentions
RULES_WITHOUT_EXAMPLE = ("slope", "ece", "gain")  # a range of scores makes these findings easier to understand
TRIVIAL_ERROR = 0.01
ALIKE = 0.005  # rates that differ by less, as a share of the smaller of p and 1 - p, are written alike
LARGEST_SHOWN = 1e6  # a larger ratio or slope is shown as infinite
NEARLY_ALL_ROWS = 0.9  # a range with more repeats what the average says
SMALLEST_P_SHOWN = 0.005  # the number of draws cannot resolve smaller ones


@dataclass(frozen=True, slots=True)
class Range:
    """A range of scores, with the average prediction and the observed rate in it.

    Attributes
    ----------
    low, high : float
        The ends of the range.
    predicted, observed : float
        The average prediction and the observed rate.
    n : int
        The number of rows.
    share : float
        The share of all rows, by weight.
    least : float
        The smallest difference between prediction and rate that is compatible with the data, corrected for the number
        of ranges; 0 where there may be none.
    """

    low: float
    high: float
    predicted: float
    observed: float
    n: int
    share: float
    least: float

    @property
    def over(self) -> bool:
        """Whether the scores are higher than the observed rate."""
        return self.predicted > self.observed

    @property
    def weight(self) -> float:
        """The contribution of the range to the ECE."""
        return self.share * abs(self.predicted - self.observed)

    @property
    def ends(self) -> str:
        """Both ends, with enough digits to differ."""
        digits = max(-math.floor(math.log10(max(self.high - self.low, 1e-8))), 2)
        return f"{self.low:.{digits}f} and {self.high:.{digits}f}"

    def where(self, about_confidence: bool = False) -> str:
        """Name the range.

        Examples
        --------
        >>> Range(0.6, 1.0, 0.9599, 0.8366, 918, 0.51, 0.09).where()
        'scores between 0.60 and 1.00'
        """
        return f"{'confidences' if about_confidence else 'scores'} between {self.ends}"

    def in_words(self, about_confidence: bool = False) -> str:
        """Say which way the scores of the range are wrong, and how far.

        Examples
        --------
        >>> Range(0.6, 1.0, 0.9599, 0.8366, 918, 0.51, 0.09).in_words()
        'Scores between 0.60 and 1.00 over-predict: average prediction 96 %, observed rate 84 % (918 rows).'
        """
        predicted, observed = percents(self.predicted, self.observed)
        where = self.where(about_confidence).capitalize()
        rows = f"{self.n:,} {'row' if self.n == 1 else 'rows'}"
        if about_confidence:
            way = "high" if self.over else "low"
            return f"{where} are too {way}: average confidence {predicted}, accuracy {observed} ({rows})."
        way = "over-predict" if self.over else "under-predict"
        return f"{where} {way}: average prediction {predicted}, observed rate {observed} ({rows})."

    def example(self, about_confidence: bool = False) -> str:
        """Say what a score of the range is worth, in a sentence that needs no statistics.

        Examples
        --------
        >>> Range(0.6, 1.0, 0.9599, 0.8366, 918, 0.51, 0.09).example()
        'When it says 96 %, it happens 84 % of the time'
        >>> Range(0.9, 1.0, 0.94983, 0.94976, 918, 0.51, 0.0).example()
        'When it says 95 %, it happens 95 % of the time'
        """
        predicted, observed = percents(self.predicted, self.observed)
        if abs(self.observed - self.predicted) < ALIKE * min(self.predicted, 1 - self.predicted):
            predicted = observed = percents(self.predicted)[0]  # more digits would hide the answer
        if about_confidence:
            return f"When it is {predicted} confident, it is right {observed} of the time"
        return f"When it says {predicted}, it happens {observed} of the time"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of one rule of the verdict.

    Attributes
    ----------
    rule : str
        The name of the rule; docs/audit.md has the table.
    answer : {"use with care", "no, recalibrate first"}
        The answer that the rule asks for; the verdict gives the most serious of these.
    words : str
        A sentence that says what is wrong.
    about : str
        The class or subgroup that it is about, such as "class 3" or "site = a"; "" for all rows.
    """

    rule: str
    answer: Alarm
    words: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the scores may be taken at face value, and why.

    Attributes
    ----------
    answer : str
        "yes"; "yes, as far as these data can tell"; "use with care"; "no, recalibrate first"; or "not enough data".
    findings : tuple of Finding
        The reasons against taking the scores at face value, most important first.
    miscalibrated : bool
        Whether perfect calibration is rejected at a joint level of 5 %, by several tests together.
    p_value : float
        The joint p-value of these tests, under perfect calibration.
    ece, ece_p_value, estimate, low, high, level : float
        The ECE of the data, and the probability that a perfectly calibrated model shows one as large; the estimate of
        the ECE in the population, to which noise adds nothing; and the interval of that estimate, with its level.
    grade : {"excellent", "good", "moderate", "poor"} or None
        The guideline's word for the estimate of the ECE: below 0.05, 0.10, 0.15, or above. None where the interval
        contains one of these limits.
    floor, q95 : float
        The noise floor of the ECE: what a perfectly calibrated model with these scores would show on average, and stay
        below in 95 % of data sets.
    n_bins, strategy : int, str
        The bins of the ECE.
    notion : str
        Which probabilities the verdict judges.
    pairs : bool
        Whether the scores are confidences in an answer, and the outcomes whether it was right.
    n, n_clusters : int
        The number of rows and of clusters; None if no clusters were given.
    predicted, observed : float
        The average prediction and the observed rate; for classes and answers, the average confidence and the accuracy.
    ratio, ratio_low, ratio_high : float
        The observed rate over the average prediction (O:E), with its interval.
    slope, slope_low, slope_high : float or None
        The calibration slope with its interval; None where it is undefined.
    direction : {"over-predicts", "under-predicts", "over-confident", "under-confident", "unclear"}
        The direction of the average error; "over-confident" and "under-confident" describe confidences.
    spread : {"too extreme", "not extreme enough", "unclear"}
        Whether the calibration slope is below or above 1.
    ranges : tuple of Range
        Ranges of scores that are certainly wrong, corrected for the number of ranges.
    typical : Range or None
        A range to quote as an example where nothing is wrong; None if there are too few rows for one.
    looks_clustered : bool
        Whether neighbouring rows err together, as rows of the same patient or query do, and no clusters were given.
    rows_needed : int or None
        About how many rows (or clusters, if rows come in clusters) would be enough; None where these are.
    after : str
        What was done to the scores before the audit, such as "after Platt scaling"; "" for the scores as given.
    """

    answer: Answer
    findings: tuple[Finding, ...]
    miscalibrated: bool
    p_value: float
    ece: float
    ece_p_value: float
    estimate: float
    low: float
    high: float
    level: float
    grade: Grade | None
    floor: float
    q95: float
    n_bins: int
    strategy: str
    notion: str
    pairs: bool
    n: int
    n_clusters: int | None
    predicted: float
    observed: float
    ratio: float
    ratio_low: float
    ratio_high: float
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    direction: Direction
    spread: Spread
    ranges: tuple[Range, ...]
    typical: Range | None
    looks_clustered: bool
    rows_needed: int | None
    after: str = ""

    beyond_chance = renamed_attribute("beyond_chance", "miscalibrated")
    by_chance = renamed_attribute("by_chance", "floor")
    places = renamed_attribute("places", "ranges")

    @property
    def is_about_a_subgroup(self) -> bool:
        """Whether the headline is about a subgroup or segment, not about all rows."""
        return bool(self.findings) and self.findings[0].rule == "subgroup"

    @property
    def bins(self) -> str:
        """The bins, in words."""
        return f"{self.n_bins} {self.strategy} {'bin' if self.n_bins == 1 else 'bins'}"

    @property
    def label(self) -> str:
        """The answer, for a badge."""
        return self.answer[0].upper() + self.answer[1:]

    @property
    def tone(self) -> Tone:
        """The colour of the answer: good, a warning, bad, or unsure."""
        return TONES[self.answer]

    @property
    def about_confidence(self) -> bool:
        """Whether the scores are confidences in an answer or a predicted class."""
        return self.pairs or self.notion in ("confidence", "top_label")

    @property
    def needed(self) -> str:
        """How many rows or clusters would be enough, in words; "" where these are."""
        if self.rows_needed is None:
            return ""
        return f"{self.rows_needed:,} {'rows' if self.n_clusters is None else 'clusters'}"

    def way_of(self, row: Bin) -> str:
        """Return the direction of the error of a bin, or "" if it may be noise.

        A bin is wrong if it overlaps a range that certainly is, in the same direction, and its own interval leaves out
        the average prediction.
        """
        if (
            row.conf is None
            or row.acc is None
            or row.low is None
            or row.high is None
            or row.low <= row.conf <= row.high
        ):
            return ""
        over = row.conf > row.acc
        if not any(one.over == over and max(one.low, row.start) < min(one.high, row.end) for one in self.ranges):
            return ""
        if self.about_confidence:
            return "over-confident" if over else "under-confident"
        return "over-predicts" if over else "under-predicts"

    @property
    def headline(self) -> str:
        """The answer, in one or two sentences."""
        after = f" ({self.after})" if self.after else ""
        if self.answer == "not enough data":
            what = f"{self.n:,} {'row' if self.n == 1 else 'rows'}"
            what = what if self.n_clusters is None else f"{self.n_clusters:,} clusters"
            return f"Not enough data{after}. {what} cannot tell good calibration from poor; about {self.needed} could."
        if self.answer == "yes, as far as these data can tell":
            quoted = f" {self._example()}." if self.typical else ""
            return (
                f"Yes, as far as these {self.n:,} rows can tell{after}.{quoted} No miscalibration was found, but an "
                f"ECE of up to {self.high:.2g} cannot be ruled out."
            )
        if self.answer == "yes":
            quoted = f" {self._example()}." if self.typical else ""
            size = percents(self.estimate)[0].removesuffix(" %")
            degree = "trivial" if self.high < TRIVIAL_ERROR else "small"
            trivial = f" Some miscalibration is certain, but {degree}: about {size} percentage points on average."
            trivial = trivial if self.miscalibrated else ""
            return f"Yes, you can take these scores at face value{after}.{quoted}{trivial}"
        first = self.findings[0].words if self.findings else self._uncertain()
        if self.ranges and (not self.findings or self.findings[0].rule in RULES_WITHOUT_EXAMPLE):
            worst = max(self.ranges, key=lambda one: one.weight)
            first = f"{worst.example(self.about_confidence)} ({worst.where(self.about_confidence)}). {first}"
        return f"{self.label}{after}. {first}"

    def lines(self) -> list[str]:
        """Return the answer, then the evidence, as sentences."""
        return [self.headline, *self.details()]

    def details(self) -> list[str]:
        """Return the evidence: further findings, the p-value, the average, the slope, the ranges and the ECE."""
        told = self.findings[0].rule if self.findings else ""
        said = [finding.words for finding in self.findings[1:] if finding.rule in RULES_ABOUT_OTHERS]
        said.append(self._test())
        if told != "average":
            said.append(self._average())
        if self.slope is not None and told != "slope":
            said.append(self._slope())
        said += self._ranges()
        said += [self._ece(), self._guideline()]
        if self.looks_clustered:
            said.append(
                "Neighbouring rows err together, as if rows came in clusters (patients, queries, days). Name them with "
                "clusters=, or the evidence is overstated."
            )
        return said

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        first, *others = (html.escape(line) for line in self.lines())
        items = "".join(f"<li>{line}</li>" for line in others)
        return f"<div><p><strong>{first}</strong></p><ul>{items}</ul></div>"

    # --- sentences ----------------------------------------------------------------------------------------------------

    def _example(self) -> str:
        assert self.typical is not None
        return self.typical.example(self.about_confidence)

    def _uncertain(self) -> str:
        """Say what is known if miscalibration is certain and its size is not."""
        more = f"; about {self.needed} would show it" if self.rows_needed is not None else ""
        low, high = (one.removesuffix(" %") for one in percents(self.low, self.high))
        what = "confidences" if self.about_confidence else "scores"
        return f"The {what} are miscalibrated, by {low} to {high} percentage points on average{more}."

    def _test(self) -> str:
        if not self.miscalibrated:
            what = "such differences overall" if self.findings else "the same differences"
            return f"A perfectly calibrated model could show {what} (p = {self.p_value:.2g})."
        p = f"p < {SMALLEST_P_SHOWN}" if self.p_value <= SMALLEST_P_SHOWN else f"p = {self.p_value:.2g}"
        return f"This is more than noise: a perfectly calibrated model would rarely show such differences ({p})."

    def _average(self) -> str:
        predicted, observed = percents(self.predicted, self.observed, least=1)
        said = (
            f"average confidence {predicted}, accuracy {observed}"
            if self.about_confidence
            else f"average prediction {predicted}, observed rate {observed}"
        )
        what = "accuracy / confidence" if self.about_confidence else "observed / predicted"
        ratio = f"{what} {bounded(self.ratio, self.ratio_low, self.ratio_high)}"
        if self.direction == "unclear":
            return f"Overall: {said}; {ratio}."
        return f"Overall it {'is ' if self.about_confidence else ''}{self.direction}: {said}; {ratio}."

    def _slope(self) -> str:
        what = "confidences" if self.about_confidence else "scores"
        found = f"Calibration slope {bounded(self.slope, self.slope_low, self.slope_high)}"
        if self.spread == "unclear":
            return f"{found}, where 1 is best."
        return f"{found}, where 1 is best: the {what} are {self.spread}."

    def _ranges(self) -> list[str]:
        if not self.miscalibrated:
            return []
        if not self.ranges:
            return [f"The data do not show which {'confidences' if self.about_confidence else 'scores'} are wrong."]
        heaviest = sorted(self.ranges, key=lambda one: -one.weight)
        told = [one for one in heaviest if one.example(self.about_confidence) in self.headline]
        told += [one for one in heaviest if one not in told and one.share >= NEARLY_ALL_ROWS]
        kept = [one for one in heaviest if one not in told][:MAX_RANGES_NAMED]
        said = [one.in_words(self.about_confidence) for one in self.ranges if one in kept]
        left = len(self.ranges) - len(kept) - len(told)
        more = f"{left} more {'range is' if left == 1 else 'ranges are'} wrong, with less effect on the ECE."
        return [*said, *([more] if left else [])]

    def _ece(self) -> str:
        digits = digits_apart(self.low, self.high)
        if 0 < self.low < 10.0**-digits:
            digits = min(-math.floor(math.log10(self.low)), 10)
        noise = " (noise adds to it)" if self.ece > self.high else ""
        return (
            f"ECE {self.ece:.{digits}f}{noise}, {100 * self.level:.4g} % interval {self.low:.{digits}f} to "
            f"{self.high:.{digits}f} ({self.bins}). A perfectly calibrated model would show about {self.floor:.2g}."
        )

    def _guideline(self) -> str:
        steps = ", ".join(f"below {below:.2f} {word}" for word, below in ECE_GUIDELINE)
        low, high = grade_of(self.low), grade_of(self.high)
        grade = low if low == high else f"between {low} and {high}"
        return f"By the usual guideline for the ECE alone ({steps}, otherwise poor): {grade}."


def grade_of(ece: float) -> Grade:
    """Return the guideline's word for an ECE."""
    for word, below in ECE_GUIDELINE:
        if ece < below:
            return word  # type: ignore[return-value]
    return "poor"


def bounded(value: float | None, low: float | None, high: float | None) -> str:
    """Write an estimate with its interval, to two digits after the point."""
    value, low, high = (math.inf if one is not None and one > LARGEST_SHOWN else one for one in (value, low, high))
    return f"{shown(value, 2)} (interval {shown(low, 2)} to {shown(high, 2)})"
