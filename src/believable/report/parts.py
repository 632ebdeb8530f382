"""The records of an audit: a metric, a bin, a curve, a class or subgroup, a found segment, a fix, a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from believable.metrics import find_metric
from believable.report.packed import PackedCells
from believable.report.wording import in_series, long_name, percents, shown, signed

COMPARISON_DRAWS = 300
SMALLEST_COMPARISON_P = 2 / (1 + COMPARISON_DRAWS)  # the smallest two-sided p-value that so many draws can give
COMPARED_ERROR_NAMES = {"ece": "ECE", "smece": "smooth ECE"}
PRAISE_OF_BETTER_MODEL = {
    "brier": "predicts better on the whole",
    "nll": "predicts better on the whole",
    "auc": "ranks better",
    "acc": "is right more often",
}

Family = Literal["calibration", "score", "discrimination"]
PartDirection = Literal[
    "over-predicts",
    "under-predicts",
    "over-confident",
    "under-confident",
    "too extreme",
    "not extreme enough",
    "mixed",
    "unclear",
]
SegmentDirection = Literal["under-predicted", "over-predicted", "over-confident", "under-confident"]
Stage = Literal["before", "after"]
PART_DIRECTIONS_IN_WORDS: dict[str, str] = {
    "over-confident": "is over-confident",
    "under-confident": "is under-confident",
    "too extreme": "has scores that are too extreme",
    "not extreme enough": "has scores that are not extreme enough",
    "mixed": "is miscalibrated in both directions",
    "unclear": "shows no more miscalibration than noise does",
}
# Of a segment beside the other rows: where all rows are miscalibrated, a segment may differ and still be right.
SEGMENT_DIRECTIONS_IN_WORDS: dict[str, str] = {
    "under-predicted": "higher rate",
    "over-predicted": "lower rate",
    "over-confident": "rises less",
    "under-confident": "rises more",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric with its interval and noise floor.

    Attributes
    ----------
    name, alias : str
        The names in the table of metrics.
    family : {"calibration", "score", "discrimination"}
        What the metric measures; a proper score measures both calibration and discrimination.
    notion : str
        Which probabilities it judges: "binary", "confidence", "classwise", "top_label"; "" where that does not apply.
    bins : str
        Its bins in words; "" without bins.
    value, low, high : float
        The metric of these data, and the interval for its value in the population; None where there is no interval.
    floor, q95, p_value : float or None
        The noise floor: the value that a perfectly calibrated model would show on average, and stay below in 95 % of
        data sets; and the probability that it would show as much as this one (with clusters, for the ECE only).
    best : float or None
        The value of a perfect model.
    note : str
        A remark, such as why there is no interval; "" for none.
    """

    name: str
    alias: str
    family: Family
    notion: str
    bins: str
    value: float
    low: float | None
    high: float | None
    floor: float | None
    q95: float | None
    p_value: float | None
    best: float | None
    note: str = ""

    @property
    def title(self) -> str:
        """The name of the metric in words."""
        return long_name(self.alias, self.name)


@dataclass(frozen=True, slots=True)
class Bin:
    """A row of the reliability table; see `reliability_table`. Means are None in an empty bin."""

    start: float
    end: float
    n: int
    weight: float
    conf: float | None
    acc: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CurveLine:
    """A calibration curve with its band.

    Attributes
    ----------
    method : {"smoothed", "corp"}
        How the curve was estimated.
    x, y, low, high : tuple of float
        Scores, observed rates, and the ends of the band.
    band : str
        What the band means, in words.
    """

    method: Literal["smoothed", "corp"]
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    band: str


