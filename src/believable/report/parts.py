"""The parts of an audit: small plain values, one for each thing it says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from believable.metrics import find_metric
from believable.report.packed import PackedCells
from believable.report.wording import long_name, percents, shown, signed

COMPARISON_DRAWS = 300
SMALLEST_COMPARISON_P = 2 / (1 + COMPARISON_DRAWS)  # two-sided, that so many draws can tell
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
Stage = Literal["before", "after"]
PART_DIRECTIONS_IN_WORDS: dict[str, str] = {
    "over-confident": "is over-confident",
    "under-confident": "is under-confident",
    "too extreme": "has scores that are too extreme",
    "not extreme enough": "has scores that are not extreme enough",
    "mixed": "is miscalibrated in both directions",
    "unclear": "shows no more miscalibration than noise does",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric with its interval and noise floor.

    Attributes
    ----------
    name, alias : str
        As in the table of metrics.
    family : {"calibration", "score", "discrimination"}
        What it is about; a score is about both.
    notion : str
        Which probabilities it is about: "binary", "confidence", "classwise", "top_label"; "" where that is no question.
    bins : str
        Its bins in words; "" without bins.
    value, low, high : float
        The metric of the data, and the interval for its value in the population; None where there is no interval.
    floor, q95, p_value : float or None
        What perfect calibration would show on average and in 19 of 20 data sets, and the chance that it shows as much
        (with clusters, of the ECE alone).
    best : float or None
        The value of a perfect model.
    note : str
        What there is to say about it.
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
        """What to call it."""
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
    x, y, low, high : tuple of float
    band : str
        What the band is, in words.
    """

    method: Literal["smoothed", "corp"]
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    band: str


@dataclass(frozen=True, slots=True)
class Part:
    """A class, or a subgroup: the ECE of its probabilities with interval and floor.

    Attributes
    ----------
    column, name : str
        Column of the subgroup ("" for a class), and its value or the name of the class.
    n : int
        Rows; for a class, those that have it.
    mean_score, rate : float
        What was predicted and what happened, on average.
    ece, low, high, floor, p_value, adjusted : float or None
        None where it was not computed; `adjusted` allows for the number of parts.
    flagged : bool
        Off by more than chance explains, at a false discovery rate of 5 %.
    direction : str
        The way that most of the error goes: "over-predicts", "under-predicts" (for confidences "over-confident",
        "under-confident"), "too extreme", "not extreme enough" or "mixed"; "unclear" where noise explains it.
    detectable : float or None
        The smallest true error such a subgroup would show 8 times in 10.
    note : str
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
class Tried:
    """A recalibrator that was tried out of fold.

    Attributes
    ----------
    name : str
        "nothing" for the scores as they are.
    log_loss, brier, ece : float
    gain, gain_low, gain_high : float
        How much lower the score is that methods were compared by, than that of the original scores, and the interval of
        that.
    chosen : bool
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
    """A number before and after recalibration, out of fold; the gain is before less after."""

    name: str
    before: float
    after: float
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True, slots=True)
class Fix:
    """The recommended fix, and what it is worth for rows that the map has not seen.

    Attributes
    ----------
    chosen : str
        A recalibrator's name, or "nothing".
    advice : str
        The same in words.
    rows, bins : str
        How many rows it was compared on, and how; the bins of its ECE, which are always these.
    score : str
        What methods were compared by: "log loss", or "Brier score" where the log loss is infinite.
    tried : tuple of Tried
        Best first.
    changes : tuple of Change
        Log loss, Brier score and ECE; empty where nothing is recommended.
    map : str or None
        The fitted map as JSON, for `load_recalibrator`.
    refinement : str
        How much of the log loss the chosen map mends, in words; "" where none is recommended.
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
    """The page statistic of something one can look at.

    Attributes
    ----------
    class_name : str or None
        One class; None for the headline's notion (all of them).
    column, level : str or None
        One subgroup; None for all rows.
    stage : {"before", "after"}
        The scores as they are, or recalibrated out of fold.
    cells : PackedCells
        840 cells.
    """

    class_name: str | None
    column: str | None
    level: str | None
    stage: Stage
    cells: PackedCells


@dataclass(frozen=True, slots=True)
class Versus:
    """One metric of these predictions less that of others on the same rows."""

    name: str
    value: float
    other: float
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def title(self) -> str:
        """What to call it."""
        return long_name(find_metric(self.name).alias, self.name)

    def in_words(self, a: str, b: str) -> str:
        """Which of two models, called a and b, is better at this, or that the difference can be chance.

        Examples
        --------
        >>> Versus("expected_calibration_error", 0.15, 0.05, 0.1, 0.08, 0.12, 0.01).in_words("A", "B")
        'B is better calibrated: its ECE is 0.1000 lower (0.0800 … 0.1200).'
        >>> Versus("auc", 0.75, 0.76, -0.01, -0.03, 0.01, 0.2).in_words("A", "B")
        'The difference in AUC can be chance: -0.0100 (-0.0300 … 0.0100).'
        >>> infinite = float("inf")
        >>> Versus("negative_log_likelihood", infinite, 0.3, infinite, -0.1, infinite, 0.8).in_words("A", "B")
        'The difference in log loss can be chance: +infinite (-0.1000 … infinite).'
        >>> Versus("negative_log_likelihood", infinite, 0.3, infinite, 0.1, infinite, 0.01).in_words("A", "B")
        'B predicts better on the whole: its log loss is infinitely lower (0.1000 … infinite).'
        """
        row = find_metric(self.name)
        what = COMPARED_ERROR_NAMES.get(row.alias, self.title)
        if self.difference == self.low == self.high == 0:
            return f"Both have the same {what}."
        if self.low != self.low or self.high != self.high:
            return f"The two cannot be told apart by the {what}: it is infinite or undefined in some draws."
        if self.low <= 0 <= self.high:
            ends = f"({shown(self.low)} … {shown(self.high)})"
            return f"The difference in {what} can be chance: {signed(self.difference)} {ends}."
        higher, lower = (a, b) if self.low > 0 else (b, a)
        size, low, high = self.difference, self.low, self.high
        if low < 0:
            size, low, high = -size, -high, -low
        ends = f"({shown(low)} … {shown(high)})"
        outside = "" if low <= size <= high else "; chance adds more to one than to the other, so go by the interval"
        if row.direction is None:
            return f"{higher} has the higher {what}, by {shown(size)} {ends}{outside}."
        better, way = (lower, "lower") if row.direction == "lower" else (higher, "higher")
        praise = "is better calibrated" if row.power is not None else PRAISE_OF_BETTER_MODEL.get(row.alias, "is better")
        by = "infinitely" if math.isinf(size) else shown(size)
        return f"{better} {praise}: its {what} is {by} {way} {ends}{outside}."
