"""How many digits a number deserves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from believable.metrics import find_metric
from believable.report.packed import PackedCells


def decimals(least: int, *shares: float) -> int:
    """Digits after the point: two that count of the smallest share, and of what the largest lacks of 1; at most 8."""
    seen = [one for share in shares for one in (share, 1 - share) if one > 1e-8]
    return min(max([least, *(1 - math.floor(math.log10(one)) for one in seen)]), 8)


def digits_apart(low: float, high: float) -> int:
    """Digits after the point, with which the ends of an interval differ: four, or more where very many rows make it
    narrow; at most 10."""
    width = abs(high - low)
    return min(max(4, -math.floor(math.log10(width))), 10) if 0 < width < math.inf else 4


def rounded_up(number: float) -> int:
    """To two digits that count: a number of rows that is asked for is never less than those there are."""
    step: int = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / step - 1e-9) * step


def shown(value: float | None, digits: int = 4) -> str:
    """Four digits after the point, or so many; or what stands for no number."""
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}f}" if math.isfinite(value) else "infinite" if value > 0 else "-infinite"


def signed(value: float) -> str:
    """A difference, as `shown` shows it and with its sign."""
    return f"{value:+.4f}" if math.isfinite(value) else f"{'+' if value > 0 else ''}{shown(value)}"


# --- what metrics are called: in tables of text, and short where there is little room ---------------------------------


_LONG = {
    "auc": "AUC",
    "brier": "Brier score",
    "bss": "Brier skill score",
    "ks": "Kolmogorov–Smirnov error",
    "nll": "log loss",
    "oe": "observed over expected",
    "slope": "calibration slope",
}
_SHORT = {
    "ece": "ECE",
    "smece": "Smooth ECE",
    "ace": "Adaptive error",
    "mce": "Largest gap (MCE)",
    "rmsce": "Root mean square error",
    "dce": "Debiased error",
    "ks": "Kolmogorov–Smirnov error",
    "ici": "Integrated index (ICI)",
    "slope": "Calibration slope",
    "citl": "Shift on the whole",
    "oe": "Happened / predicted",
    "sce": "Class-wise error",
    "tlce": "Top-label error",
    "brier": "Brier score",
    "nll": "Log loss",
    "auc": "AUC",
    "acc": "Accuracy",
    "bss": "Brier skill",
    "sharpness": "Sharpness",
}


def long_name(alias: str, name: str) -> str:
    """The name in words."""
    return _LONG.get(alias, name.replace("_", " "))


def short_name(alias: str, name: str) -> str:
    """Two or three words, with a capital."""
    return _SHORT.get(alias, name.replace("_", " ").capitalize())


# --- the parts of an audit: small plain values, one for each thing it says --------------------------------------------


Family = Literal["calibration", "score", "discrimination"]
Direction = Literal["too high", "too low", "over-confident", "under-confident", "mixed", "unclear"]
Stage = Literal["before", "after"]


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
class Line:
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
    direction : {"too high", "too low", "over-confident", "under-confident", "mixed", "unclear"}
        The way most of the error goes; "unclear" where chance explains it.
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
    direction: Direction
    detectable: float | None = None
    note: str = ""

    @property
    def in_words(self) -> str:
        """Which way, and by how much."""
        way = {"mixed": "off in both directions", "unclear": "not off beyond chance"}.get(
            self.direction, self.direction
        )
        digits = decimals(3, self.mean_score, self.rate)
        means = f"{self.mean_score:.{digits}f} predicted, {self.rate:.{digits}f} happened"
        return f"its scores are {way}, {means}"


@dataclass(frozen=True, slots=True)
class Tried:
    """A recalibrator that was tried out of fold.

    Attributes
    ----------
    name : str
        "nothing" for the scores as they are.
    log_loss, brier, ece : float
    gain, gain_low, gain_high : float
        How much lower the log loss is than with the scores as they are, and the interval of that.
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