@dataclass(frozen=True, slots=True)
class Part:
    """A class or a subgroup: the ECE of its probabilities with interval and noise floor.

    Attributes
    ----------
    column, name : str
        The column of the subgroup ("" for a class), and its value or the name of the class.
    n : int
        The number of rows; for a class, those that have it.
    mean_score, rate : float
        The average prediction and the observed rate.
    ece, low, high, floor, p_value, adjusted : float or None
        The ECE, its interval, its noise floor and its p-value; `adjusted` is the p-value corrected for the number of
        classes or subgroups. None where it was not computed.
    flagged : bool
        Whether it is miscalibrated beyond noise, at a false discovery rate of 5 %.
    direction : str
        The direction of most of the error: "over-predicts", "under-predicts" (for confidences "over-confident",
        "under-confident"), "too extreme", "not extreme enough" or "mixed"; "unclear" where noise explains it.
    detectable : float or None
        The smallest true error that a subgroup of this size would reveal with a power of 80 %.
    note : str
        A remark, such as why there is no ECE; "" for none.
    """

    column: str
    name: str
    n: int
    mean_score: float
    rate: float
    ece: float | None
    low: float | None
    high: float | None
    floor: float | None
    p_value: float | None
    adjusted: float | None
    flagged: bool
    direction: PartDirection
    detectable: float | None = None
    note: str = ""

    @property
    def in_words(self) -> str:
        """Say which way the scores are wrong, and by how much."""
        way = PART_DIRECTIONS_IN_WORDS.get(self.direction, self.direction)
        predicted, observed = percents(self.mean_score, self.rate, least=1)
        if self.direction in ("over-confident", "under-confident"):
            return f"{way} (average confidence {predicted}, accuracy {observed})"
        return f"{way} (average prediction {predicted}, observed rate {observed})"


@dataclass(frozen=True, slots=True)
class FoundSegment:
    """A segment whose observed rate, or how that rises with the score, differs from that of the other rows.

    Attributes
    ----------
    where : dict of str to str
        The level of each column that its rows share.
    n : int
        The number of rows.
    mean_score, rate : float
        The average prediction and the observed rate.
    expected : float
        The observed rate of rows with the same scores outside the segment.
    gap, low, high : float
        `rate` minus `expected`, and its interval, which allows for the choice among all segments that were searched.
    p_value, adjusted : float
        The p-value of the difference, before and after correction for the number of segments searched.
    direction : {"under-predicted", "over-predicted", "over-confident", "under-confident"}
        How the segment differs, in the terms of scores that are right elsewhere: too low, too high, too extreme, not
        extreme enough.
    """

    where: dict[str, str]
    n: int
    mean_score: float
    rate: float
    expected: float
    gap: float
    low: float
    high: float
    p_value: float
    adjusted: float
    direction: SegmentDirection

    @property
    def name(self) -> str:
        """The segment in words, such as "site = north and age = up to 30"."""
        return name_of_segment(self.where)

    @property
    def way(self) -> str:
        """How its observed rate, or the rise of that with the score, compares with that elsewhere, for a table."""
        return SEGMENT_DIRECTIONS_IN_WORDS[self.direction]

    @property
    def in_words(self) -> str:
        """Say how the segment differs from the other rows."""
        predicted, observed, expected = percents(self.mean_score, self.rate, self.expected, least=1)
        if self.direction in ("over-confident", "under-confident"):
            way = "less" if self.direction == "over-confident" else "more"
            return (
                f"its observed rate rises {way} with the score than in other rows (average prediction {predicted}, "
                f"observed rate {observed})"
            )
        return (
            f"average prediction {predicted}, observed rate {observed}; {expected} in other rows with the same scores"
        )


@dataclass(frozen=True, slots=True)
class SegmentSearch:
    """A search for segments that differ from the other rows; see `find_segments`.

    Attributes
    ----------
    found : tuple of FoundSegment
        The segments that were found, surest first.
    columns : tuple of str
        The columns that were searched.
    searched : int
        How many segments were tested.
    min_rows : int
        The fewest rows of a segment that was tested.
    rate : float
        The false discovery rate.
    level : float
        The confidence level of the intervals.
    notes : tuple of str
        Remarks on the search, such as which columns were cut into ranges or left out.
    """

    found: tuple[FoundSegment, ...]
    columns: tuple[str, ...]
    searched: int
    min_rows: int
    rate: float
    level: float
    notes: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """Say what was searched, and what that means."""
        segments = "1 segment" if self.searched == 1 else f"{self.searched:,} segments"
        what = f"{segments} of at least {self.min_rows:,} rows by {', '.join(self.columns)}"
        if self.found:
            false = f"{100 * self.rate:.3g} %"
            return (
                f"Searched: {what}. Each is compared with other rows of the same scores. Of the segments found, about "
                f"{false} at most are expected to differ by chance alone."
            )
        return (
            f"No segment clearly differs from the other rows. Searched: {what}. That is no proof that all are alike: "
            "small segments, and small differences, cannot be seen in so few rows."
        )


@dataclass(frozen=True, slots=True)
class SegmentGain:
    """By how much maps by segment lower the loss of the rows of one segment.

    Attributes
    ----------
    where : dict of str to str
        The level of each column that its rows share.
    n : int
        The number of rows.
    before, after : float
        The mean loss by what is recommended for all rows alike, and by maps by segment.
    gain, gain_low, gain_high : float
        before - after, and its interval.
    """

    where: dict[str, str]
    n: int
    before: float
    after: float
    gain: float
    gain_low: float
    gain_high: float

    @property
    def name(self) -> str:
        """The segment in words, such as "site = north and age = up to 30"."""
        return name_of_segment(self.where)


@dataclass(frozen=True, slots=True)
class SegmentFix:
    """Maps by segment, compared with what is recommended for all rows alike, on rows that they were not fitted on.

    Attributes
    ----------
    method : {"pooled", "boosted"}
        How segments are corrected: the one of both with the lower loss.
    columns : tuple of str
        The columns of segments.
    base : str
        The common map.
    score : str
        The loss: "log loss" or "Brier score".
    gain, gain_low, gain_high : float
        By how much the loss of all rows falls, and its interval.
    level : float
        The confidence level of the intervals.
    segments : tuple of SegmentGain
        The segments that call for maps of their own.
    """

    method: Literal["pooled", "boosted"]
    columns: tuple[str, ...]
    base: str
    score: str
    gain: float
    gain_low: float
    gain_high: float
    level: float
    segments: tuple[SegmentGain, ...]

    @property
    def is_sure(self) -> bool:
        """Whether maps by segment lower the loss of all rows beyond noise."""
        return self.gain_low > 0

    @property
    def in_words(self) -> str:
        """Say what maps by segment do."""
        how = "partial pooling" if self.method == "pooled" else "boosting"
        what = f"A calibration map that depends on {in_series(self.columns)} ({how})"
        ends = f"{self.gain_low:.4f} to {self.gain_high:.4f}"
        if not self.is_sure:
            of = f"{percents(self.level)[0]} interval of the gain"
            return f"{what} does not clearly lower the {self.score} ({of}: {ends})."
        return (
            f"{what} lowers the {self.score} of all rows by {self.gain:.4f} ({percents(self.level)[0]} interval "
            f"{ends}), compared with one map for all."
        )

    def beside(self, advice: str) -> str:
        """Return the advice on one map for all rows as it reads beside that on segments."""
        return f"If all rows are to have the same map: {advice[:1].lower()}{advice[1:]}" if self.is_sure else advice

    def gain_in(self, where: Mapping[str, str]) -> SegmentGain | None:
        """Return the gain of a segment; None if it has too few rows."""
        return next((one for one in self.segments if one.where == dict(where)), None)


def name_of_segment(where: Mapping[str, str]) -> str:
    """Return a segment in words: the level of each of its columns."""
    return " and ".join(f"{column} = {level}" for column, level in where.items())


@dataclass(frozen=True, slots=True)
class Tried:
    """A recalibrator that was tried out of fold.

    Attributes
    ----------
    name : str
        The name of the recalibrator; "nothing" for the original scores.
    log_loss, brier, ece : float
        The metrics of the recalibrated scores.
    gain, gain_low, gain_high : float
        How much it lowers the score that methods are compared by, with the interval.
    chosen : bool
        Whether it is the recommended one.
    """

    name: str
    log_loss: float
    brier: float
    ece: float
    gain: float
    gain_low: float
    gain_high: float
    chosen: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A metric before and after recalibration, out of fold, and the gain (before minus after) with its interval."""

    name: str
    before: float
    after: float
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True, slots=True)
class Fix:
    """The recommended recalibration, and how much it helps on rows that it was not fitted on.

    Attributes
    ----------
    chosen : str
        The name of a recalibrator, or "nothing".
    advice : str
        The recommendation in words.
    rows, bins : str
        On how many rows the methods were compared, and how; and the bins of the ECE, always 10 uniform ones.
    score : str
        The score methods were compared by: "log loss", or "Brier score" where the log loss is infinite.
    tried : tuple of Tried
        The methods that were tried, best first.
    changes : tuple of Change
        The changes of log loss, Brier score and ECE; empty where nothing is recommended.
    map : str or None
        The fitted calibration map as JSON, for `load_recalibrator`.
    refinement : str
        How much of the log loss the chosen recalibrator removes, in words; "" where none is recommended.
    """

    chosen: str
    advice: str
    rows: str
    bins: str
    score: str
    tried: tuple[Tried, ...]
    changes: tuple[Change, ...]
    map: str | None
    refinement: str


@dataclass(frozen=True, slots=True)
class Slice:
    """The statistic behind one view of the HTML report: all rows, a class, a subgroup, or a class within a subgroup.

    Attributes
    ----------
    class_name : str or None
        The class; None for all classes, judged by the headline's notion.
    column, level : str or None
        The column and the value of the subgroup; None for all rows. Of a segment of several columns, the first column
        and the rest of its name.
    stage : {"before", "after"}
        Whether the scores are the original ones, or recalibrated out of fold.
    cells : PackedCells
        The counts, in 840 cells.
    """

    class_name: str | None
    column: str | None
    level: str | None
    stage: Stage
    cells: PackedCells


@dataclass(frozen=True, slots=True)
class Versus:
    """One metric of two models on the same rows, and the difference: the first minus the second."""

    name: str
    value: float
    other: float
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def title(self) -> str:
        """The name of the metric in words."""
        return long_name(find_metric(self.name).alias, self.name)

    def in_words(self, a: str, b: str) -> str:
        """Say which of two models, called a and b, is better by this metric, or that the difference could be noise.

        Examples
        --------
        >>> Versus("expected_calibration_error", 0.15, 0.05, 0.1, 0.08, 0.12, 0.01).in_words("A", "B")
        'B is better calibrated: its ECE is 0.1000 lower (0.0800 … 0.1200).'
        >>> Versus("auc", 0.75, 0.76, -0.01, -0.03, 0.01, 0.2).in_words("A", "B")
        'The difference in AUC could be noise: -0.0100 (-0.0300 … 0.0100).'
        >>> infinite = float("inf")
        >>> Versus("negative_log_likelihood", infinite, 0.3, infinite, -0.1, infinite, 0.8).in_words("A", "B")
        'The difference in log loss could be noise: +infinite (-0.1000 … infinite).'
        >>> Versus("negative_log_likelihood", infinite, 0.3, infinite, 0.1, infinite, 0.01).in_words("A", "B")
        'B predicts better on the whole: its log loss is infinitely lower (0.1000 … infinite).'
        """
        row = find_metric(self.name)
        what = COMPARED_ERROR_NAMES.get(row.alias, self.title)
        if self.difference == self.low == self.high == 0:
            return f"Both have the same {what}."
        if self.low != self.low or self.high != self.high:
            return f"The {what} cannot distinguish the two: it is infinite or undefined in some resamples."
        if self.low <= 0 <= self.high:
            ends = f"({shown(self.low)} … {shown(self.high)})"
            return f"The difference in {what} could be noise: {signed(self.difference)} {ends}."
        higher, lower = (a, b) if self.low > 0 else (b, a)
        size, low, high = self.difference, self.low, self.high
        if low < 0:
            size, low, high = -size, -high, -low
        ends = f"({shown(low)} … {shown(high)})"
        outside = "" if low <= size <= high else "; noise adds more to one than to the other, so go by the interval"
        if row.direction is None:
            return f"{higher} has the higher {what}, by {shown(size)} {ends}{outside}."
        better, way = (lower, "lower") if row.direction == "lower" else (higher, "higher")
        praise = "is better calibrated" if row.power is not None else PRAISE_OF_BETTER_MODEL.get(row.alias, "is better")
        by = "infinitely" if math.isinf(size) else shown(size)
        return f"{better} {praise}: its {what} is {by} {way} {ends}{outside}."
